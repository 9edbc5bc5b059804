"""Prompts through the gate of a real router to a mod: the channel's contract, and what may end between two steps."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hookrouter.queue.channels import PromptRequest, PromptStatus
from hookrouter.queue.items import new_item
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.testing.contracts import PromptChannelContract
from hookrouter_sessions.channels.mod import ModChannel
from support.gate_client import GateClient
from support.mod_stand_in import ModStandIn
from support.resident import Resident

pytestmark = pytest.mark.xdist_group("mod prompts")  # all share a router


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateClient]:
    home = tmp_path_factory.mktemp("home")
    (home / "config.toml").write_text("[serve]\nmod = true\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "HOOKROUTER_HOME": str(home)}
    with Resident(environ) as router:
        found = GateClient(router)
        found.wait()
        yield found


class Prompted:
    """A session whose client is a stand-in's."""

    def __init__(self, gate: GateClient, folder: Path) -> None:
        self.home = Home.from_environ(gate.router.environ)
        self.mod = ModStandIn(gate, f"mod-{uuid.uuid4()}", str(uuid.uuid4())).begin()
        self._store = open_store(Home.in_folder(str(folder)), print)

    def request(self) -> PromptRequest:
        return PromptRequest(
            item=new_item("a prompt", by="agent"),
            session="managed",
            session_id=self.mod.session_id,
            client_pid=0,
            client_version=(2, 1, 330),
            folder="/",
            transcript_path="",
            address=None,
            terminal=None,
            store=self._store,
            deadline=time.monotonic() + 30,
            save_phase=lambda _phase: None,
            is_proven=lambda: False,
            home=self.home,
        )

    def submitted(self) -> list[str]:
        return list(self.mod.submitted)


@pytest.fixture
def client(gate: GateClient, tmp_path: Path) -> Iterator[Prompted]:
    one = Prompted(gate, tmp_path)
    _until_there(one)
    yield one
    one.mod.end()


def _until_there(one: Prompted) -> None:
    """Have the mod ask once, so that the gate knows it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        request = one.request()
        outcome = ModChannel().submit(request._replace(stopped=lambda: "only asked"))
        if outcome.status == PromptStatus.NOT_NOW:
            return
    raise AssertionError("the gate does not know the mod")


@pytest.fixture
def channel() -> ModChannel:
    return ModChannel()


class TestModContract(PromptChannelContract):
    refused: ClassVar = {"shell": "no shell commands"}


def submit(one: Prompted, text: str = "a prompt", phase: str = "", **more: Any) -> tuple[str, list[str]]:
    """Submit an item; return the outcome's status, and the phases that were saved."""
    phases: list[str] = []
    item = new_item(text, by="agent")._replace(phase=phase)
    outcome = ModChannel().submit(one.request()._replace(item=item, save_phase=phases.append, **more))
    return outcome.status, phases


@pytest.mark.parametrize("said", ["busy", "typing", "dropped"])
def test_what_the_mod_gives_back_is_the_next_one_again(client: Prompted, said: str) -> None:
    client.mod.says = lambda _text: {"outcome": said, "reason": "why not"}
    assert submit(client)[0] == PromptStatus.NOT_NOW
    client.mod.says = lambda _text: None
    status, phases = submit(client)
    assert (status, client.submitted()) == (PromptStatus.SUBMITTED, ["a prompt"])
    assert phases[-1] != ""


def test_what_the_mod_refuses_is_left_to_the_next_channel(client: Prompted) -> None:
    client.mod.says = lambda _text: {"outcome": "refused", "reason": "it \x1b[31m may open a panel"}
    item = new_item("/model", by="agent")
    outcome = ModChannel().submit(client.request()._replace(item=item))
    assert (outcome.status, outcome.reason) == (PromptStatus.REFUSED, "it \\x1b[31m may open a panel")


@pytest.mark.parametrize("said", ["unknown", "a word of a later mod"])
def test_what_nobody_knows_is_not_tried_again(client: Prompted, said: str) -> None:
    client.mod.says = lambda _text: {"outcome": said, "reason": "the request was aborted"}
    assert submit(client)[0] == PromptStatus.UNCERTAIN


def test_an_attempt_that_was_cut_off_is_asked_for_under_its_id(client: Prompted) -> None:
    status, phases = submit(client)
    assert status == PromptStatus.SUBMITTED
    again, _ = submit(client, phase=phases[-1])
    assert (again, client.submitted()) == (PromptStatus.SUBMITTED, ["a prompt"])


def test_a_gate_that_is_restarted_in_the_middle_loses_and_doubles_nothing(gate: GateClient, client: Prompted) -> None:
    client.mod.tells = False
    restarted = False

    def is_proven() -> bool:
        nonlocal restarted
        if not restarted and client.mod.submitted:
            restarted = True
            gate.router.kill()
            gate.router.start()
            gate.wait()
            client.mod.tells = True
        return False

    status, _ = submit(client, is_proven=is_proven)
    assert restarted
    assert (status, client.submitted()) == (PromptStatus.SUBMITTED, ["a prompt"])


def test_a_mod_that_ends_in_the_middle_leaves_it_uncertain(client: Prompted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookrouter_sessions.channels.mod._RETURN_SECONDS", 0.5)
    # As if another mod had been handed it: no router of now knows that one.
    status, phases = submit(client, phase=f"mod-{uuid.uuid4()} {'0' * 16}")
    assert (status, phases, client.submitted()) == (PromptStatus.UNCERTAIN, [], [])


def test_what_is_proven_meanwhile_is_submitted(client: Prompted) -> None:
    client.mod.tells = False
    assert submit(client, is_proven=lambda: bool(client.mod.submitted))[0] == PromptStatus.SUBMITTED


def test_the_mod_of_another_session_is_not_asked(client: Prompted) -> None:
    status, phases = submit(client, session_id=str(uuid.uuid4()))
    assert (status, phases, client.submitted()) == (PromptStatus.UNAVAILABLE, [], [])


def test_without_a_router_nothing_is_asked(client: Prompted, tmp_path: Path) -> None:
    request = client.request()._replace(home=Home.in_folder(str(tmp_path)))
    assert ModChannel().refusal(request) == "no router is running that serves a mod"
