"""The life of a question as hooks see it: asked, recorded, or found over by a later event of its session.

PreToolUse opens a question. PostToolUse compares the recorded answer and closes it. One that is declined, cancelled or
talked about instead has no PostToolUse, so the session's later events look for questions that are over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents, transcript
from hookrouter.dialogs.closing import (
    Ending,
    close,
    end_by_person,
    end_compared,
    note_end,
    record_of,
    verdict_of,
)
from hookrouter.dialogs.messages.outgoing import tell_end
from hookrouter.dialogs.opening import Opening, open_dialog
from hookrouter.dialogs.sweeping import remove_left_behind
from hookrouter.dialogs.unmanaged import say_unmanaged
from hookrouter.dialogs.verdicts import recorded_before, was_recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Dialog, PendingAnswer
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["answer_recorded", "question_asked"]


def question_asked(event: events.PreToolUse, tool_input: AskUserQuestionInput, context: Context) -> None:
    """Save the question, put the wake in the outbox, and have it delivered after this hook has ended.

    While the session is paused the question is saved as missed, and nobody is woken; so it is if no agent manages the
    session while config.toml has problems, because the corrected file may name one. The journal record of a run that
    finds the question saved by an earlier run for the same call has ``repeated``.

    Raises StoreError if the question or the wake cannot be saved; the router journals it, and the dialog appears.
    """
    agent, is_unclear = context.agent, bool(context.config.problems)
    if agent is None and not is_unclear:
        say_unmanaged(context)
        return
    if event.permission_mode == "dontAsk":
        context.debug("permission mode dontAsk: Claude Code shows no dialog and denies the call")
        return
    questions = _raw(tool_input).get("questions")
    if not documents.is_form(questions) or not event.tool_use_id:
        context.note("level", "warning")
        context.note("reason", "this form cannot be shown to an agent: a question without text, options or tool_use_id")
        return
    open_dialog(
        context,
        Opening(
            tool_use_id=event.tool_use_id,
            questions=questions,
            transcript_path=event.transcript_path or "",
            permission_mode=event.permission_mode or "",
            agent_id=event.agent_id or "",
        ),
        waits=False,
    )
    context.note("outcome", "asked")


def answer_recorded(event: events.PostToolUse, tool_input: AskUserQuestionInput, context: Context) -> None:
    """Compare what was recorded with the pending answer of this tool call, save the verdict, and close the question.

    The question's documents are removed on every path, even if comparing or waking raises. The journal record gets the
    outcome: ``verified``, ``mismatch``, ``answered_by_person``, ``unanswered`` (the dialog ended by itself),
    ``unknown_question``, or ``repeated`` (an earlier run of this hook for the same call has done all this).
    """
    store = context.store
    question = documents.find_question(store, context.session_id, event.tool_use_id)
    session = question.session if question is not None else context.session
    try:
        with documents.holding(store, session):
            # Another run of this very hook may have come to its end meanwhile.
            question = documents.find_question(store, context.session_id, event.tool_use_id)
            pending = documents.read_pending(store, session, event.tool_use_id)
            try:
                if pending is not None:
                    _verify(question, pending, event, tool_input, context)
                elif question is not None:
                    _no_answer_pending(question, event, context)
            finally:
                documents.remove(store, session, event.tool_use_id)
        if question is None and pending is None:
            _unknown_question(event, context)
    finally:
        remove_left_behind(session, context)


def _recorded(response: object) -> dict[str, str]:
    """Return what the journal keeps of a person's answers, by question."""
    return _journalled(response.get("answers") if isinstance(response, dict) else None)


def _recorded_notes(response: object) -> dict[str, str]:
    """Return what the journal keeps of a person's notes, by question."""
    annotations = response.get("annotations") if isinstance(response, dict) else None
    if not isinstance(annotations, dict):
        return {}
    return _journalled(
        {key: one.get("notes") for key, one in annotations.items() if isinstance(one, dict) and one.get("notes")}
    )


