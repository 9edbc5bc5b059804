"""The message for programs: what ``Message.data`` holds about a question, as ``schemas/message.json`` describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.messages.answer_schema import answer_schema
from hookrouter.dialogs.messages.formatting import Surroundings, answer_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.dialogs.documents import Dialog

__all__ = ["closed_data", "open_data"]

VERSION = 1

AGENT, PERSON = "agent", "person"


def open_data(
    kind: str,
    question: Dialog,
    argv: Sequence[str],
    environ: Mapping[str, str],
    surroundings: Surroundings,
    *,
    to_person: bool,
    reminder: Mapping[str, int] | None = None,
    link: str = "",
) -> dict[str, Any]:
    """Return the data of a message about an open question; what delivery alone knows is added by :func:`sent`.

    ``kind`` is that of the message, ``link`` where a person answers. ``argv`` and ``environ``: see
    :func:`hookrouter.dialogs.messages.formatting.answer_words`.
    """
    # What only a person may decide needs no command for an agent.
    is_shut = question.is_reserved and not to_person
    return {
        **_common(kind, question, surroundings, to_person=to_person),
        "command": [] if is_shut else [*answer_words(question, argv, environ), "--json", "--file", "-"],
        "answer_schema": None
        if is_shut
        else question.request.get("answer_schema") or answer_schema(question.questions),
        "reminder": dict(reminder) if reminder else None,
        "link": link,
    }


def closed_data(
    kind: str, question: Dialog, *, to_person: bool, reason: str, verification: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the data of a message about a question that has ended; ``verification`` has both sides of a mismatch."""
    around = Surroundings(cwd=question.cwd, transcript_path=question.transcript_path)
    return {
        **_common(kind, question, around, to_person=to_person),
        "command": [],
        "answer_schema": None,
        "reason": reason,
        "verification": verification,
    }


def _common(kind: str, question: Dialog, around: Surroundings, *, to_person: bool) -> dict[str, Any]:
    return {
        "version": VERSION,
        "kind": kind,
        "id": "",
        "session": question.session,
        "session_id": question.session_id,
        "tool_use_id": question.tool_use_id,
        "agent": question.agent,
        "asked_at": question.saved_at,
        "attempt": 0,
        "answer_from": PERSON if to_person else AGENT,
        "dialog": question.kind,
        "questions": question.questions,
        "request": {key: value for key, value in question.request.items() if key not in ("how", "answer_schema")},
        "context": {**around._asdict(), "earlier": [dict(one) for one in around.earlier]},
    }
