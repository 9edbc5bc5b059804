"""A permission, a plan or a form has ended: what happened is compared with what was decided.

PostToolUse tells of what ran. Nothing tells of a refusal, so the session's later events look into the transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import sweeping
from hookrouter.dialogs.closing import end, end_of_call
from hookrouter.dialogs.handover import Handover
from hookrouter.dialogs.transcript import DECLINED, FAILED, result_text, transcript_of, wait_for_state
from hookrouter.dialogs.verdicts import was_recorded
from hookrouter_approvals.calls import forget_call, forget_calls
from hookrouter_approvals.forms_left import forget_forms
from hookrouter_approvals.names import KINDS, QUESTION_TOOL

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.closing import End
    from hookrouter.dialogs.documents import Dialog, PendingAnswer

__all__ = [
    "prompt_submitted",
    "session_ended",
    "session_started",
    "settle_refusals",
    "subagent_ended",
    "tool_ran",
    "turn_ended",
]

_RESULT_SECONDS = 0.5
"""How long a result that is due may take to appear in the transcript (measured: within 0.1 s)."""


def tool_ran(event: events.PostToolUse | events.PostToolUseFailure, context: Context) -> None:
    """Compare what ran with what was decided, and close the dialog.

    The journal record gets the outcome: ``verified``, ``mismatch``, ``answered_by_person`` or ``repeated``.
    """
    store, tool_use_id = context.store, event.tool_use_id
    forget_call(store, context.session_id, tool_use_id)
    if event.tool_name == QUESTION_TOOL:
        # Another plugin's, which has noted its end already if it comes before this one.
        return

    def compare(question: Dialog, pending: PendingAnswer | None) -> End | None:
        from hookrouter_approvals.comparing import call_ended

        raw = event.raw
        tool_input, response = raw.get("tool_input") or {}, raw.get("tool_response")
        return call_ended(question, pending, tool_input=tool_input, mode=event.permission_mode, response=response)

    ended = end_of_call(context, tool_use_id, compare)
    if ended is not None:
        Handover.of_call(store, context.session_id, tool_use_id).end()
    elif was_recorded(store, context.session_id, tool_use_id):
        context.note("outcome", "repeated")


def turn_ended(event: events.Stop, context: Context) -> None:
    """Stop: the main conversation has no call left that waits for permission."""
    if event.agent_id:
        return
    settle_refusals(context, _RESULT_SECONDS)
    sweeping.turn_ended(event, context, KINDS)
    forget_forms(context)
    # Those of subagents may still be asked for.
    forget_calls(context.store, context.session_id, subagents=False)


def subagent_ended(event: events.SubagentStop, context: Context) -> None:
    """SubagentStop: what it was refused has ended, and no hook said so."""
    settle_refusals(context, _RESULT_SECONDS, event.agent_id or "")


def prompt_submitted(event: events.UserPromptSubmit, context: Context) -> None:
    """UserPromptSubmit: what was refused by hand has ended, and no hook said so."""
    if event.agent_id:
        return
    settle_refusals(context)
    sweeping.prompt_submitted(event, context, KINDS)


def session_started(event: events.SessionStart, context: Context) -> None:
    """SessionStart: whatever this session, or a client that is gone, had asked has ended."""
    sweeping.session_started(event, context, KINDS)
    if event.source != "compact":
        forget_calls(context.store, context.session_id)


def session_ended(event: events.SessionEnd, context: Context) -> None:
    """SessionEnd: over in any case."""
    settle_refusals(context)
    sweeping.session_ended(event, context, KINDS)
    forget_forms(context)
    forget_calls(context.store, context.session_id)


def settle_refusals(context: Context, patience: float = 0, agent_id: str = "") -> None:
    """Close what has ended in a refusal, as the transcript shows: no hook tells of one.

    ``patience`` is for how many seconds a result may be missing that is due, of the subagent ``agent_id`` or, if that
    is empty, of the main conversation. Each gets a journal record of its own.
    """
    for question in sweeping.open_dialogs(context, KINDS):
        path = transcript_of(question.transcript_path, question.agent_id)
        state = wait_for_state(path, question.tool_use_id, patience if question.agent_id == agent_id else 0)
        if state not in (FAILED, DECLINED):
            continue
        from hookrouter_approvals.comparing import refused

        compare = refused(state, result_text(path, question.tool_use_id))
        ended = end(context, question, compare, context.event)
        if ended is not None and ended.message:
            context.start_delivery()
