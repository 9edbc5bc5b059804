"""Which tool call a permission request is about: PreToolUse notes each call, because the request has no id of it.

``call-<session id>:<tool_use_id>`` is removed once the call has ended. A request is about a noted call of the same
session, tool, input and prompt. If two are, nobody can tell which, and the decision is left to the person.
"""

from __future__ import annotations

from hookrouter.dialogs.documents import find_question, is_elsewhere
from hookrouter.dialogs.handover import Handover
from hookrouter.dialogs.transcript import OPEN, UNKNOWN, OpenCall, question_state, transcript_of
from hookrouter.util.clock import iso, now
from hookrouter_approvals.noting import CALL, call_name, input_digest, note

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore

__all__ = [
    "find_calls",
    "forget_call",
    "forget_calls",
    "note_unsaved",
    "other_calls",
]

KEPT_SECONDS = 24 * 3600.0
"""After so long a call of a client that was killed is forgotten."""


def note_unsaved(calls: Sequence[OpenCall], context: Context) -> None:
    """Note the calls, found in the transcript, whose hook could not: keys ask for what else may be on the screen.

    Raises StoreError.
    """
    for call in calls:
        if context.store.read(CALL, call_name(context.session_id, call.tool_use_id)) is None:
            note(context, call.tool_use_id, call.tool, call.tool_input, call.agent_id)


def find_calls(event: events.PermissionRequest, context: Context) -> list[str]:
    """Return the ids of the calls that a request may be about. Raises StoreError.

    One whose hook waits already is none of them. One whose dialog is open while no hook waits may be: a hook that was
    killed, with its router, is called again.
    """
    wanted = (event.tool_name, input_digest(event.tool_input), event.prompt_id or "", event.agent_id or "")
    transcript = transcript_of(event.transcript_path or "", event.agent_id or "")
    found = []
    for name, document in _entries(context.store, context.session_id):
        tool_use_id = str(document.get("tool_use_id"))
        if tuple(document.get(key) for key in ("tool", "input", "prompt_id", "agent_id")) != wanted:
            continue
        state = question_state(transcript, tool_use_id)
        if state not in (OPEN, UNKNOWN):
            # It has ended, and no hook has told.
            context.store.delete(CALL, name)
        elif (
            find_question(context.store, context.session_id, tool_use_id) is None
            or Handover.of_call(context.store, context.session_id, tool_use_id).waiting() is None
        ):
            found.append(tool_use_id)
    return found


def other_calls(store: DocumentStore, question: Dialog) -> list[Mapping[str, Any]]:
    """Return what the client of a dialog may be asking for instead, as requests. Raises StoreError.

    That is each other call of its session that has begun and not ended. One without an input may look like anything of
    its tool: it was too long to be noted.
    """
    found: list[Mapping[str, Any]] = []
    for _, document in _entries(store, question.session_id):
        tool_use_id = str(document.get("tool_use_id"))
        transcript = transcript_of(question.transcript_path, str(document.get("agent_id") or ""))
        if tool_use_id == question.tool_use_id or question_state(transcript, tool_use_id) not in (OPEN, UNKNOWN):
            continue
        other = find_question(store, question.session_id, tool_use_id)
        if other is not None and is_elsewhere(question, other):
            # Of a second client, which has resumed the session in a pane of its own.
            continue
        if other is not None:
            found.append(other.request)
        else:
            asked = {"input": document["asked"]} if isinstance(document.get("asked"), dict) else {}
            found.append({"tool": document.get("tool"), **asked})
    return found


def forget_call(store: DocumentStore, session_id: str, tool_use_id: str) -> None:
    """Forget a call that has ended. Raises StoreError."""
    store.delete(CALL, call_name(session_id, tool_use_id))


def forget_calls(store: DocumentStore, session_id: str, *, subagents: bool = True) -> None:
    """Forget the calls of a session that has none any more, and those that are too old. Raises StoreError.

    Without ``subagents`` those of the session's subagents are kept.
    """
    earliest = iso(now() - KEPT_SECONDS)
    for name, document in store.entries(CALL):
        is_over = document.get("session_id") == session_id and (subagents or not document.get("agent_id"))
        if is_over or str(document.get("at") or "") < earliest:
            store.delete(CALL, name)


def _entries(store: DocumentStore, session_id: str) -> list[tuple[str, Mapping[str, Any]]]:
    entries = store.entries(CALL, lambda name: name.startswith(f"{session_id}:"))
    return [(name, document) for name, document in entries if document.get("session_id") == session_id]
