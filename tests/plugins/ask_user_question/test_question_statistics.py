"""The questions' part of ``hookrouter stats``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hookrouter.dialogs.stories.statistics import DialogStatistics
from hookrouter.util.clock import iso
from support.ask_session import AskSession

AT = 1_790_000_000.0


def run(at: float = AT, **more: Any) -> dict[str, Any]:
    return {"at": iso(at), "event": "Stop", "session_id": "s-1", "ms": 10.0, "pid": 1, "outcome": "routed", **more}


def counted(*records: dict[str, Any]) -> DialogStatistics:
    figures = DialogStatistics()
    with tempfile.TemporaryDirectory() as folder:
        asking = AskSession(Path(folder))
        for record in records:
            figures.add(record)
            asking.journal.write(record, "s-1")
        figures.read(asking.app, since=None, session=None, plugin=None)
    return figures


def asked(number: int, at: float = AT) -> dict[str, Any]:
    return run(at, event="PreToolUse", tool="AskUserQuestion", outcome="asked", tool_use_id=f"toolu_{number}")


def ended(number: int, at: float, outcome: str) -> dict[str, Any]:
    return run(at, event="PostToolUse", tool="AskUserQuestion", outcome=outcome, tool_use_id=f"toolu_{number}")


def test_questions_are_counted_by_how_they_ended() -> None:
    swept = {"session_id": "s-1", "tool_use_id": "toolu_5", "outcome": "lost"}
    answer = {"at": iso(AT), "event": "answer", "session_id": "s-1", "ms": 3}

    found = counted(
        *map(asked, range(1, 9)),
        ended(1, AT + 10, "verified"),
        ended(2, AT + 30, "mismatch"),
        ended(3, AT + 20, "answered_by_person"),
        ended(4, AT + 600, "unanswered"),
        run(AT + 60, swept=[swept, {**swept, "tool_use_id": "toolu_6", "outcome": "left"}]),
        {**answer, "tool_use_id": "toolu_7", "outcome": "chat", "closed": True},
        {**answer, "tool_use_id": "toolu_8", "outcome": "delivered", "closed": False},
    ).document()

    expected = {
        "asked": 8,
        "verified": 1,
        "mismatch": 1,
        "answered_by_person": 1,
        "unanswered": 2,
        "chat": 1,
        "open": 0,
        "unknown": 2,
    }
    assert {key: found[key] for key in expected} == expected
    assert found["seconds"] == {"median": 20.0, "p95": 30.0, "longest": 30.0}


def test_what_claude_code_recorded_is_the_last_word_on_a_question() -> None:
    swept = [{"session_id": "s-1", "tool_use_id": "toolu_1", "outcome": "lost"}]

    found = counted(asked(1), ended(1, AT + 1, "verified"), run(AT + 2, swept=swept)).document()

    assert (found["verified"], found["unanswered"], found["asked"]) == (1, 0, 1)


def test_a_question_that_answer_found_over_is_not_open() -> None:
    """As ``history`` says of it."""
    closed = {"event": "answer", "outcome": "unanswered", "closed": True, "tool_use_id": "toolu_1"}
    found = counted(asked(1), run(AT + 5, **closed)).document()
    assert (found["unanswered"], found["open"]) == (1, 0)


def test_moments_are_when_answers_were_compared() -> None:
    figures = counted(ended(1, AT + 39, "verified"), ended(2, AT + 40, "mismatch"), ended(3, AT, "answered_by_person"))
    assert figures.moments() == {"verified": [AT + 39], "mismatch": [AT + 40]}
    assert counted().lines() == []
