"""The life of a permission, a plan or a form as hooks see it: requested, decided, and seen to have happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents, sweeping
from hookrouter.dialogs.closing import note_end, verdict_of
from hookrouter.dialogs.handover import Handover
from hookrouter.dialogs.messages.outgoing import tell_mismatch
from hookrouter.dialogs.opening import open_dialog
from hookrouter.dialogs.transcript import DECLINED, FAILED, result_text, transcript_of, wait_for_state
from hookrouter.dialogs.unmanaged import say_unmanaged
from hookrouter.dialogs.verdicts import was_recorded
from hookrouter.dialogs.waiting import wait_for_answer
from hookrouter.messaging.pauses import is_paused
from hookrouter.replies import ElicitationReply, PermissionRequestReply
from hookrouter_approvals.calls import find_calls, forget_call, forget_calls
from hookrouter_approvals.comparing import compared, compared_refusal, ran
from hookrouter_approvals.requests import (
    ELICITATION,
    PERMISSION,
    PLAN,
    form_request,
    permission_request,
    plan_request,
)
from hookrouter_approvals.rules import ALLOW, DENY, PERSON, ruling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import PendingAnswer, Question
    from hookrouter.dialogs.opening import Opening
    from hookrouter_approvals.rules import Ruling

__all__ = [
    "form_requested",
    "permission_requested",
    "prompt_submitted",
    "session_ended",
    "session_started",
    "subagent_ended",
    "tool_ran",
    "turn_ended",
]

KINDS = (PERMISSION, PLAN, ELICITATION)

_RESULT_SECONDS = 0.5
"""How long a result that is due may take to appear in the transcript (measured: within 0.1 s)."""

_PLAN_TOOL = "ExitPlanMode"
_QUESTION_TOOL = "AskUserQuestion"
_REFUSAL = "A rule of the user forbids this."


def permission_requested(event: events.PermissionRequest, context: Context) -> PermissionRequestReply | None:
    """Decide by the rules, or open a dialog and wait for the decision; None leaves it to the person.

    Raises StoreError if the state folder fails; then the dialog stays.
    """
    if event.tool_name == _QUESTION_TOOL:
        return None
    tool_input: Mapping[str, Any] = event.raw.get("tool_input") or {}
    found = _ruling(context, event.tool_name, tool_input)
    if found is None:
        return None
    if found.decide == ALLOW:
        return PermissionRequestReply.allow(updated_input=tool_input if event.tool_name == _PLAN_TOOL else None)
    if found.decide == DENY:
        return PermissionRequestReply.deny(f"{_REFUSAL} ({found.rule})")
    calls = find_calls(event, context)
    if len(calls) != 1:
        context.note("level", "warning")
        why = "no call was seen to begin that this could be about" if not calls else f"it could be any of {calls}"
        context.note("reason", f"left to the person at the terminal: {why}")
        return None
    build = plan_request if event.tool_name == _PLAN_TOOL else permission_request
    question = _open(context, build(event, calls[0], found.rule))
    handover = Handover.of_call(context.store, context.session_id, question.tool_use_id)
    return wait_for_answer(
        context, handover, lambda answer: _permission_reply(question, answer), agent_id=question.agent_id
    )


def form_requested(event: events.Elicitation, context: Context) -> ElicitationReply | None:
    """Decide by the rules, or open a dialog and wait a while; None lets Claude Code draw it.

    The dialog is drawn only after the hook, so the wait is short, and the document goes with it.
    """
    found = _ruling(context, "Elicitation", {"server": event.mcp_server_name})
    if found is None or found.decide == ALLOW:
        # There is nothing to allow: somebody must say what stands in the form.
        return None
    if found.decide == DENY:
        return ElicitationReply.decline()
    from hookrouter.util.filenames import digest
    from hookrouter_approvals.settings import ApprovalsSettings

    own_id = f"elicitation_{digest(f'{context.session_id} {event.elicitation_id or documents.new_id()}')[:16]}"
    question = _open(context, form_request(event, own_id, found.rule))
    reply = wait_for_answer(
        context,
        Handover.of_call(context.store, context.session_id, own_id),
        lambda answer: _form_reply(answer, question, context),
        longest=context.settings(ApprovalsSettings).elicitation_wait,
    )
    if reply is None and documents.is_open(context.store, question.session, own_id):
        _close(context, question, "unanswered", "nobody decided in time, so the dialog was opened", by="nobody")
    return reply


def tool_ran(event: events.PostToolUse | events.PostToolUseFailure, context: Context) -> None:
    """Compare what ran with what was decided, and close the dialog.

    The journal record gets the outcome: ``verified``, ``mismatch``, ``answered_by_person`` or ``repeated``.
    """
    store, tool_use_id = context.store, event.tool_use_id
    forget_call(store, context.session_id, tool_use_id)
    question = documents.find_question(store, context.session_id, tool_use_id)
    if question is None or question.kind not in KINDS:
        if was_recorded(store, context.session_id, tool_use_id):
            context.note("outcome", "repeated")
        return
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
    _settle_refusals(context, _RESULT_SECONDS)
    sweeping.turn_ended(event, context, KINDS)
    # Those of subagents may still be asked for.
    forget_calls(context.store, context.session_id, subagents=False)


def subagent_ended(event: events.SubagentStop, context: Context) -> None:
    """SubagentStop: what it was refused has ended, and no hook said so."""
    _settle_refusals(context, _RESULT_SECONDS, event.agent_id or "")


def prompt_submitted(event: events.UserPromptSubmit, context: Context) -> None:
    """UserPromptSubmit: what was refused by hand has ended, and no hook said so."""
    if event.agent_id:
        return
    _settle_refusals(context)
    sweeping.prompt_submitted(event, context, KINDS)


def session_started(event: events.SessionStart, context: Context) -> None:
    """SessionStart: whatever this session, or a client that is gone, had asked has ended."""
    sweeping.session_started(event, context, KINDS)
    if event.source != "compact":
        forget_calls(context.store, context.session_id)


def session_ended(event: events.SessionEnd, context: Context) -> None:
    """SessionEnd: over in any case."""
    _settle_refusals(context)
    sweeping.session_ended(event, context, KINDS)
    forget_calls(context.store, context.session_id)


def _ruling(context: Context, tool: str, tool_input: Mapping[str, Any]) -> Ruling | None:
    """Return who decides; None, and the reason in the journal, if it is left to the person at the terminal."""
    found = ruling(context.config.approvals.rules, tool, tool_input, context.cwd)
    agent = context.agent
    if agent is None:
        # A session that is nobody's business is left alone, by rules too.
        if found.decide == PERSON:
            context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        else:
            say_unmanaged(context)
        return None
    context.note("rule", {"tool": found.rule, "decide": found.decide})
    if found.decide == PERSON and not agent.is_person:
        context.debug(f"the rules leave {tool} to a person")
        return None
    if found.decide in (ALLOW, DENY) and is_paused(context.store, context.session) is not None:
        context.debug("the session is paused, so nothing is decided")
        return None
    if context.config.problems and found.decide == ALLOW:
        context.debug("config.toml has problems, so its rules allow nothing")
        return None
    return found


def _open(context: Context, opening: Opening) -> Question:
    """Save and tell, and journal it at once: the hook's own record comes when its wait is over."""
    question = open_dialog(context, opening)
    context.note("dialog", question.kind)
    context.note("tool_use_id", question.tool_use_id)
    context.journal.write(
        {
            "level": "info",
            "event": context.event,
            "session_id": question.session_id,
            "outcome": "asked",
            "dialog": question.kind,
            "session": question.session,
            "tool_use_id": question.tool_use_id,
            "asked_at": question.saved_at,
            "agent": question.agent,
            "cwd": question.cwd,
            "missed": question.missed,
            "questions": documents.shown_form(question.questions),
        },
        context.session_id or None,
    )
    return question


