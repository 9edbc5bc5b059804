"""The gateway contract on every gateway that comes with hookrouter, and on the fake one for tests."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import hookrouter_command
import hookrouter_inbox
import hookrouter_openclaw
import hookrouter_webhook
from hookrouter._sandbox.local_server import LocalServer
from hookrouter.messaging import notices
from hookrouter.messaging.gateway import Gateway, Message, Probe, SendResult
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.testing.contracts import Arrived, GatewayContract
from hookrouter.testing.fakes import FakeGateway
from hookrouter.util.time_limit import PluginTimeout
from support.fake_openclaw import FakeOpenClaw

SECRET = "a-secret-that-nobody-may-see"


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


class Inbox:
    """The state folder of this test's home."""

    settings: dict[str, object] = {}
    secrets: Sequence[str] = ()

    def __init__(self) -> None:
        self.folder = Path(Home.from_environ(os.environ).state)

    def arrived(self) -> list[Arrived]:
        return [Arrived(notice["id"], notice["text"]) for notice in notices.listing(Store(str(self.folder), print))]

    def fail(self) -> None:
        self.folder.parent.mkdir(exist_ok=True)
        if self.folder.exists():
            self.folder.rename(self.folder.with_name("aside"))
        self.folder.write_text("in the way")

    def work(self) -> None:
        self.folder.unlink()


class TestInbox(GatewayContract):
    kept_elsewhere = ("question", "reminder")

    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_inbox.gateway()

    @pytest.fixture
    def host(self) -> Inbox:
        return Inbox()


PROGRAM = """
import json, os, sys
if os.path.exists({broken!r}):
    sys.exit("out of order")
message = json.load(sys.stdin)
with open({got!r}, "a") as file:
    file.write(json.dumps([os.environ["HOOKROUTER_WAKE_ID"], message["text"]]) + "\\n")
"""


class Program:
    """A program that keeps what it gets on stdin."""

    secrets = (SECRET,)

    def __init__(self, folder: Path) -> None:
        self.got, self.broken = folder / "got", folder / "broken"
        source = PROGRAM.format(got=str(self.got), broken=str(self.broken))
        self.settings = {"argv": [sys.executable, "-c", source], "format": "json", "set": {"TOKEN_env": "A_TOKEN"}}

    def arrived(self) -> list[Arrived]:
        return [Arrived(*json.loads(line)) for line in self.got.read_text().splitlines()] if self.got.exists() else []

    def fail(self) -> None:
        self.broken.touch()

    def work(self) -> None:
        self.broken.unlink()


class TestCommand(GatewayContract):
    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_command.gateway()

    @pytest.fixture
    def host(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
        monkeypatch.setenv("A_TOKEN", SECRET)
        return Program(tmp_path)


class Endpoint(LocalServer):
    """An HTTP server that keeps what is posted to it."""

    secrets = (SECRET,)

    def __init__(self) -> None:
        self._got: list[Arrived] = []
        self._down = threading.Event()

    @property
    def settings(self) -> dict[str, object]:
        return {"url": f"{self.address}/hook", "headers": {"Authorization_env": "A_TOKEN"}, "secret_env": "A_TOKEN"}

    def handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments: object) -> None:
                pass

            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not endpoint._down.is_set():
                    endpoint._got.append(Arrived(self.headers["Idempotency-Key"], message["text"]))
                self.send_response(503 if endpoint._down.is_set() else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

        return Handler

    def arrived(self) -> list[Arrived]:
        return list(self._got)

    def fail(self) -> None:
        self._down.set()

    def work(self) -> None:
        self._down.clear()


class TestWebhook(GatewayContract):
    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_webhook.gateway()

    @pytest.fixture
    def host(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
        monkeypatch.setenv("A_TOKEN", SECRET)
        with Endpoint() as endpoint:
            yield endpoint


class EditedEndpoint(Endpoint):
    """One that shows what it was told last of each message."""

    @property
    def settings(self) -> dict[str, object]:
        return {**super().settings, "closed": {}}

    def arrived(self) -> list[Arrived]:
        latest = {one.id.removesuffix("-closed"): one.text for one in self._got}
        return [Arrived(name, text) for name, text in latest.items()]


class TestClosingWebhook(TestWebhook):
    @pytest.fixture
    def host(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
        monkeypatch.setenv("A_TOKEN", SECRET)
        with EditedEndpoint() as endpoint:
            yield endpoint


class OpenClaw:
    """The stand-in for an OpenClaw gateway."""

    secrets = (FakeOpenClaw.hook_token,)

    def __init__(self, fake: FakeOpenClaw) -> None:
        self._fake = fake
        self.settings = {"url": fake.url, "agent": "main", "token_env": "A_TOKEN"}

    def arrived(self) -> list[Arrived]:
        return [Arrived(run.key, run.text) for run in self._fake.runs]

    def fail(self) -> None:
        self._fake.draining = True

    def work(self) -> None:
        self._fake.draining = False


class TestOpenClaw(GatewayContract):
    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_openclaw.gateway()

    @pytest.fixture
    def host(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenClaw]:
        monkeypatch.setenv("A_TOKEN", FakeOpenClaw.hook_token)
        with FakeOpenClaw() as fake:
            yield OpenClaw(fake)


class Memory:
    """Another side that only bad gateways deliver to."""

    settings: dict[str, object] = {"place": "here"}
    secrets = (SECRET,)

    def __init__(self) -> None:
        self.got: list[Arrived] = []
        self.broken = False

    def arrived(self) -> list[Arrived]:
        return self.got

    def fail(self) -> None:
        self.broken = True

    def work(self) -> None:
        self.broken = False


class Good:
    type = "good"

    def __init__(self, host: Memory) -> None:
        self.host = host

    def check(self, settings: Any) -> list[str]:
        return [f"{key}: unknown key" for key in settings if key != "place"]

    def deliver(self, wake: Message, settings: Any) -> SendResult:
        if self.host.broken:
            return SendResult(delivered=False, reason="out of order")
        self.host.got.append(Arrived(wake.id, wake.text))
        return SendResult(delivered=True, reason="done")


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


class Folder(Memory):
    """Another side that processes share."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def arrived(self) -> list[Arrived]:
        return [Arrived(*file.read_text().split(" ", 1)) for file in sorted(self.path.glob("*.md"))]


class Files(Good):
    host: Folder

    def deliver(self, wake: Message, settings: Any) -> SendResult:
        self.host.path.joinpath(f"{wake.id}.md").write_text(f"{wake.id} {wake.text}")
        return SendResult(delivered=True, reason="kept")


class OneAtATime(Files):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        lock = self.host.path / "lock"
        lock.touch(exist_ok=False)
        while len(list(self.host.path.glob("*.md"))) < 1:
            super().deliver(wake, settings)
        return SendResult(delivered=True, reason="kept")


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


def test_the_contract_catches_a_gateway_that_takes_one_message_at_a_time(tmp_path: Path) -> None:
    GatewayContract().test_four_processes_may_deliver_at_once(Files(Folder(tmp_path)), Folder(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(AssertionError, match="FileExistsError"):
        GatewayContract().test_four_processes_may_deliver_at_once(OneAtATime(Folder(other)), Folder(other))


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
