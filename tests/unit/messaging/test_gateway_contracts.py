"""The gateway contract on gateways that need no process and no socket, and on bad ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import hookrouter_inbox
from hookrouter.messaging.gateway import Gateway, Message, Probe, SendResult
from hookrouter.testing.contracts import Arrived, GatewayContract
from hookrouter.testing.fakes import FakeGateway
from hookrouter.util.time_limit import PluginTimeout
from support.contracts import without
from support.gateway_sides import FORKING, SECRET, Good, Inbox, Memory


class TestFakeGateway(GatewayContract):
    in_memory = True

    @pytest.fixture
    def gateway(self) -> FakeGateway:
        return FakeGateway()

    @pytest.fixture
    def host(self, gateway: FakeGateway) -> Any:
        class Host:
            settings: dict[str, object] = {}
            secrets = ()
            fail, work = staticmethod(gateway.fail), staticmethod(gateway.work)

            def arrived(self) -> list[Arrived]:
                return [Arrived(wake.id, wake.text) for wake in gateway.wakes]

        return Host()


@without(FORKING)
class TestInbox(GatewayContract):
    kept_elsewhere = ("question", "reminder")

    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_inbox.gateway()

    @pytest.fixture
    def host(self) -> Inbox:
        return Inbox()


class Forgets(Good):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        return SendResult(delivered=True, reason="done")


class Strips(Good):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        return super().deliver(wake._replace(text=wake.text.strip()), settings)


class Renames(Good):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        return super().deliver(wake._replace(id=f"{wake.id}-{len(self.host.got)}"), settings)


class GivesUp(Good):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        return super().deliver(wake, settings)._replace(retry=False)


class Tells(Good):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        return super().deliver(wake, settings)._replace(reason=f"sent with {SECRET}")


class Ignores(Good):
    def check(self, settings: Any) -> list[str]:
        return []


class Moves(Good):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        os.environ["MOVED"] = "1"
        return super().deliver(wake, settings)


class Misspelt(Good):
    def probes(self, settings: Any) -> Probe:
        return Probe(True, "fine")


class Blocks(Good):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        with open(settings["place"], "wb") as file:
            file.write(wake.text.encode())
        return SendResult(delivered=True, reason="written")


@pytest.mark.parametrize(
    ("kind", "test", "arguments"),
    [
        (Forgets, "test_every_kind_of_message_is_delivered", ["question"]),
        (Strips, "test_a_text_arrives_as_it_is", ["whitespace"]),
        (Renames, "test_the_same_message_again_has_the_same_id", []),
        (GivesUp, "test_an_outage_is_said_and_over_when_it_ends", []),
        (Tells, "test_no_secret_is_told", []),
        (Ignores, "test_an_unknown_key_is_a_fault_that_names_it", []),
        (Moves, "test_it_leaves_this_process_as_it_is", []),
    ],
)
def test_the_contract_catches_a_bad_gateway(
    kind: type[Good], test: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOVED", "0")
    host = Memory()
    getattr(GatewayContract(), test)(Good(host), host, *arguments)
    host = Memory()
    with pytest.raises(AssertionError):
        getattr(GatewayContract(), test)(kind(host), host, *arguments)


def test_the_contract_catches_a_misspelt_probe() -> None:
    GatewayContract().test_what_it_offers_besides_has_its_right_name(Good(Memory()))
    with pytest.raises(AssertionError, match="'probes' is never asked for: is it meant as 'probe'"):
        GatewayContract().test_what_it_offers_besides_has_its_right_name(Misspelt(Memory()))


def test_the_contract_ends_a_deliver_that_blocks(tmp_path: Path) -> None:
    class Contract(GatewayContract):
        seconds = 0.2

    os.mkfifo(tmp_path / "pipe")
    host = Memory()
    host.settings = {"place": str(tmp_path / "pipe")}
    with pytest.raises(PluginTimeout):
        Contract().test_a_text_arrives_as_it_is(Blocks(host), host, "plain")