def _journalled(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        return {}
    texts = [(key, value) for key, value in table.items() if isinstance(key, str) and isinstance(value, str)]
    return {
        documents.shown_text(key): documents.shown_text(value) for key, value in texts[: documents.JOURNALLED_QUESTIONS]
    }


def _verify(
    question: Dialog | None,
    pending: PendingAnswer,
    event: events.PostToolUse,
    tool_input: AskUserQuestionInput,
    context: Context,
) -> None:
    from hookrouter.answering.recording import HANDED_IN, recording_styles
    from hookrouter.dialogs.comparison import compare

    questions = question.questions if question is not None else _raw(tool_input).get("questions")
    if not documents.is_form(questions):
        raise ValueError("the question document is gone, and the payload's questions cannot be compared")
    response = _response(event, context)
    styles = recording_styles(transcript.client_version(event.transcript_path or ""))
    if pending.channel == "reply":
        handed_in = compare(questions, pending.decisions, response, HANDED_IN)
        # Otherwise a person may have been faster, in the client's own dialog.
        if all(one.result == "match" for one in handed_in.results):
            styles = HANDED_IN
    comparison = compare(questions, pending.decisions, response, styles)
    if comparison.extra:
        earlier = recorded_before(context.store, context.session_id)
        comparison = compare(questions, pending.decisions, response, styles, earlier)
    if _idle(response):
        comparison = comparison._replace(matches=False, reason=_idle_reason(response))
    _note(context, record_of(pending, comparison))
    if question is not None:
        end_compared(context, question, pending, comparison)
    elif not comparison.matches:
        context.warn("the question document is gone, so the agent of this session is not known and was not woken")


def _note(context: Context, record: Mapping[str, object]) -> None:
    for key, value in record.items():
        context.note(key, value)


def _no_answer_pending(question: Dialog, event: events.PostToolUse, context: Context) -> None:
    """Note an answer that no agent gave."""
    response = _response(event, context)
    if _idle(response):
        reason = _idle_reason(response)
        context.note("outcome", "unanswered")
        context.note("reason", reason)
        note_end(context, verdict_of(question, "unanswered", reason=reason, by="nobody"))
        if not question.missed:
            tell_end(context, question, "unanswered", reason)
            context.start_delivery()
        return
    _note(context, end_by_person(context, question, _recorded(response), _recorded_notes(response)))


def _unknown_question(event: events.PostToolUse, context: Context) -> None:
    if context.agent is None:
        context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        return
    if was_recorded(context.store, context.session_id, event.tool_use_id):
        context.note("outcome", "repeated")
        context.debug("this hook has run before for the same call, and has noted how the question ended")
        return
    endings = []
    for other in documents.near(context.store, context.session_id):
        if not other.is_form:
            continue
        state = transcript.question_state(other.transcript_path, other.tool_use_id)
        # The PostToolUse of one that was answered may be on its way.
        if reason := transcript.reason_of(state):
            endings.append(Ending(other, reason, state))
    close(context, endings)
    context.note("outcome", "unknown_question")
    context.note("level", "warning")
    context.note("reason", f"no question document of this session has the tool_use_id {event.tool_use_id}")


def _response(event: events.PostToolUse, context: Context) -> object:
    """Return what the tool recorded; if a client leaves the answers out of it, the tool's input, which has them."""
    raw = _raw(event)
    response, tool_input = raw.get("tool_response"), raw.get("tool_input")
    if isinstance(response, dict) and "answers" in response:
        return response
    if isinstance(tool_input, dict) and "answers" in tool_input:
        context.warn("tool_response holds no answers; those of tool_input were compared")
        return tool_input
    return response


def _idle(response: object) -> bool:
    return isinstance(response, dict) and bool(response.get("afkTimeoutMs"))


def _idle_reason(response: object) -> str:
    milliseconds = response.get("afkTimeoutMs") if isinstance(response, dict) else None
    seconds = f" after {milliseconds / 1000:g} s" if isinstance(milliseconds, (int, float)) else ""
    return f"the dialog closed by itself{seconds} without input"


def _raw(view: Any) -> dict[str, Any]:
    raw = view.raw
    return raw if isinstance(raw, dict) else {}
