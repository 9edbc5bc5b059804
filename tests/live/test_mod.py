"""The mod on the real client: questions answered through it, each event handled once, whatever dies meanwhile."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from hookrouter._mod.folder import gate_socket
from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.waiting import wait_until
from support.gate import Gate
from support.managed_client import RULES, WORDS, ManagedClient, once
from support.matrix import mostly_long
from support.mod_stage import CLIENTS, client_environ, client_of, mod_path, short_folder
from support.resident import Resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

ASKED = "an agent has been asked"
ANSWERED = "the agent has answered"


class Modded(ManagedClient):
    """A managed client with hookrouter's hooks, its mod, and a gate that is started by the test."""

    def __init__(
        self, folder: str, server: PrivateTmux, model: ScriptedModel, version: str | None, config: str
    ) -> None:
        super().__init__(folder, config, "--front", "mod")
        self.gate = Gate(gate_socket(self.stage.home))
        self.bring_up(server, model, client_of(version), client_environ(self.stage, model))

    def left_alone(self) -> int:
        """Return how many calls an entry has left alone, because the mod had marked them."""
        return sum(record.get("outcome") == "handled" for record in self.stage.journal())

    def told(self) -> str:
        return f"{super().told()}\n{self.gate.events()}\n{self.log()}"

    def log(self) -> str:
        """Return what the client says of the mod."""
        with open(os.path.join(self.stage.folder, "debug.log"), encoding="utf-8", errors="replace") as file:
            return "".join([line[:300] for line in file if "hookrouter-mod" in line][-40:])


@contextmanager
def modded(
    server: PrivateTmux, version: str | None = None, edit: Callable[[str], str] | None = None, config: str = ""
) -> Iterator[Modded]:
    with ExitStack() as stack:
        folder = stack.enter_context(short_folder())
        one = Modded(folder, server, stack.enter_context(ScriptedModel()), version, config)
        if edit is not None:
            with open(mod_path(one.stage), encoding="utf-8") as file:
                source = edit(file.read())
            with open(mod_path(one.stage), "w", encoding="utf-8") as file:
                file.write(source)
        stack.callback(one.gate.kill)
        stack.callback(one.client.stop)
        yield one


@pytest.mark.parametrize("version", mostly_long([None, "2.1.310"], None))
def test_a_question_is_answered_through_the_mod(tmux_server: PrivateTmux, version: str | None) -> None:
    # A slow client may start entries before its settings hold, which are left alone, and may go on so in that session.
    for _ in range(CLIENTS):
        with modded(tmux_server, version) as one:
            one.gate.start()
            one.start()
            one.ask("Which way now?")
            one.wait_screen(ASKED)
            assert "Right" in one.answer()
            one.wait_screen(ANSWERED)
            assert one.gate.events() == WORDS
            assert one.handled() == once(), one.told()
            left = one.left_alone()
            one.ask("And which one then?")
            assert "Left" in one.answer(0)
            assert one.gate.events() == WORDS * 2
            assert one.handled() == once(2), one.told()
            if one.left_alone() == left:
                # The mod alone was called.
                return
            last = one.told()
    raise AssertionError(last)


def test_a_question_is_answered_by_the_router_itself(tmux_server: PrivateTmux) -> None:
    pytest.importorskip("uvicorn")
    with modded(tmux_server, config="\n[serve]\nmod = true\n") as one, Resident(one.stage.environ) as router:
        wait_until(lambda: (router.status()["gate"] or {}).get("mod"), 20, "the gate", lambda: str(router.status()))
        calls = router.status()["calls"]
        one.start()
        one.ask("Which way now?")
        one.wait_screen(ASKED)
        assert "Right" in one.answer()
        one.wait_screen(ANSWERED)
        assert one.handled() == once(), one.told()
        assert router.status()["calls"] - calls >= len(WORDS)


