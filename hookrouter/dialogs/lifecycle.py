"""What the events of a session mean for its open dialogs, of every kind: whatever is over is closed, once.

Refused, cancelled or left, a dialog has no PostToolUse. A refusal that the transcript shows is compared with what was
decided, by the dialog's kind; all else that is over has ended without an answer. A dialog whose kind no active plugin
contributes is closed like any other: nobody else looks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents, sweeping
from hookrouter.dialogs.closing import CLIENT_GONE, Ending, close, end
from hookrouter.dialogs.kinds import dialog_kinds
from hookrouter.dialogs.transcript import (
    ANSWERED,
    DECLINED,
    FAILED,
    OPEN,
    UNKNOWN,
    question_state,
    reason_of,
    result_text,
    transcript_of,
    wait_for_state,
)
from hookrouter.dialogs.verdicts import prune_verdicts
from hookrouter.messaging.advice import prune_brought
from hookrouter.util.claude_process import client_pid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.kinds import DialogKind

__all__ = [
    "prompt_submitted",
    "session_ended",
    "session_started",
    "settle_refusals",
    "subagent_ended",
    "turn_ended",
]

_RESULT_SECONDS = 0.5
"""How long a result that is due may take to appear in the transcript (measured: within 0.1 s)."""


def turn_ended(event: events.Stop, context: Context) -> None:
    """Stop: the main conversation cannot end its turn while it waits for an answer."""
    if event.agent_id:
        return
    endings = []
    for question in _unrefused(context, sweeping.open_dialogs(context), _RESULT_SECONDS):
        state = wait_for_state(question.transcript_path, question.tool_use_id, _RESULT_SECONDS)
        # A subagent may go on asking after the main conversation's turn, and its calls have a transcript of their own.
        if state == OPEN or (question.agent_id and state == UNKNOWN):
            continue
        endings.append(Ending(question, reason_of(state) or "Claude's turn ended without an answer", state))
    close(context, endings)


def subagent_ended(event: events.SubagentStop, context: Context) -> None:
    """SubagentStop: what it was refused has ended, and no hook said so."""
    settle_refusals(context, _RESULT_SECONDS, event.agent_id or "")


def prompt_submitted(event: events.UserPromptSubmit, context: Context) -> None:
    """UserPromptSubmit: over, unless the prompt was typed before the dialog was drawn, and waits behind it."""
    if event.agent_id:
        return
    endings = []
    for question in _unrefused(context, sweeping.open_dialogs(context)):
        state = question_state(question.transcript_path, question.tool_use_id)
        # An answered question's PostToolUse may still be on its way.
        if state in (OPEN, ANSWERED):
            continue
        if state == UNKNOWN and (question.agent_id or documents.is_young(question)):
            continue
        endings.append(Ending(question, reason_of(state) or "a new prompt was given instead of an answer", state))
    close(context, endings)


def session_started(event: events.SessionStart, context: Context) -> None:
    """SessionStart: whatever this session, or a client that is gone, had asked has ended."""
    if event.agent_id:
        return
    endings = []
    pid = client_pid(context.environ)
    for question, _ in _of_turns(context, sweeping.settled(context, documents.list_questions)):
        if sweeping.is_anothers(question, pid):
            # A session may be resumed by a second client while the first one runs.
            continue
        if question.session_id == context.session_id:
            # Compaction starts a session again in the middle of a turn, while a subagent may be asking.
            if event.source == "compact" and question.agent_id:
                continue
            endings.append(Ending(question, f"the session was started again ({event.source}) without an answer"))
        elif question.session == context.session and sweeping.is_replaced(question, pid, context.terminal):
            endings.append(Ending(question, "another session was started in its place without an answer"))
        elif documents.is_client_gone(question):
            endings.append(Ending(question, CLIENT_GONE))
    close(context, endings)
    prune_verdicts(context.store)
    prune_brought(context.store)


def session_ended(event: events.SessionEnd, context: Context) -> None:
    """SessionEnd: over in any case."""
    reason = f"the session ended ({event.reason}) without an answer"
    close(context, [Ending(one, reason) for one in _unrefused(context, sweeping.open_dialogs(context))])


def settle_refusals(context: Context, patience: float = 0, agent_id: str = "") -> None:
    """Close what has ended in a refusal that its kind can compare, as the transcript shows; leave all else open.

    ``patience`` is for how many seconds a result may be missing that is due, of the subagent ``agent_id`` or, if that
    is empty, of the main conversation. Raises StoreError.
    """
    for _ in _unrefused(context, sweeping.open_dialogs(context), patience, agent_id):
        pass


def _unrefused(context: Context, questions: list[Dialog], patience: float = 0, agent_id: str = "") -> Iterator[Dialog]:
    """Yield the dialogs of turns, without those whose refusal is compared, and closed, here."""
    for question, kind in _of_turns(context, questions):
        if kind is None or not kind.compares_refusals or not _is_refused(context, question, kind, patience, agent_id):
            yield question


def _is_refused(context: Context, question: Dialog, kind: DialogKind, patience: float, agent_id: str) -> bool:
    """Whether the transcript shows a refusal that the kind compares; the dialog is closed then."""
    path = transcript_of(question.transcript_path, question.agent_id)
    state = wait_for_state(path, question.tool_use_id, patience if question.agent_id == agent_id else 0)
    if state not in (FAILED, DECLINED):
        return False
    told = result_text(path, question.tool_use_id)
    ended = end(context, question, lambda one, pending: kind.refused(one, pending, state, told), context.event)
    if ended is not None and ended.message:
        context.start_delivery()
    return ended is not None


def _of_turns(context: Context, questions: list[Dialog]) -> Iterator[tuple[Dialog, DialogKind | None]]:
    """Yield the dialogs that a turn waits for, each with its kind; nothing is asked of any plugin if none is open."""
    kinds = dialog_kinds(context.plugins) if questions else {}
    for question in questions:
        kind = kinds.get(question.kind)
        if kind is None or kind.is_of_turn:
            yield question, kind
