"""A home with something on every page, for pictures: the same texts each time, and times that lie as far back."""

from __future__ import annotations

import json
import os
import random
from functools import partial
from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents
from hookrouter.dialogs.verdicts import Verdict, save_verdict
from hookrouter.sessions.records import SessionRecord, change_record
from hookrouter.util.claude_process import process_space
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from pathlib import Path

    from support.page import Home

__all__ = ["fill"]

_MINUTE, _DAY = 60.0, 86400.0
_MODEL = "claude-opus-5"

_LIBRARY = [
    {"label": "htmx 2", "description": "Served by us, no build step; 51 kB, once"},
    {"label": "Plain scripts", "description": "Nothing to keep up to date, more of our own to test"},
    {"label": "A bundler", "description": "A second tool chain for one page"},
]
_COLUMNS = [
    {"label": "Keep both", "description": "The old column is read until the next release", "preview": "+ paid_at"},
    {"label": "Move and drop", "description": "One migration, no way back", "preview": "+ paid_at\n- paid"},
]

_ENDED = (
    # session, minutes ago, seconds to the answer, outcome, by, who, header, question, answer
    ("shop", 32, 14, "verified", "agent", "", "Rounding", "How are amounts rounded?", "Half to even"),
    ("docs", 57, 48, "verified", "person", "ana", "Language", "Which spelling do the docs use?", "British"),
    ("shop", 84, 9, "verified", "agent", "", "Retries", "How often is a payment tried again?", "Three times"),
    ("api", 131, 205, "answered_by_person", "person", "", "Version", "Is this a new major version?", "Yes"),
    ("api", 190, 22, "verified", "agent", "", "Limit", "What is the longest page of results?", "200"),
    ("docs", 275, 6, "verified", "agent", "", "Index", "Is the glossary generated?", "No, by hand"),
    ("shop", 340, 31, "verified", "agent", "", "Cache", "Where are prices cached?", "In the process"),
    ("api", 410, 640, "unanswered", "nobody", "", "Rollout", "Which region goes first?", ""),
)


def fill(home: Home, folder: Path) -> None:
    """Write what the pages show; ``folder`` is for transcripts."""
    _sessions(home, folder)
    _waiting(home)
    _history(home)
    _figures(home)


def _waiting(home: Home) -> None:
    for minutes, session, cwd, forms in (
        (2, "web", "/home/ana/web", [_form("Library", "Which way should the page hear of changes?", _LIBRARY)]),
        (11, "shop", "/home/ana/shop", [_form("Schema", "What becomes of the old column?", _COLUMNS)]),
    ):
        asked = home.ask(session, "")
        saved = asked._replace(saved_at=iso(now() - minutes * _MINUTE - 5), cwd=cwd, questions=forms)
        documents.save_question(home.app.store, saved)


def _form(header: str, text: str, options: list[dict[str, str]]) -> dict[str, Any]:
    return {"question": text, "header": header, "multiSelect": False, "options": options}


def _sessions(home: Home, folder: Path) -> None:
    for session, state, minutes, tokens, said in (
        ("web", "busy", 3, 318_000, "I have compared the ways to hear of changes."),
        ("shop", "busy", 12, 121_000, "The migration is written; one thing is yours to decide."),
        ("api", "busy", 4, 540_000, "The tests of the client run."),
        ("docs", "idle", 21, 64_000, "The guide is done. Shall I go on with the reference?"),
    ):
        transcript = folder / f"{session}.jsonl"
        usage = {"input_tokens": tokens, "output_tokens": 300}
        message = {"role": "assistant", "model": _MODEL, "usage": usage, "content": [{"type": "text", "text": said}]}
        told = {"type": "assistant", "isSidechain": False, "version": "2.1.330", "uuid": "1", "message": message}
        transcript.write_text(f"{json.dumps(told)}\n", encoding="utf-8")
        record = SessionRecord(
            session=session,
            session_id=f"id-{session}",
            state=state,
            since=iso(now() - minutes * _MINUTE - 5),
            client_pid=os.getpid(),
            client_host=process_space(),
            cwd=f"/home/ana/{session}",
            transcript_path=str(transcript),
            model=_MODEL,
            last_message=said,
        )
        change_record(home.app.store, session, partial(_replaced, record))
    home.put("api", "run the tests again with the new client", "/compact", "write the notes for the release")


def _replaced(record: SessionRecord, _former: SessionRecord | None) -> SessionRecord:
    return record


def _history(home: Home) -> None:
    for number, (session, minutes, took, outcome, by, who, header, text, answer) in enumerate(_ENDED):
        asked_at = now() - minutes * _MINUTE
        tool_use_id = f"toolu_{number}"
        record = {
            "at": iso(asked_at),
            "event": "PreToolUse",
            "tool": "AskUserQuestion",
            "session_id": f"id-{session}",
            "session": session,
            "tool_use_id": tool_use_id,
            "outcome": "asked",
            "questions": [{"header": header, "question": text}],
        }
        home.app.journal.write(record, f"id-{session}")
        compared = {"questions": [{"question": text, "intended": answer, "recorded": answer, "result": "same"}]}
        verdict = Verdict(
            session=session,
            session_id=f"id-{session}",
            tool_use_id=tool_use_id,
            outcome=outcome,
            by=by,
            who=who,
            verification=compared if outcome == "verified" else None,
            recorded={text: answer} if outcome == "answered_by_person" else None,
            agent="night-shift",
            asked_at=iso(asked_at),
            at=iso(asked_at + took),
        )
        save_verdict(home.app.store, verdict)


def _figures(home: Home) -> None:
    """Write a month of hook runs and of questions that were answered, or not."""
    dice = random.Random(15)  # noqa: S311 - the same month each time
    for day in range(29, 0, -1):
        at = now() - day * _DAY
        for number in range(dice.randint(2, 9)):
            outcome = dice.choices(("verified", "answered_by_person", "unanswered", "mismatch"), (80, 12, 6, 2))[0]
            began = at + number * 900
            names = {
                "session_id": "id-month",
                "session": "month",
                "tool_use_id": f"toolu_m{day}_{number}",
                "tool": "AskUserQuestion",
            }
            asked = {**names, "at": iso(began), "event": "PreToolUse", "outcome": "asked", "questions": []}
            home.app.journal.write(asked, "id-month")
            home.app.journal.write(
                {
                    **names,
                    "at": iso(began + dice.choice((4, 8, 15, 25, 40, 90, 200, 900))),
                    "event": "PostToolUse",
                    "outcome": outcome,
                    **_run(dice, "ask-user-question", "post_tool_use_ask_user_question"),
                },
                "id-month",
            )
        for _ in range(dice.randint(10, 40)):
            event, hook = dice.choice(
                (("PreToolUse", "pre_tool_use"), ("Stop", "stop"), ("SessionStart", "session_start"))
            )
            run = _run(dice, "sessions", hook)
            record = {"at": iso(at), "event": event, "session_id": "id-month", "outcome": "routed", **run}
            home.app.journal.write(record, "id-month")


def _run(dice: random.Random, plugin: str, hook: str) -> dict[str, Any]:
    took = round(dice.uniform(2, 9), 1)
    call = {"plugin": plugin, "hook": hook, "ms": round(took / 2, 1), "outcome": "none"}
    return {"ms": took, "pid": 1, "plugins": [call]}