def test_a_permission_is_decided_by_the_router_itself(tmux_server: PrivateTmux, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    config = f"{RULES}\n[serve]\nmod = true\n"
    with modded(tmux_server, config=config) as one, Resident(one.stage.environ) as router:
        wait_until(lambda: (router.status()["gate"] or {}).get("mod"), 20, "the gate", lambda: str(router.status()))
        one.start()
        for name, decision in (("one", {"action": "allow"}), ("two", {"action": "deny", "text": "not this one"})):
            one.ask_permission(f"{tmp_path}/{name}")
            result = one.decide(decision)
            assert (result["outcome"], result["channel"]) == ("verified", "reply"), one.told()
            one.client.wait_idle()
            assert (tmp_path / name).exists() == (decision["action"] == "allow")


@pytest.mark.parametrize("version", mostly_long(["2.1.287", "2.1.300"]))
def test_a_client_that_cannot_leave_entries_out_marks_the_calls(tmux_server: PrivateTmux, version: str) -> None:
    with modded(tmux_server, version) as one:
        one.gate.start()
        one.start()
        one.ask("Which way now?")
        one.wait_screen(ASKED)
        assert "Right" in one.answer()
        one.wait_screen(ANSWERED)
        # PreToolUse cannot be marked: its entry handles it.
        assert one.gate.events() == [word for word in WORDS if word != "pre-tool-use"]
        assert one.handled() == once(), one.told()


@pytest.mark.parametrize("version", mostly_long([None, "2.1.310", "2.1.287"], None))
def test_a_router_that_is_gone_at_the_start_costs_nothing(tmux_server: PrivateTmux, version: str | None) -> None:
    with modded(tmux_server, version) as one:
        one.start()
        one.ask("Which way now?")
        assert "Right" in one.answer()
        assert one.handled() == once(), one.told()
        one.gate.start()
        one.ask("And which one then?")
        assert "Left" in one.answer(0)
        assert one.handled() == once(2), one.told()
        assert set(one.gate.events()) >= {"user-prompt-submit", "permission-request", "stop"}


@pytest.mark.long
def test_a_router_that_dies_between_two_events(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.gate.start()
        one.start()
        one.ask("Which way now?")
        assert "Right" in one.answer()
        one.gate.kill()
        one.ask("And which one then?")
        one.wait_screen(ASKED)
        assert "Left" in one.answer(0)
        assert one.gate.events() == WORDS
        assert one.handled() == once(2), one.told()


def test_a_router_that_dies_while_a_question_waits(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.gate.start()
        one.start()
        one.ask("Which way now?")
        one.wait_screen(ASKED)
        before = one.waiting()
        one.gate.kill()
        wait_until(lambda: one.waiting() not in (None, before), 15, "another that waits", one.told)
        assert "Right" in one.answer()
        assert one.handled() == once(), one.told()


@pytest.mark.long
def test_a_router_that_is_restarted_while_a_question_waits(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.gate.start()
        one.start()
        one.ask("Which way now?")
        one.wait_screen(ASKED)
        one.gate.kill()
        one.gate.start()
        assert "Right" in one.answer()
        assert one.handled() == once(), one.told()


@pytest.mark.long
def test_a_router_that_hangs_is_left_alone_until_it_is_back(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.gate.start()
        one.start()
        one.ask("Which way now?")
        assert "Right" in one.answer()
        one.gate.hang()
        one.ask("And which one then?")
        assert "Left" in one.answer(0)
        assert one.gate.events() == WORDS
        assert one.handled() == once(2), one.told()
        one.gate.recover()
        wait_until(lambda: "the router is back" in one.log(), 30, "the mod to see that", one.told)
        one.ask("And a third one?")
        assert "Right" in one.answer()
        assert one.gate.events() == WORDS * 2
        assert one.handled() == once(3), one.told()


@pytest.mark.long
def test_a_router_that_is_slow_is_asked_again_and_not_passed_by(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.gate.start()
        one.gate.late.update({"pre-tool-use": 2.5, "permission-request": 2.5, "stop": 2.5})
        one.start()
        one.ask("Which way now?")
        one.wait_screen(ASKED)
        assert "Right" in one.answer()
        assert one.gate.events() == WORDS
        assert one.handled() == once(), one.told()
        assert "process.spawn" not in one.log()


@pytest.mark.long
def test_a_router_that_hangs_while_a_question_waits_gets_its_answer(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.gate.start()
        one.start()
        one.ask("Which way now?")
        one.wait_screen(ASKED)
        one.gate.hang()
        wait_until(lambda: "no answer within" in one.log(), 90, "the mod to notice it", one.told)
        one.gate.recover()
        assert "Right" in one.answer()
        one.wait_screen(ANSWERED)
        assert one.gate.events() == WORDS
        assert one.handled() == once(), one.told()
        assert "process.spawn" not in one.log()


@pytest.mark.long
def test_a_mod_that_crashes_gives_the_entries_back(tmux_server: PrivateTmux) -> None:
    def crashing(source: str) -> str:
        place = 'on("turn.complete", ($, e, next) => {'
        assert place in source
        return source.replace(place, f"{place} for (;;) {{}}")

    with modded(tmux_server, edit=crashing) as one:
        one.gate.start()
        one.start()
        one.ask("Which way now?")
        assert "Right" in one.answer()
        wait_until(lambda: "was unloaded" in one.log(), 30, "the end of the mod", one.told)
        one.ask("And which one then?")
        assert "Left" in one.answer(0)
        assert one.gate.events() == WORDS
        assert one.handled() == once(2), one.told()


@pytest.mark.parametrize("is_up", mostly_long([True, False], False))
def test_escape_ends_the_wait(tmux_server: PrivateTmux, is_up: bool) -> None:
    with modded(tmux_server) as one:
        if is_up:
            one.gate.start()
        one.start()
        one.ask("Which way now?")
        one.wait_screen(ASKED)
        process = one.waiting()
        assert process is not None
        one.press("Escape")
        one.client.wait_idle()
        wait_until(lambda: not _lives(process), 15, "the end of the hook that waits", one.told)
        # It may be told twice.
        assert len(set(one.gate.deleted)) == is_up


def _lives(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_person_answers_first(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.gate.start()
        one.start()
        one.ask("Which way now?")
        one.wait_screen(ASKED)
        one.client.confirm()
        one.wait_stop()
        wait_until(lambda: one.handled() == once(), 15, "the end of the hook that waits", one.told)
        assert "Left" in list(one.model.tool_results().values())[-1]
        assert ANSWERED not in one.client.screen()
        assert one.stage.documents("reply-waiting") == []
