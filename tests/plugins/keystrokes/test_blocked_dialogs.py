"""Dialogs that no hook tells of: recorded on five client versions, read, and a row chosen on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.answering.interfaces import AskedDialog, Done, Effect, GiveUp, Press, SeenDialog, Taken, Wait
from hookrouter.terminals import Screen
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner

RECORDED = Path(__file__).parents[2] / "data" / "blocked"
PLANNER = GrammarPlanner()

KINDS = {
    "apikey": "API key in the environment",
    "bypass": "warning of the bypass mode",
    "held": "held message",
    "imports": "imports from outside the project",
    "mcp": "approval of an MCP server",
    "mcp2": "approval of MCP servers",
    "model": "model picker",
    "settings": "faults in settings",
    "switch": "model switch",
    "trust": "workspace trust",
    "2.1.300/auto-mode": "what auto mode costs",
    "2.1.330/auto-mode": "auto mode cannot check actions",
}
LISTS = ("mcp", "trust", "switch", "held")
UNKNOWN = ("config", "cost", "elicit", "permissions", "resume", "rewind", "transcript")
FILES = sorted(path.relative_to(RECORDED).with_suffix("").as_posix() for path in RECORDED.glob("*/*.txt"))


def screen(name: str) -> Screen:
    lines = (RECORDED / f"{name}.txt").read_text().split("\n")
    return Screen(tuple([*lines, *[""] * 36][:36]), 110, 36)


def drawn(lines: list[str]) -> Screen:
    return Screen(tuple(lines), 110, len(lines))


def seen(name: str) -> SeenDialog:
    found = PLANNER.seen(screen(name))
    assert found is not None
    return found


def asked(dialog: SeenDialog, index: int) -> AskedDialog:
    request = {"dialog": dialog.kind, "rows": list(dialog.rows), "body": list(dialog.body)}
    return AskedDialog("blocked", request, {"action": "row", "index": index}, "/project")


@pytest.mark.parametrize("name", FILES)
def test_what_is_on_the_screen(name: str) -> None:
    found, short = PLANNER.seen(screen(name)), name.partition("/")[2]
    if short in UNKNOWN:
        assert found is None
        return
    assert found is not None
    assert not found.is_told
    assert found.kind == KINDS.get(name, KINDS.get(short))
    assert bool(found.rows) == (short != "mcp2")
    assert found.body


def test_rows_are_as_the_client_has_them() -> None:
    assert seen("2.1.150/mcp").rows == (
        "Use this and all future MCP servers in this project",
        "Use this MCP server",
        "Continue without using this MCP server",
    )
    assert seen("2.1.330/mcp").rows[0] == "Use this MCP server"
    assert seen("2.1.330/model").rows[2].startswith("Fable ")
    assert seen("2.1.330/held").rows[0] == "Deny — drop it and tell the sender it was declined"


def test_the_server_is_part_of_what_is_asked() -> None:
    assert seen("2.1.330/mcp").body[0].strip() == "New MCP server found in this project: demo"


@pytest.mark.parametrize("name", [name for name in FILES if name.partition("/")[2] in LISTS])
@pytest.mark.parametrize("index", [0, 1])
def test_the_cursor_is_seen_on_the_row_before_enter(name: str, index: int) -> None:
    dialog = asked(seen(name), index)
    lines = list(screen(name).lines)
    at = next(number for number in range(len(lines) - 1, -1, -1) if lines[number].lstrip().startswith("❯"))
    taken: list[Taken] = []
    for _ in range(4):
        view = PLANNER.read_dialog(drawn(lines), dialog)
        assert view.shown
        step = PLANNER.next_dialog_step(view, dialog, taken)
        assert isinstance(step, Press)
        taken.append(Taken(step, view))
        if step.key == "Enter":
            break
        assert step.key in ("Up", "Down")
        to = at + (1 if step.key == "Down" else -1)
        lines[at], lines[to] = lines[at].replace("❯", " ", 1), _with_cursor(lines[to], lines[at])
        at = to
    assert step.effect == Effect.SUBMITS
    assert dialog.request["rows"][index].split("  ")[0] in lines[at]
    after = PLANNER.read_dialog(drawn(["", "❯ ", ""]), dialog)
    assert not after.shown
    assert isinstance(PLANNER.next_dialog_step(after, dialog, taken), (Done, Wait))


def _with_cursor(line: str, other: str) -> str:
    column = other.index("❯")
    return f"{line[:column]}❯{line[column + 1 :]}"


@pytest.mark.parametrize("change", ["body", "rows", "dialog"])
def test_another_dialog_gets_no_key(change: str) -> None:
    dialog = asked(seen("2.1.330/mcp"), 0)
    other: dict[str, Any] = {
        **dialog.request,
        change: "workspace trust" if change == "dialog" else [*dialog.request[change], "more"],
    }
    changed = dialog._replace(request=other)
    view = PLANNER.read_dialog(screen("2.1.330/mcp"), changed)
    assert not view.shown
    assert isinstance(PLANNER.next_dialog_step(view, changed, []), (Wait, GiveUp))


def test_a_dialog_whose_edge_is_out_of_sight_has_no_rows() -> None:
    lines = list(screen("2.1.330/held").lines)
    edge = next(number for number, line in enumerate(lines) if line.startswith("────") and "Held" in lines[number + 1])
    found = PLANNER.seen(drawn(lines[edge + 1 :]))
    assert found is not None
    assert found.rows == ()


def test_words_of_a_dialog_in_a_conversation_are_none() -> None:
    lines = [*screen("2.1.330/trust").lines[:12], "", "─" * 100, "❯ ", "─" * 100, "  ? for shortcuts"]
    assert PLANNER.seen(drawn(lines)) is None


_LINES = [line for name in FILES for line in screen(name).lines if line]


@given(st.lists(st.one_of(st.sampled_from(_LINES), st.text(max_size=60)), max_size=30))
def test_no_screen_raises(lines: list[str]) -> None:
    found = PLANNER.seen(drawn(lines))
    assert found is None or isinstance(found.kind, str)
    dialog = asked(seen("2.1.330/trust"), 1)
    view = PLANNER.read_dialog(drawn(lines), dialog)
    if not view.shown:
        assert not isinstance(PLANNER.next_dialog_step(view, dialog, []), Press)
