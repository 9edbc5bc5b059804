"""The stand-in's dialogs of permissions and plans look to the planner as the client's own do."""

from __future__ import annotations

from typing import Any

import pytest

from hookrouter._sandbox.list_dialog import ListDialog
from hookrouter.answering.interfaces import AskedDialog, Press
from hookrouter.terminals import Screen
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner

COMMAND: dict[str, Any] = {"command": "touch one &&\n touch two", "description": "Make files"}
PLAN: dict[str, Any] = {"plan": "# A plan\n\n1. One", "planFilePath": "~/.claude/plans/one.md"}
CASES = [
    ("permission", "Bash", COMMAND, {"action": "allow"}, (True, "")),
    ("permission", "Bash", COMMAND, {"action": "deny", "text": "no", "stop": True}, (False, "")),
    ("plan", "ExitPlanMode", PLAN, {"action": "approve"}, (True, "default")),
    ("plan", "ExitPlanMode", PLAN, {"action": "approve", "mode": "auto"}, (True, "auto")),
]


@pytest.mark.parametrize(("kind", "tool", "tool_input", "decision", "meant"), CASES)
@pytest.mark.parametrize("width", [80, 120])
def test_a_decision_is_entered_as_on_the_client(
    kind: str,
    tool: str,
    tool_input: dict[str, Any],
    decision: dict[str, Any],
    meant: tuple[bool, str],
    width: int,
) -> None:
    planner, dialog = GrammarPlanner(), ListDialog(tool, tool_input)
    lines = ["❯ please ASK it", "", *dialog.render(width)]
    asked = AskedDialog(kind, {"tool": tool, "input": tool_input}, decision, "/project")
    view = planner.read_dialog(Screen(tuple(lines), width, len(lines)), asked)
    assert view.shown
    step = planner.next_dialog_step(view, asked, ())
    assert isinstance(step, Press)
    dialog.press(step.key)
    assert dialog.is_closed
    assert dialog.chosen is not None
    assert (dialog.chosen.allows, dialog.chosen.mode) == meant


def test_keys_move_and_leave() -> None:
    dialog = ListDialog("Bash", COMMAND)
    for key in ("Down", "Down", "Up", "x", "9", "0"):
        dialog.press(key)
    assert not dialog.is_closed
    assert "❯ 1. Yes" in "\n".join(dialog.render(80))
    dialog.press("Down")
    dialog.press("Enter")
    assert (dialog.is_closed, dialog.chosen) == (True, dialog.rows[1])
    other = ListDialog("Bash", COMMAND)
    other.press("Escape")
    other.press("1")
    assert (other.is_closed, other.chosen) == (True, None)
