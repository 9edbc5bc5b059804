"""A permission or a form that could not be saved when it was asked stays with the person, and is told of later."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hookrouter import _wiring
from hookrouter.answering.interfaces import KeystrokePlanner, View
from hookrouter.dialogs import documents, unsaved
from hookrouter.dialogs.decisions import DecisionError
from hookrouter.dialogs.documents import list_questions
from hookrouter.dialogs.kinds import find_kind
from hookrouter.dialogs.unsaved import open_unsaved
from hookrouter.storage.documents import Store
from hookrouter.storage.interface import StoreError
from hookrouter.terminals import Screen, TerminalAddress, TerminalBackend
from hookrouter_approvals.noting import CALL
from hookrouter_approvals.settings import ApprovalsSettings

CALLS = {
    "toolu_1": ("Bash", {"command": "touch a"}),
    "toolu_2": ("Bash", {"command": "touch b"}),
    "toolu_p": ("ExitPlanMode", {"plan": "do it", "planFilePath": "/p/plan.md"}),
    "toolu_m": ("Bash", {"command": "make all"}),
    "toolu_f": ("mcp__demo__form", {}),
    "toolu_a": ("Agent", {"prompt": "look"}),
}


class Terminal(TerminalBackend):
    """A pane that shows what it is told to."""

    shows = ""

    def locate(self, environ: dict[str, str]) -> TerminalAddress | None:
        return TerminalAddress("fake", session="main", target="%0", server="") if "FAKE" in environ else None

    def capture(self, _address: TerminalAddress) -> Screen:
        return Screen((self.shows,), 0, 0)


class Planner(KeystrokePlanner):
    """Knows a call's dialog by the words of its input."""

    name = "grammar"
    kinds = ("permission", "plan")

    def read_dialog(self, screen: Screen, asked: Any) -> View:
        [line] = screen.lines
        return View(screen, None, shown=line != "" and line in str(asked.request["input"]))


