"""A permission, a plan or a form is requested: decided by the rules, or saved and told, and waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents
from hookrouter.dialogs.closing import End, end
from hookrouter.dialogs.handover import Handover
from hookrouter.dialogs.lifecycle import settle_refusals
from hookrouter.dialogs.opening import note_asked, open_dialog
from hookrouter.dialogs.unmanaged import say_unmanaged
from hookrouter.dialogs.waiting import may_wait, wait_for_answer
from hookrouter.messaging.pauses import is_paused
from hookrouter.permission_rules.judging import Call, Rules, with_project
from hookrouter.replies import ElicitationReply, PermissionRequestReply
from hookrouter.shell.reader import client_shell
from hookrouter_approvals.calls import find_calls
from hookrouter_approvals.forms_left import note_left
from hookrouter_approvals.names import QUESTION_TOOL
from hookrouter_approvals.requests import form_request, permission_request, plan_request, proposal
from hookrouter_approvals.rules import ALLOW, DENY, PERSON, Ruling
from hookrouter_approvals.settings import ApprovalsSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.opening import Opening

__all__ = ["PLAN_TOOL", "form_requested", "is_decidable", "permission_requested", "placed", "ruled"]

PLAN_TOOL = "ExitPlanMode"
_FREE_IN_PLANS = (PLAN_TOOL, "Read")
"""The tools whose dialogs in plan mode are those of any mode."""
_REFUSAL = "A rule of the user forbids this."


def permission_requested(event: events.PermissionRequest, context: Context) -> PermissionRequestReply | None:
    """Decide by the rules, or open a dialog and wait for the decision; None leaves it to the person.

    Raises StoreError if the state folder fails; then the dialog stays.
    """
    if event.tool_name == QUESTION_TOOL:
        return None
    tool_input: Mapping[str, Any] = event.raw.get("tool_input") or {}
    found = ruled(context, event.tool_name, tool_input)
    if found is None:
        return None
    if found.decide == ALLOW:
        if event.permission_mode == "plan" and event.tool_name not in _FREE_IN_PLANS:
            # Its dialog is the plan mode's own, and an allow would pass it (2.1.332).
            context.debug("the session is in plan mode, which a rule does not lift")
            return None
        return PermissionRequestReply.allow(updated_input=tool_input if event.tool_name == PLAN_TOOL else None)
    if found.decide == DENY:
        return PermissionRequestReply.deny(f"{_REFUSAL} ({found.rule})")
    if not is_decidable(context):
        return None
    calls = find_calls(event, context)
    if len(calls) != 1:
        context.note("level", "warning")
        why = "no call was seen to begin that this could be about" if not calls else f"it could be any of {calls}"
        context.note("reason", f"left to the person at the terminal: {why}")
        return None
    build = plan_request if event.tool_name == PLAN_TOOL else permission_request
    question = _open(context, build(event, calls[0], found.rule, context.config.approvals.rules), found)
    handover = Handover.of_call(context.store, context.session_id, question.tool_use_id)
    # Of a subagent's call Claude Code draws the dialog after the hook (2.1.332), and a person may always be first.
    is_unseen = question.agent_id and (question.is_reserved or _keys_may(context))
    return wait_for_answer(
        context,
        handover,
        lambda answer: _permission_reply(question, answer),
        agent_id=question.agent_id,
        longest=context.settings(ApprovalsSettings).unseen_wait if is_unseen else float("inf"),
    )


def is_decidable(context: Context) -> bool:
    """Whether a decision could be given: to this hook, by keys in a known terminal, or by another channel."""
    if may_wait(context):
        return True
    others = [channel for channel in context.config.answer.channels if channel != "reply"]
    # What another channel needs is not known here.
    return any(channel != "keys" for channel in others) or _keys_may(context)


def _keys_may(context: Context) -> bool:
    """Whether keys could decide in a dialog that is drawn."""
    return "keys" in context.config.answer.channels and context.terminal is not None


def form_requested(event: events.Elicitation, context: Context) -> ElicitationReply | None:
    """Decide by the rules, or open a dialog and wait a while; None lets Claude Code draw it.

    The dialog is drawn only after the hook, so the wait is short, and the document goes with it.
    """
    found = ruled(context, "Elicitation", {"server": event.mcp_server_name})
    if found is None or found.decide == ALLOW:
        # There is nothing to allow: somebody must say what stands in the form.
        return None
    if found.decide == DENY:
        return ElicitationReply.decline()
    if not may_wait(context):
        return None
    own_id = _own_id(event, context)
    question, settings = (
        _open(context, form_request(event, own_id, found.rule), found),
        context.settings(ApprovalsSettings),
    )
    reply = wait_for_answer(
        context,
        Handover.of_call(context.store, context.session_id, own_id),
        _form_reply,
        longest=settings.unseen_wait if question.is_reserved else settings.elicitation_wait,
        taken=lambda answer: context.after_reply(lambda: _form_replied(context, question, answer)),
    )
    left = End("unanswered", "nobody decided in time, so the dialog was opened", by="nobody")
    if reply is None and end(context, question, lambda *_: left) is not None:
        note_left(context.store, question)
    return reply


def _own_id(event: events.Elicitation, context: Context) -> str:
    """Return an id for a form, which has none of Claude Code's: a hook that is called again finds the same one."""
    from hookrouter.dialogs.verdicts import list_verdicts
    from hookrouter.util.filenames import digest
    from hookrouter_approvals.noting import input_digest

    words = {"server": event.mcp_server_name, "message": event.message, "schema": event.raw.get("requested_schema")}
    base = digest(f"{context.session_id} {event.elicitation_id} {input_digest(words)}")[:16]
    ended = {one.tool_use_id for one in list_verdicts(context.store) if one.session_id == context.session_id}
    number = 1
    while True:
        own_id = f"elicitation_{base}_{number}"
        is_open = documents.find_question(context.store, context.session_id, own_id) is not None
        waits = Handover.of_call(context.store, context.session_id, own_id).waiting() is not None
        # The same form may be asked again, and at once.
        if own_id not in ended and not (is_open and waits):
            return own_id
        number += 1


