"""Opens a dialog: saves it, wakes the session's agent, and closes what was open before and has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.config import INBOX
from hookrouter.dialogs import documents
from hookrouter.dialogs.columns import of_dialog
from hookrouter.dialogs.messages.outgoing import wake
from hookrouter.dialogs.sweeping import close_older
from hookrouter.dialogs.verdicts import delete_verdict
from hookrouter.messaging.pauses import is_paused
from hookrouter.util.claude_process import client_pid, process_space
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Dialog

__all__ = ["Opening", "note_asked", "open_dialog"]


class Opening(NamedTuple):
    """What a hook knows of a dialog; the rest is known from its context."""

    tool_use_id: str
    """Claude Code's id of the tool call that asks."""
    questions: list[dict[str, Any]]
    """The form, see :func:`hookrouter.dialogs.documents.is_form`."""
    transcript_path: str = ""
    """Where Claude Code writes the session's transcript."""
    permission_mode: str = ""
    """The session's permission mode."""
    agent_id: str = ""
    """The subagent that asks; empty for the main conversation."""
    kind: str = documents.FORM
    """What stops the session, see :mod:`hookrouter.dialogs.kinds`."""
    request: Mapping[str, Any] = {}
    """What is to be decided, as the kind has it."""


def open_dialog(context: Context, opening: Opening, *, waits: bool = True) -> Dialog:
    """Save a dialog, put the wake in the outbox, and have it delivered; return what is saved.

    ``waits`` is whether the hook that opens it then waits for the decision.

    While the session is paused it is saved as missed, and nobody is woken; so it is if no agent manages the session
    while config.toml has problems, because the corrected file may name one. The journal record gets what history is to
    know of it (:func:`hookrouter.dialogs.columns.of_dialog`), ``cwd`` and, for a run that finds the dialog saved by an
    earlier run for the same call, ``repeated``. Raises StoreError if the dialog or the wake cannot be saved.
    """
    agent, is_unclear = context.agent, bool(context.config.problems)
    question = documents.Dialog(
        session=context.session,
        session_id=context.session_id,
        terminal=context.terminal,
        # The corrected file may name one.
        agent="" if agent is None else agent.id,
        gateway=INBOX if agent is None else agent.gateway,
        fallbacks=() if agent is None else agent.fallbacks,
        cwd=context.cwd,
        client_pid=client_pid(context.environ),
        client_host=process_space(),
        missed=agent is None or is_paused(context.store, context.session) is not None,
        provisional=is_unclear,
        **opening._asdict(),
    )
    close_older(question, context)
    delete_verdict(context.store, question)
    now = iso()
    question = documents.open_question(context.store, question._replace(saved_at=now), lambda one: wake(one, context))
    if question.saved_at != now:
        context.note("repeated", True)
    context.note("cwd", question.cwd)
    for key, value in of_dialog(question).items():
        context.note(key, value)
    if not question.missed:
        context.start_delivery(after_reply=not waits)
        return question
    # Whoever ended the pause since may have looked for missed questions before this one was there.
    if (
        agent is not None
        and is_paused(context.store, context.session) is None
        and documents.wake_missed(context.store, question, lambda one: wake(one, context))
    ):
        context.start_delivery(after_reply=not waits)
    return question


def note_asked(context: Context, question: Dialog) -> None:
    """Journal at once that a dialog is open, where the record of this run comes later, or is none of a hook's."""
    context.note("dialog", question.kind)
    context.note("tool_use_id", question.tool_use_id)
    context.journal.write(
        {
            "level": "info",
            "event": "dialog",
            "session_id": question.session_id,
            "outcome": "asked",
            "hook": context.event,
            "dialog": question.kind,
            "session": question.session,
            "tool_use_id": question.tool_use_id,
            "cwd": question.cwd,
            **of_dialog(question),
        },
        context.session_id or None,
    )
