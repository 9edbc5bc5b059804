"""Makes a home with a long history, written through the real journal and the real owner of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents
from hookrouter.dialogs.documents import Dialog
from hookrouter.sessions.records import IDLE, SessionRecord, change_record
from hookrouter.storage.documents import Store, durable_together
from hookrouter.storage.journal import Journal
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["make_big_home"]

_MONTH = 30 * 86400.0


def make_big_home(root: Path, *, questions: int, sessions: int, stories: int) -> None:
    """Write ``logs`` and ``state`` of a home in the folder ``root``: stories over the last 30 days, oldest first.

    ``questions`` are open and belong to the sessions in turn, like the ``stories``, which have ended in one of four
    ways. Nothing is chosen at random.
    """
    # Larger files than a home's, so that no story is lost to rotation.
    journal = Journal(str(root / "logs"), max_bytes=1024**3)
    store, end = Store(str(root / "state"), lambda _text: None), now()
    for number in range(stories):
        _write_story(journal, number, f"big-{number % sessions:04d}", end - _MONTH * (stories - number) / stories)
    with durable_together():
        for number in range(sessions):
            _write_session(store, f"big-{number:04d}", iso(end))
        for number in range(questions):
            name, session_id = _names(f"big-{number % sessions:04d}")
            call = f"toolu_open_{number}"
            asked: dict[str, Any] = {"session": name, "session_id": session_id, "tool_use_id": call, "agent": "big"}
            form = _form(number)
            documents.save_question(
                store, Dialog(**asked, questions=form, terminal=None, gateway="big", saved_at=iso(end))
            )
            _asked(journal, asked, form, end)


def _write_session(store: Store, session: str, since: str) -> None:
    name, session_id = _names(session)
    record = SessionRecord(name, session_id, IDLE, since, cwd="/tmp")
    change_record(store, name, lambda _before: record)


def _write_story(journal: Journal, number: int, session: str, at: float) -> None:
    name, session_id = _names(session)
    named = {"session": name, "session_id": session_id, "tool_use_id": f"toolu_{number}", "agent": "big"}
    form = _form(number)
    question = form[0]["question"]
    _asked(journal, named, form, at)
    ended = at + 5 + number % 900
    outcome = ("verified", "verified", "mismatch", "answered_by_person")[number % 4]
    if outcome == "answered_by_person":
        more: dict[str, object] = {"recorded": {question: "Red"}}
    else:
        told = {"at": iso(ended - 1), "event": "answer", "outcome": "delivered", "channel": "keys", **named}
        journal.write({**told, "steps": ["Down: to Blue", "Enter: choose"]}, session_id)
        recorded, result = ("Blue", "match") if outcome == "verified" else ("Red", "mismatch")
        entry = {"question": question, "intended": "Blue", "recorded": recorded, "result": result}
        more = {"verification": {"questions": [entry]}, "channel": "keys"}
    run = {"at": iso(ended), "event": "PostToolUse", "tool": "AskUserQuestion", "ms": 6.5, "pid": 1}
    journal.write({**run, **named, "outcome": outcome, **more}, session_id)


def _asked(journal: Journal, named: dict[str, str], form: list[dict[str, object]], at: float) -> None:
    run = {"at": iso(at), "event": "PreToolUse", "tool": "AskUserQuestion", "outcome": "asked", "ms": 5.5, "pid": 1}
    journal.write({**run, **named, "asked_at": iso(at), "questions": documents.shown_form(form)}, named["session_id"])


def _names(session: str) -> tuple[str, str]:
    return session, f"00000000-0000-4000-8000-{session[-4:]:0>12}"


def _form(number: int) -> list[dict[str, object]]:
    options = [{"label": label, "description": f"Paint it {label}."} for label in ("Red", "Blue")]
    question = f"Which colour shall part {number} of the fence have?"
    return [{"question": question, "header": "Colour", "multiSelect": False, "options": options}]