def ruled(context: Context, tool: str, tool_input: Mapping[str, Any]) -> Ruling | None:
    """Return who decides on a call; None, and the reason in the journal, if the person at the terminal does."""
    rules, shell = context.config.approvals.rules, client_shell(context.environ)
    call = Call(tool, tool_input, context.project, context.cwd, shell)
    users = Rules.of(rules).judge(call)
    judged = with_project(users, context.config, call) or users
    found = Ruling(judged.decide, judged.rule)
    agent = context.agent
    if agent is None:
        # A session that is nobody's business is left alone, by rules too.
        if found.decide == PERSON:
            context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        else:
            say_unmanaged(context)
        return None
    context.note("rule", {"tool": found.rule, "decide": found.decide})
    if found.decide == PERSON and not agent.is_person and not found.rule:
        context.debug(f"no rule is about this call of {tool}, so the person at the terminal decides")
        return None
    if found.decide in (ALLOW, DENY) and is_paused(context.store, context.session) is not None:
        context.debug("the session is paused, so nothing is decided")
        return None
    if context.config.problems and found.decide == ALLOW:
        context.debug("config.toml has problems, so its rules allow nothing")
        return None
    return found


def placed(opening: Opening, found: Ruling, context: Context) -> Opening:
    """Return what is asked with the folder that rules are about, and who decides, if no agent may."""
    is_reserved = found.decide == PERSON and context.agent is not None and not context.agent.is_person
    decider = {"decider": PERSON} if is_reserved else {}
    place = {"folder": context.project, "shell": client_shell(context.environ)}
    return opening._replace(request={**opening.request, **place, **decider})


def _open(context: Context, opening: Opening, found: Ruling) -> Dialog:
    """Save and tell, and journal it at once: the hook's own record comes when its wait is over."""
    # What was refused before this has ended, and only the transcript says how.
    settle_refusals(context)
    question = open_dialog(context, placed(opening, found, context))
    note_asked(context, question)
    return question


def _permission_reply(question: Dialog, answer: Mapping[str, Any]) -> PermissionRequestReply | None:
    """Return the reply that a decision is given as; None for what cannot be used."""
    decision = answer.get("decision")
    if not isinstance(decision, dict):
        return None
    action, tool_input = decision.get("action"), question.request.get("input") or {}
    if action in ("deny", "revise"):
        return PermissionRequestReply.deny(str(decision["text"]), interrupt=decision.get("stop") is True)
    if action == "allow":
        number = decision.get("always")
        always = [proposal(question.request, number)] if isinstance(number, int) else None
        return PermissionRequestReply.allow(updated_input=decision.get("input"), updated_permissions=always)
    if action != "approve":
        return None
    # Without its own input, which may be empty, the client ignores the approval of a plan (2.1.330, 2.1.332).
    plan = {"plan": decision["plan"]} if "plan" in decision else {}
    mode = {"type": "setMode", "mode": decision.get("mode"), "destination": "session"}
    return PermissionRequestReply.allow(
        updated_input={**tool_input, **plan}, updated_permissions=[mode] if "mode" in decision else None
    )


def _form_reply(answer: Mapping[str, Any]) -> ElicitationReply | None:
    """Return the reply to a server's form; None for what cannot be used."""
    decision = answer.get("decision")
    action = decision.get("action") if isinstance(decision, dict) else None
    if not isinstance(decision, dict) or action not in ("submit", "decline", "cancel"):
        return None
    if action == "submit":
        return ElicitationReply.accept(decision.get("content") or {})
    return ElicitationReply.decline() if action == "decline" else ElicitationReply.cancel()


def _form_replied(context: Context, question: Dialog, answer: Mapping[str, Any]) -> None:
    """Close a form whose answer is written to Claude Code: nothing else tells of its end."""
    from hookrouter.dialogs.comparison import Comparison, QuestionResult
    from hookrouter_approvals.comparing import meaning

    said = meaning(answer["decision"])
    by = "person" if answer.get("by") == "person" else "agent"
    result = QuestionResult(question.questions[0]["question"], "match", said, said)
    comparison = Comparison(True, "reply", (result,), (), "")
    end(
        context,
        question,
        lambda _, pending: End(
            "verified", by=by, who="" if pending is None else pending.who, channel="reply", comparison=comparison
        ),
    )