def _permission_reply(question: Question, answer: Mapping[str, Any]) -> PermissionRequestReply | None:
    """Return the reply that a decision is given as; None for what cannot be used."""
    decision = answer.get("decision")
    if not isinstance(decision, dict):
        return None
    action, tool_input = decision.get("action"), question.request.get("input") or {}
    if action in ("deny", "revise"):
        return PermissionRequestReply.deny(str(decision["text"]), interrupt=decision.get("stop") is True)
    if action == "allow":
        number = decision.get("always")
        always = [question.request["suggestions"][number]] if isinstance(number, int) else None
        return PermissionRequestReply.allow(updated_input=decision.get("input"), updated_permissions=always)
    if action != "approve":
        return None
    # Without its own input the client ignores the approval of a plan.
    plan = {"plan": decision["plan"]} if "plan" in decision else {}
    mode = {"type": "setMode", "mode": decision.get("mode"), "destination": "session"}
    return PermissionRequestReply.allow(
        updated_input={**tool_input, **plan}, updated_permissions=[mode] if "mode" in decision else None
    )


def _form_reply(answer: Mapping[str, Any], question: Question, context: Context) -> ElicitationReply | None:
    """Return the reply to a server's form, and see that its end is noted once it is written: nothing else tells it."""
    decision = answer.get("decision")
    action = decision.get("action") if isinstance(decision, dict) else None
    if not isinstance(decision, dict) or action not in ("submit", "decline", "cancel"):
        return None
    by = "person" if answer.get("by") == "person" else "agent"
    context.after_reply(lambda: _form_replied(context, question, decision, by))
    if action == "submit":
        return ElicitationReply.accept(decision.get("content") or {})
    return ElicitationReply.decline() if action == "decline" else ElicitationReply.cancel()


