"""Forms of MCP servers that nobody decided on in time: a person fills them in, and ElicitationResult tells what.

The form's own document is closed by then, because no agent can answer any more. ElicitationResult names no form but its
server, so what it tells is noted only if one form of that server was left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents
from hookrouter.dialogs.closing import note_end
from hookrouter.dialogs.verdicts import Verdict
from hookrouter.util import fastjson
from hookrouter_approvals.names import ELICITATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Question
    from hookrouter.storage.interface import DocumentStore

__all__ = ["forget_forms", "form_answered", "note_left"]

LEFT = "form-left"
"""The kind of the documents about forms that were left to a person, named by session and form."""


def note_left(store: DocumentStore, question: Question) -> None:
    """Note that a form's dialog opens for a person now. Raises StoreError."""
    document = {
        "session": question.session,
        "session_id": question.session_id,
        "tool_use_id": question.tool_use_id,
        "agent": question.agent,
        "saved_at": question.saved_at,
        "server": question.request.get("server", ""),
        "question": question.questions[0]["question"],
    }
    store.write(LEFT, f"{question.session_id}:{question.tool_use_id}", document)


def form_answered(event: events.ElicitationResult, context: Context) -> None:
    """Note what a person has answered at the terminal, of a form that was left. Raises StoreError.

    The journal gets a record with the outcome ``answered_by_person``.
    """
    left = [(name, one) for name, one in _left(context) if one.get("server") == event.mcp_server_name]
    for name, _ in left:
        context.store.delete(LEFT, name)
    if len(left) != 1:
        return
    [(_, one)] = left
    said = event.action if event.content is None else f"{event.action} {fastjson.dumps(dict(event.content))}"
    recorded = {documents.shown_text(str(one.get("question"))): documents.shown_text(said)}
    session, session_id, tool_use_id, agent, asked_at = (
        str(one.get(key, "")) for key in ("session", "session_id", "tool_use_id", "agent", "saved_at")
    )
    verdict = Verdict(
        session=session,
        session_id=session_id,
        tool_use_id=tool_use_id,
        outcome="answered_by_person",
        by="person",
        recorded=recorded,
        agent=agent,
        asked_at=asked_at,
        kind=ELICITATION,
    )
    note_end(context, verdict)
    record: dict[str, Any] = {
        "level": "info",
        "event": "dialog",
        "hook": context.event,
        "session": session,
        "session_id": session_id,
        "tool_use_id": tool_use_id,
        "dialog": ELICITATION,
        "outcome": "answered_by_person",
        "recorded": recorded,
    }
    context.journal.write(record, session_id)


def forget_forms(context: Context) -> None:
    """Forget what was left in a turn, or a session, that has ended. Raises StoreError."""
    for name, _ in _left(context):
        context.store.delete(LEFT, name)


def _left(context: Context) -> list[tuple[str, Mapping[str, Any]]]:
    entries = context.store.entries(LEFT, lambda name: name.startswith(f"{context.session_id}:"))
    return [(name, document) for name, document in entries if document.get("session_id") == context.session_id]
