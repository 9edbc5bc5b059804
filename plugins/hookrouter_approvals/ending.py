"""A call, a turn or a session has ended: what ran is compared with what was decided, and what was noted is forgotten.

Nothing tells of a refusal, so the session's later events look into the transcript: :mod:`hookrouter.dialogs.lifecycle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs.closing import end_of_call
from hookrouter.dialogs.handover import Handover
from hookrouter.dialogs.verdicts import was_recorded
from hookrouter_approvals.calls import forget_call, forget_calls
from hookrouter_approvals.forms_left import forget_forms
from hookrouter_approvals.names import QUESTION_TOOL

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.closing import End
    from hookrouter.dialogs.documents import Dialog, PendingAnswer

__all__ = ["session_ended", "session_started", "tool_ran", "turn_ended"]


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
    forget_forms(context)
    # Those of subagents may still be asked for.
    forget_calls(context.store, context.session_id, subagents=False)


def session_started(event: events.SessionStart, context: Context) -> None:
    """SessionStart: no call goes on, unless in the middle of a turn."""
    if event.source != "compact":
        forget_calls(context.store, context.session_id)


def session_ended(context: Context) -> None:
    """SessionEnd: over in any case."""
    forget_forms(context)
    forget_calls(context.store, context.session_id)