class Full:
    """A client whose hooks cannot save anything."""

    def __init__(self, asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asking, self.patch, self.terminal = asking, monkeypatch, Terminal()
        home = Path(asking.home.root).parent
        asking.environ["HOME"] = str(home)
        self.registry = home / ".claude" / "sessions" / f"{os.getpid()}.json"
        self.registry.parent.mkdir(parents=True)
        asking.transcript = home / ".claude" / "projects" / "-p" / "s-1.jsonl"
        asking.transcript.parent.mkdir(parents=True)
        monkeypatch.setattr(unsaved, "process_environ", lambda _pid: {"FAKE": "main"})
        monkeypatch.setattr(_wiring, "start_delivery", lambda *_, **__: None)
        given = {"terminal_backend": {"fake": self.terminal}, "keystroke_planner": {"grammar": Planner()}}
        kind = type(asking.app.plugins)
        there = kind.contributions
        monkeypatch.setattr(
            kind, "contributions", lambda one, hook, *key, **how: given.get(hook) or there(one, hook, *key, **how)
        )

    def says(self, waiting_for: str) -> None:
        entry = {"pid": os.getpid(), "sessionId": "s-1", "cwd": "/tmp", "status": "waiting", "waitingFor": waiting_for}
        self.registry.write_text(json.dumps(entry))

    def asks(self, *own_ids: str, waiting_for: str = "permission prompt") -> None:
        self.says(waiting_for)

        def no_space(*_arguments: object, **_options: object) -> None:
            raise StoreError(f"cannot write: {os.strerror(errno.ENOSPC)}")

        with self.patch.context() as patch:
            patch.setattr(Store, "_put", no_space)
            for own_id in own_ids:
                tool, given = CALLS[own_id]
                with pytest.raises(StoreError):
                    self.asking.call(tool, given, own_id)
            if tool.startswith("mcp__"):
                with pytest.raises(StoreError):
                    self.asking.hook("elicitation", mcp_server_name="demo", message="Who?", mode="form")
            else:
                assert self.asking.request(tool, given)[0] is None
        assert self.open() == []

    def subagent_asks(self, own_id: str) -> None:
        folder = self.asking.transcript.with_suffix("") / "subagents"
        folder.mkdir(parents=True)
        tool, given = CALLS[own_id]
        block = {"type": "tool_use", "id": own_id, "name": tool, "input": given}
        (folder / "agent-abc1.jsonl").write_text(
            json.dumps({"type": "assistant", "isSidechain": True, "message": {"content": [block]}}) + "\n"
        )

    def look(self) -> bool:
        return open_unsaved(self.asking.app)

    def open(self) -> list[tuple[str, str, str]]:
        return [(one.kind, one.tool_use_id, one.agent_id) for one in documents.list_questions(self.asking.app.store)]


@pytest.fixture
def full(asking: Any, monkeypatch: pytest.MonkeyPatch) -> Full:
    return Full(asking, monkeypatch)


def test_a_permission_is_found_and_told_once(full: Full) -> None:
    full.asks("toolu_1")
    assert [full.look() for _ in range(2)] == [True, False]
    assert full.open() == [("permission", "toolu_1", "")]
    assert [wake.tool_use_id for wake in full.asking.wakes()] == ["toolu_1"]
    # No hook waits: with this channel alone it stays with the person.
    assert full.asking.decide({"action": "allow"}).exit_code != 0
    assert full.asking.ran(*CALLS["toolu_1"])["outcome"] == "answered_by_person"
    assert full.open() == []


def test_a_plan_is_found_by_its_dialog(full: Full) -> None:
    full.asks("toolu_p", waiting_for="input needed")
    assert not full.look()
    full.terminal.shows = "do it"
    assert full.look()
    assert full.open() == [("plan", "toolu_p", "")]


def test_of_several_calls_the_one_on_the_screen_is_told_and_all_are_noted(full: Full) -> None:
    full.asks("toolu_1", "toolu_2")
    full.terminal.shows = "touch"
    assert not full.look()
    full.terminal.shows = "touch b"
    assert full.look()
    assert full.open() == [("permission", "toolu_2", "")]
    # Keys compare with them before one is pressed.
    assert sorted(one["tool_use_id"] for _, one in full.asking.app.store.entries(CALL)) == ["toolu_1", "toolu_2"]


def test_the_call_of_a_subagent_is_found(full: Full) -> None:
    full.asks("toolu_a")
    full.subagent_asks("toolu_1")
    assert full.look()
    assert full.open() == [("permission", "toolu_1", "abc1")]


def test_what_a_rule_leaves_to_a_person_is_told_as_such(full: Full) -> None:
    full.asks("toolu_m")
    assert full.look()
    [question] = list_questions(full.asking.app.store)
    assert question.is_reserved


def test_a_call_that_runs_is_none_that_is_asked_for(full: Full) -> None:
    full.asks("toolu_1", waiting_for="input needed")
    assert not full.look()


def test_a_form_is_told_and_stays_with_the_person(full: Full) -> None:
    full.asks("toolu_f", waiting_for="input needed")
    assert [full.look() for _ in range(2)] == [True, False]
    assert full.open() == [("elicitation", "elicitation_toolu_f", "")]
    assert [wake.tool_use_id for wake in full.asking.wakes()] == ["elicitation_toolu_f"]
    kind = find_kind(full.asking.app.plugins, "elicitation")
    assert kind is not None
    [question] = full.asking.open()
    with pytest.raises(DecisionError, match="only a person"):
        kind.parse(question, '{"action": "decline"}')
    full.asking.hook("elicitation_result", mcp_server_name="demo", action="accept", content={"name": "Bob"})
    assert full.open() == []
    assert not full.look(), "the same call still runs"


def test_a_form_that_was_left_to_the_person_in_time_is_none(full: Full) -> None:
    full.says("input needed")
    full.asking.call(*CALLS["toolu_f"], "toolu_f")
    full.asking.settings = ApprovalsSettings(elicitation_wait=0.0)
    full.asking.hook("elicitation", mcp_server_name="demo", message="Who?", mode="form")
    assert full.open() == []
    assert not full.look()
