"""Forms of MCP servers that are left to a person, who fills them in, and ElicitationResult tells what.

If nobody decided in time the form's own document is closed by then, because no agent can answer any more. If the form
could not be saved, a document that is open says that it is there. ElicitationResult names no form but its server, so
what it tells is noted only if one form of that server was left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents
from hookrouter.dialogs.closing import by_person, end, note_end
from hookrouter.dialogs.columns import of_dialog
from hookrouter.dialogs.verdicts import Verdict
from hookrouter.storage.home import DocumentKind
from hookrouter.util import fastjson
from hookrouter.util.fields import table, text
from hookrouter_approvals.names import ELICITATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore

__all__ = ["forget_forms", "form_answered", "forms_left", "note_left"]

LEFT = DocumentKind("form-left", shared=True)
"""The kind of the documents about forms that were left to a person, named by session and form."""


def note_left(store: DocumentStore, question: Dialog) -> None:
    """Note that a form's dialog opens for a person now. Raises StoreError."""
    left = {
        "session": question.session,
        "session_id": question.session_id,
        "tool_use_id": question.tool_use_id,
        "agent": question.agent,
        "saved_at": question.saved_at,
        "server": str(question.request.get("server", "")),
        "question": question.questions[0]["question"],
        "asked": of_dialog(question),
    }
    store.write(LEFT, f"{question.session_id}:{question.tool_use_id}", left)


def form_answered(event: events.ElicitationResult, context: Context) -> None:
    """Note what a person has answered at the terminal, of a form that was left. Raises StoreError.

    The journal gets a record with the outcome ``answered_by_person``.
    """
    left = [(name, one) for name, one in forms_left(context) if one.get("server") == event.mcp_server_name]
    for name, _ in left:
        context.store.delete(LEFT, name)
    said = event.action if event.content is None else f"{event.action} {fastjson.dumps(dict(event.content))}"
    if len(left) == 1:
        _note_answer(context, left[0][1], said)
    for question in documents.near(context.store, context.session_id):
        if question.kind == ELICITATION and question.request.get("unsaved"):
            answered = by_person(_recorded(question.questions[0]["question"], said))
            end(context, question, lambda *_, answered=answered: answered, context.event)


def _note_answer(context: Context, left: Mapping[str, Any], said: str) -> None:
    """Note what a person has answered to a form, given as :func:`note_left` has it."""
    recorded = _recorded(text(left, "question"), said)
    session, session_id, tool_use_id, agent, asked_at = (
        text(left, key) for key in ("session", "session_id", "tool_use_id", "agent", "saved_at")
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
        asked=table(left, "asked") or {},
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


def _recorded(question: str, said: str) -> dict[str, str]:
    return {documents.shown_text(question): documents.shown_text(said)}


def forget_forms(context: Context) -> None:
    """Forget what was left in a turn, or a session, that has ended. Raises StoreError."""
    for name, _ in forms_left(context):
        context.store.delete(LEFT, name)


def forms_left(context: Context) -> list[tuple[str, Mapping[str, Any]]]:
    """Return what was left to a person in this session, by the names of the documents. Raises StoreError."""
    entries = context.store.entries(LEFT, lambda name: name.startswith(f"{context.session_id}:"))
    return [(name, document) for name, document in entries if document.get("session_id") == context.session_id]
