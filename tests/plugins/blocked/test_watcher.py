"""What counts as a stopped session, when its agent is told, and when it is over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrouter.config import Agent
from hookrouter.dialogs.answers.identity import Author
from hookrouter.dialogs.documents import PendingAnswer, save_pending
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.messaging.pauses import begin
from hookrouter.terminals import TerminalError

if TYPE_CHECKING:
    from .conftest import Outside

WAITS = {"status": "waiting", "waitingFor": "dialog open"}
PROMPT = "\n" * 30 + "─" * 100 + "\n❯ \n" + "─" * 100 + "\n  ? for shortcuts"


def test_a_start_dialog_is_told_once_it_has_stayed(outside: Outside) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    assert outside.look() == []
    assert outside.look(seconds=29) == []
    [one] = outside.look(seconds=2)
    assert (one.kind, one.session, one.session_id) == ("blocked", "managed", "")
    assert one.request["dialog"] == "workspace trust"
    assert [row["label"] for row in one.questions[0]["options"]] == list(one.request["rows"])
    assert one.terminal == outside.panes.address("managed")
    assert [again.tool_use_id for again in outside.look(seconds=600)] == [one.tool_use_id]
    [message] = outside.told
    assert (message.agent, message.tool_use_id) == ("night", one.tool_use_id)
    assert "Accessing workspace:" in message.text


def test_it_counts_at_no_first_look(outside: Outside) -> None:
    outside.after = 0
    outside.panes.shows["managed"] = "2.1.330/trust"
    assert outside.look() == []
    assert len(outside.look()) == 1


def test_a_dialog_that_goes_and_comes_again_is_told_again(outside: Outside) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    [first] = outside.settle()
    outside.panes.shows["managed"] = PROMPT
    assert outside.look() == []
    [verdict] = list_verdicts(outside.app.store)
    assert (verdict.outcome, verdict.by, verdict.kind) == ("answered_by_person", "person", "blocked")
    outside.panes.shows["managed"] = "2.1.330/trust"
    assert outside.look() == []
    [second] = outside.settle()
    assert second.tool_use_id != first.tool_use_id


def test_another_dialog_in_its_place_is_another_one(outside: Outside) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    [first] = outside.settle()
    outside.panes.shows["managed"] = "2.1.330/mcp"
    assert outside.look() == []
    [second] = outside.settle()
    assert (first.request["dialog"], second.request["dialog"]) == ("workspace trust", "approval of an MCP server")


@pytest.mark.parametrize("shown", ["2.1.330/config", "2.1.330/cost", "2.1.330/rewind"])
def test_an_open_dialog_that_is_not_known_is_told_with_its_screen(outside: Outside, shown: str) -> None:
    outside.panes.shows["managed"] = shown
    outside.client("managed", **WAITS)
    [one] = outside.settle()
    assert (one.session_id, one.cwd, one.request["rows"]) == ("s-1", "/project", [])
    assert len(one.request["screen"]) > 5
    assert one.client_pid > 0


@pytest.mark.parametrize(
    ("shown", "waits"),
    [
        ("2.1.330/elicit", {"status": "waiting", "waitingFor": "input needed"}),
        ("2.1.330/config", {"status": "waiting", "waitingFor": "permission prompt"}),
        ("2.1.330/trust", {"status": "busy"}),
        ("2.1.330/trust", {"status": "idle"}),
        (PROMPT, {}),
        ("2.1.330/config", {}),
    ],
)
def test_what_is_at_work_or_told_by_a_hook_is_left(outside: Outside, shown: str, waits: dict[str, str]) -> None:
    outside.panes.shows["managed"] = shown
    outside.client("managed", **waits)
    assert outside.settle() == []


def test_a_client_at_work_is_not_looked_at(outside: Outside) -> None:
    outside.panes.shows["managed"] = PROMPT
    outside.client("managed", status="busy")
    outside.settle()
    assert outside.panes.captured == []


def test_permissions_and_plans_are_left_to_their_hooks(outside: Outside) -> None:
    from pathlib import Path

    recorded = Path(__file__).parents[2] / "data" / "dialogs" / "2.1.330"
    outside.client("managed", **WAITS)
    for name in ("bash", "plan"):
        outside.panes.shows["managed"] = (recorded / f"{name}.txt").read_text()
        assert outside.settle() == []


def test_a_dialog_outside_every_terminal_is_told_without_a_screen(outside: Outside) -> None:
    outside.agents = (Agent(id="night"),)
    outside.client(**WAITS)
    [one] = outside.settle()
    assert (one.terminal, one.request["screen"], one.session) == (None, [], "claude-s-1")


def test_nobody_is_told_of_what_no_agent_manages(outside: Outside) -> None:
    outside.panes.shows["other"] = "2.1.330/trust"
    assert outside.settle() == []
    assert outside.panes.captured == []


def test_a_pane_of_another_program_shows_no_dialog(outside: Outside) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    outside.panes.programs["managed"] = "less"
    assert outside.settle() == []


def test_an_agent_that_does_not_want_to_hear_of_it(outside: Outside) -> None:
    outside.agents = (Agent(id="night", wake_on=("question",)),)
    outside.panes.shows["managed"] = "2.1.330/trust"
    assert len(outside.settle()) == 1
    assert outside.told == []


def test_a_paused_session_is_noted_as_missed(outside: Outside) -> None:
    begin(outside.app.store, "managed")
    outside.panes.shows["managed"] = "2.1.330/trust"
    [one] = outside.settle()
    assert one.missed
    assert outside.told == []


def test_a_terminal_that_fails_closes_nothing(outside: Outside) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    [one] = outside.settle()
    outside.panes.shows["managed"] = TerminalError("it hangs")
    assert outside.look(seconds=60) == [one]
    outside.panes.shows["managed"] = "2.1.330/trust"
    assert outside.look(seconds=60) == [one]


def test_an_answer_whose_command_was_cut_off_is_not_a_persons(outside: Outside) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    [one] = outside.settle()
    pending = PendingAnswer("managed", "", one.tool_use_id, [{"action": "row", "index": 1}], "keys", 1)
    save_pending(outside.app.store, pending)
    outside.panes.shows["managed"] = PROMPT
    assert outside.look() == []
    [verdict] = list_verdicts(outside.app.store)
    assert (verdict.outcome, verdict.by) == ("unverified", "agent")


def test_two_sessions_are_two(outside: Outside) -> None:
    outside.panes.shows |= {"managed-a": "2.1.330/trust", "managed-b": "2.1.330/mcp"}
    assert sorted(one.session for one in outside.settle()) == ["managed-a", "managed-b"]


def test_a_broken_note_of_what_was_seen_is_begun_anew(outside: Outside) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    key = "panes  managed"
    for entry in (1, {"mark": 1}, {"mark": "x", "since": "y"}, {"since": 1e99}):
        outside.app.store.write("blocked-seen", "all", {key: entry})
        assert outside.look() == []


@pytest.mark.parametrize(
    ("decision", "fault"),
    [
        ('{"action": "row"}', '"index" is missing; allowed: 0 to 1'),
        ('{"action": "row", "index": 2}', '"index" is 2; allowed: 0 to 1'),
        ('{"action": "row", "index": -1}', '"index" is -1'),
        ('{"action": "row", "index": true}', '"index" is true'),
        ('{"action": "row", "index": 1, "text": "x"}', '"text" is not a key of row'),
        ('{"action": "allow"}', '"action" is "allow"; allowed is row'),
        ('[{"action": "row", "index": 0}, {"action": "row", "index": 1}]', "one object is wanted"),
        ("[]", "one object is wanted"),
        ("7", "one object is wanted"),
        ('{"action": "type", "text": "yes"}', "takes no words"),
    ],
)
def test_decisions_that_do_not_fit(outside: Outside, decision: str, fault: str) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    outside.settle()
    result = outside.decide(decision)
    assert (result.exit_code, result.outcome) == (2, "invalid")
    assert fault in result.reason


@pytest.mark.parametrize("decision", ['{"action": "row", "index": 1}', '{"action": "select", "optionIndex": 1}'])
def test_a_row_is_planned_with_a_look(outside: Outside, decision: str) -> None:
    outside.panes.shows["managed"] = "2.1.330/trust"
    outside.settle()
    result = outside.decide(decision, dry_run=True)
    assert result.outcome == "planned", result.reason
    assert result.steps == ("move the cursor to row 2 and see it there", "enter")


def test_rows_are_a_persons_by_default(outside: Outside) -> None:
    outside.rows = "person"
    outside.panes.shows["managed"] = "2.1.330/trust"
    outside.settle()
    result = outside.decide('{"action": "row", "index": 1}')
    assert result.exit_code == 2
    assert "[approvals] rows" in result.reason
    by_person = outside.decide('{"action": "row", "index": 1}', author=Author("person", "ann", True), dry_run=True)
    assert by_person.outcome == "planned"


def test_no_row_of_an_unknown_dialog_is_chosen(outside: Outside) -> None:
    outside.panes.shows["managed"] = "2.1.330/config"
    outside.client("managed", **WAITS)
    outside.settle()
    for decision in ({"action": "row", "index": 0}, {"action": "select", "optionIndex": 0}):
        result = outside.decide(json.dumps(decision))
        assert result.exit_code == 2
        assert "no row of this dialog can be chosen" in result.reason
