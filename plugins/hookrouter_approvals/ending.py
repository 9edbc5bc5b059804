"""A permission, a plan or a form has ended: what happened is compared with what was decided.

PostToolUse tells of what ran. Nothing tells of a refusal, so the session's later events look into the transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents, sweeping
from hookrouter.dialogs.closing import end_by_person, end_compared, record_of
from hookrouter.dialogs.handover import Handover
from hookrouter.dialogs.transcript import DECLINED, FAILED, result_text, transcript_of, wait_for_state
from hookrouter.dialogs.verdicts import was_recorded
from hookrouter_approvals.calls import forget_call, forget_calls
from hookrouter_approvals.forms_left import forget_forms
from hookrouter_approvals.names import ELICITATION, PERMISSION, PLAN, QUESTION_TOOL

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.comparison import Comparison
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

KINDS = (PERMISSION, PLAN, ELICITATION)

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
    question = documents.find_question(store, context.session_id, tool_use_id)
    if question is None or question.kind not in KINDS:
        if was_recorded(store, context.session_id, tool_use_id):
            context.note("outcome", "repeated")
        return
    from hookrouter_approvals.comparing import compared, ran

    raw = event.raw
    facts: dict[str, Any] = {"tool_input": raw.get("tool_input") or {}}
    if question.kind == PLAN:
        response = raw.get("tool_response")
        plan = response.get("plan") if isinstance(response, dict) else None
        facts |= {"mode": event.permission_mode, "plan": plan if isinstance(plan, str) else None}
    with documents.holding(store, question.session):
        if not documents.is_open(store, question.session, tool_use_id):
            return
        pending = documents.read_pending(store, question.session, tool_use_id)
        try:
            if pending is None:
                record = _by_person(context, question, ran(**facts))
            else:
                record = _verified(context, question, pending, compared(question, pending.decisions[0], **facts))
            for key, value in record.items():
                context.note(key, value)
        finally:
            documents.remove(store, question.session, tool_use_id)
    Handover.of_call(store, context.session_id, tool_use_id).end()


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


def _verified(context: Context, question: Dialog, pending: PendingAnswer, comparison: Comparison) -> dict[str, object]:
    end_compared(context, question, pending, comparison)
    return {"dialog": question.kind, **record_of(pending, comparison)}


def _by_person(context: Context, question: Dialog, recorded: str) -> dict[str, object]:
    kept = {documents.shown_text(question.questions[0]["question"]): documents.shown_text(recorded)}
    return {"dialog": question.kind, **end_by_person(context, question, kept)}


def settle_refusals(context: Context, patience: float = 0, agent_id: str = "") -> None:
    """Close what has ended in a refusal, as the transcript shows: no hook tells of one.

    ``patience`` is for how many seconds a result may be missing that is due, of the subagent ``agent_id`` or, if that
    is empty, of the main conversation. Each gets a journal record of its own.
    """
    for question in sweeping.open_dialogs(context, KINDS):
        from hookrouter_approvals.comparing import compared_refusal

        path = transcript_of(question.transcript_path, question.agent_id)
        state = wait_for_state(path, question.tool_use_id, patience if question.agent_id == agent_id else 0)
        if state not in (FAILED, DECLINED):
            continue
        with documents.holding(context.store, question.session):
            if not documents.is_open(context.store, question.session, question.tool_use_id):
                continue
            pending = documents.read_pending(context.store, question.session, question.tool_use_id)
            text = result_text(path, question.tool_use_id)
            comparison = None if pending is None else compared_refusal(question, pending.decisions[0], state, text)
            if pending is not None and comparison is not None:
                record = _verified(context, question, pending, comparison)
            elif state == DECLINED:
                record = _by_person(context, question, "deny")
            else:
                # The sweep says what is known of it.
                continue
            documents.remove(context.store, question.session, question.tool_use_id)
        named = {"session_id": question.session_id, "session": question.session, "tool_use_id": question.tool_use_id}
        context.journal.write(
            {"level": "info", "event": "dialog", "hook": context.event, **named, **record}, question.session_id
        )