def _form_replied(context: Context, question: Question, decision: Mapping[str, Any], by: str) -> None:
    """Close a form whose answer is written to Claude Code."""
    from hookrouter.dialogs.comparison import Comparison, QuestionResult
    from hookrouter_approvals.comparing import meaning

    said = meaning(decision)
    result = QuestionResult(question.questions[0]["question"], "match", said, said)
    comparison = Comparison(True, "reply", (result,), (), "")
    with documents.holding(context.store, question.session):
        if not documents.is_open(context.store, question.session, question.tool_use_id):
            return
        pending = documents.read_pending(context.store, question.session, question.tool_use_id)
        who = pending.who if pending is not None else ""
        fields = {"by": by, "who": who, "channel": "reply", "verification": comparison.document()}
        note_end(context, verdict_of(question, "verified", **fields))
        documents.remove(context.store, question.session, question.tool_use_id)


def _verified(
    context: Context, question: Question, pending: PendingAnswer, comparison: Comparison
) -> dict[str, object]:
    """Note the verdict on a decision, tell the agent if something else has happened, and return it for the journal."""
    outcome = "verified" if comparison.matches else "mismatch"
    record: dict[str, object] = {"dialog": question.kind, "outcome": outcome, "verification": comparison.document()}
    record["channel"] = pending.channel
    if pending.by == "person":
        # Not "by": that is whose decision a hook's reply was.
        record |= {"answered_by": pending.by, "who": pending.who}
    if not comparison.matches:
        record |= {"level": "warning", "reason": comparison.reason}
    verdict = verdict_of(question, outcome, reason=comparison.reason, by=pending.by, who=pending.who)
    note_end(context, verdict._replace(channel=pending.channel, verification=comparison.document()))
    # A person's own command shows them both sides; the agent has decided nothing here.
    if not comparison.matches and pending.by != "person":
        tell_mismatch(context, question, comparison)
        context.start_delivery()
    return record


def _by_person(context: Context, question: Question, recorded: str) -> dict[str, object]:
    """Note that a person has decided at the terminal, and return it for the journal."""
    kept = {documents.shown_text(question.questions[0]["question"]): documents.shown_text(recorded)}
    note_end(context, verdict_of(question, "answered_by_person", by="person", recorded=kept))
    return {"dialog": question.kind, "outcome": "answered_by_person", "recorded": kept}


def _settle_refusals(context: Context, patience: float = 0, agent_id: str = "") -> None:
    """Close what has ended in a refusal, as the transcript shows: no hook tells of one.

    ``patience`` is for how many seconds a result may be missing that is due, of the subagent ``agent_id`` or, if that
    is empty, of the main conversation. Each gets a journal record of its own.
    """
    for question in sweeping.open_dialogs(context, KINDS):
        path = transcript_of(question.transcript_path, question.agent_id)
        state = wait_for_state(path, question.tool_use_id, patience if question.agent_id == agent_id else 0)
        if state not in (FAILED, DECLINED):
            continue
        with documents.holding(context.store, question.session):
            if not documents.is_open(context.store, question.session, question.tool_use_id):
                continue
            pending = documents.read_pending(context.store, question.session, question.tool_use_id)
            told = result_text(path, question.tool_use_id)
            comparison = None if pending is None else compared_refusal(question, pending.decisions[0], state, told)
            if pending is not None and comparison is not None:
                record = _verified(context, question, pending, comparison)
            elif state == DECLINED:
                record = _by_person(context, question, "deny")
            else:
                # The sweep says what is known of it.
                continue
            documents.remove(context.store, question.session, question.tool_use_id)
        named = {"session_id": question.session_id, "session": question.session, "tool_use_id": question.tool_use_id}
        context.journal.write({"level": "info", "event": context.event, **named, **record}, question.session_id)


def _close(context: Context, question: Question, outcome: str, reason: str, *, by: str) -> None:
    with documents.holding(context.store, question.session):
        note_end(context, verdict_of(question, outcome, reason=reason, by=by))
        documents.remove(context.store, question.session, question.tool_use_id)
