"""The two ends of a question: PreToolUse, which opens it, and PostToolUse, which verifies the answer and closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.names import printable
from hookrouter.pause import is_paused
from hookrouter_ask_user_question import documents

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.answering import FollowUp
    from hookrouter.context import Context, Services
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter_ask_user_question.comparison import Comparison
    from hookrouter_ask_user_question.documents import PendingAnswer, Question

__all__ = ["QUOTING_VERSION", "answer_recorded", "question_asked", "wake"]

QUOTING_VERSION = (2, 1, 238)
"""The first client version that was seen to quote items in the answer to a multi-select question."""

JOURNALLED_CHARACTERS = 200
"""Of each of a form's texts, and of a person's answer, the journal keeps at most so many characters."""
_JOURNALLED_QUESTIONS = 8

_ASK_PROMPT = "ask_user_question.md"
_MISMATCH_PROMPT = "ask_user_question_mismatch.md"


def question_asked(event: events.PreToolUse, tool_input: AskUserQuestionInput, context: Context) -> None:
    """Save the question, put the wake in the outbox, and have it delivered after this hook has ended.

    While the session is paused the question is saved as missed, and nobody is woken.

    Raises StoreError where the question or the wake cannot be saved; the router journals it, and the dialog appears.
    """
    if context.agent is None:
        context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        return
    if event.permission_mode == "dontAsk":
        context.debug("permission mode dontAsk: Claude Code shows no dialog and denies the call")
        return
    questions = _raw(tool_input).get("questions")
    if not documents.is_form(questions) or not event.tool_use_id:
        context.note("level", "warning")
        context.note("reason", "this form cannot be shown to an agent: a question without text, options or tool_use_id")
        return
    question = documents.Question(
        session=context.session,
        session_id=context.session_id,
        tool_use_id=event.tool_use_id,
        questions=questions,  # type: ignore[arg-type]
        terminal=context.terminal,
        agent=context.agent.id,
        gateway=context.agent.gateway,
        fallbacks=context.agent.fallbacks,
        cwd=context.cwd,
        transcript_path=event.transcript_path or "",
        permission_mode=event.permission_mode or "",
        agent_id=event.agent_id or "",
        client_pid=_client_pid(context),
        client_host=documents.process_space(),
        missed=is_paused(context.store, context.session) is not None,
    )
    _close_older(question, context)
    documents.save_question(context.store, question)
    context.note("outcome", "asked")
    context.note("agent", question.agent)
    context.note("questions", _asked(questions))  # type: ignore[arg-type]
    if not question.missed:
        wake(question, context)
        context.start_delivery()
        return
    context.note("missed", True)
    # Whoever ended the pause since may have looked for missed questions before this one was there.
    if is_paused(context.store, context.session) is None and documents.wake_missed(
        context.store, question, lambda one: wake(one, context)
    ):
        context.start_delivery()


def answer_recorded(event: events.PostToolUse, tool_input: AskUserQuestionInput, context: Context) -> None:
    """Compare what was recorded with the pending answer of this tool call, and remove the question's documents.

    They are removed on every path, also where comparing or waking raises. The journal record gets the outcome:
    ``verified``, ``mismatch``, ``answered_by_person``, ``unanswered`` (the dialog ended by itself), or
    ``unknown_question``.
    """
    store = context.store
    question = documents.find_question(store, context.session_id, event.tool_use_id)
    session = question.session if question is not None else context.session
    pending = documents.read_pending(store, session, event.tool_use_id)
    try:
        if question is None and pending is None:
            _unknown_question(event, context)
        elif pending is None:
            _no_answer_pending(question, event, context)
        else:
            _verify(question, pending, event, tool_input, context)
    finally:
        documents.delete_question(store, session, event.tool_use_id)
        _remove_left_behind(session, context)


def _close_older(question: Question, context: Context) -> None:
    """Close what this session asked before and is over, and remove answers that were left behind."""
    from hookrouter_ask_user_question.sweep import close_older

    try:
        close_older(question, context)
        _remove_left_behind(question.session, context)
    except Exception as error:  # noqa: BLE001 - the new question matters more than the old one
        context.warn(f"a question before this one could not be closed: {type(error).__name__}: {error}")


def _remove_left_behind(session: str, context: Context) -> None:
    """Remove answers that have nothing left to be compared with."""
    for tool_use_id in documents.remove_left_behind(context.store, session):
        context.warn(f"the pending answer to {tool_use_id}, which is over, was left behind and was removed")


def _asked(questions: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what the journal keeps of a form: its texts, made safe and short."""
    kept = []
    for form in questions[:_JOURNALLED_QUESTIONS]:
        header = form.get("header")
        kept.append(
            {
                "header": _short(header) if isinstance(header, str) else "",
                "question": _short(form["question"]),
            }
        )
    return kept


def _recorded(response: object) -> dict[str, str]:
    """Return what the journal keeps of a person's answers, by question."""
    answers = response.get("answers") if isinstance(response, dict) else None
    if not isinstance(answers, dict):
        return {}
    texts = [(key, value) for key, value in answers.items() if isinstance(key, str) and isinstance(value, str)]
    return {_short(key): _short(value) for key, value in texts[:_JOURNALLED_QUESTIONS]}


def _short(text: str) -> str:
    # Escapes make a text longer, so it is cut before and after.
    shown = printable(text[: JOURNALLED_CHARACTERS + 1])
    return shown if len(shown) <= JOURNALLED_CHARACTERS else f"{shown[: JOURNALLED_CHARACTERS - 1]}…"


def wake(question: Question, services: Services) -> None:
    """Put the message about an open question into the outbox, for its agent. Raises StoreError."""
    from hookrouter.answering import Wake
    from hookrouter.executable import script_argv
    from hookrouter_ask_user_question.formatting import question_message, subject

    # Read after this question was saved: of two that are asked at the same time, at least one sees the other.
    others = documents.others(services.store, question)
    message = Wake(
        kind="question",
        agent=question.agent,
        gateway=question.gateway,
        session=question.session,
        session_id=question.session_id,
        tool_use_id=question.tool_use_id,
        subject=subject(question),
        text=question_message(question, script_argv(), services.environ, _prompt(services, _ASK_PROMPT), others),
    )
    then: tuple[FollowUp, ...] = ()
    settings = services.config.answer
    if settings.remind_after or settings.escalate_to:
        from hookrouter_ask_user_question.reminders import follow_ups

        then = follow_ups(question, message, settings)
    is_open = documents.open_condition(question.session, question.tool_use_id)
    services.outbox.put(message, fallbacks=question.fallbacks, then=then, while_open=is_open)


def _verify(
    question: Question | None,
    pending: PendingAnswer,
    event: events.PostToolUse,
    tool_input: AskUserQuestionInput,
    context: Context,
) -> None:
    from hookrouter.labels import QUOTED
    from hookrouter_ask_user_question.comparison import compare

    questions = question.questions if question is not None else _raw(tool_input).get("questions")
    if not documents.is_form(questions):
        raise ValueError("the question document is gone, and the payload's questions cannot be compared")
    response = _response(event, context)
    comparison = compare(questions, pending.decisions, response)  # type: ignore[arg-type]
    if comparison.matches and comparison.plain_only and _quotes(event):
        # On this client an unquoted ", " always separates two items.
        comparison = compare(questions, pending.decisions, response, (QUOTED,))  # type: ignore[arg-type]
    context.note("verification", comparison.document())
    context.note("channel", pending.channel)
    if _idle(response):
        comparison = comparison._replace(matches=False, reason=_idle_reason(response))
    if comparison.matches:
        context.note("outcome", "verified")
        return
    context.note("outcome", "mismatch")
    context.note("level", "warning")
    context.note("reason", comparison.reason)
    if question is None:
        context.warn("the question document is gone, so the agent of this session is not known and was not woken")
        return
    _wake_mismatch(question, comparison, context)


def _wake_mismatch(question: Question, comparison: Comparison, context: Context) -> None:
    from hookrouter.answering import Wake
    from hookrouter_ask_user_question.formatting import mismatch_message, subject

    try:
        context.outbox.put(
            Wake(
                kind="mismatch",
                agent=question.agent,
                gateway=question.gateway,
                session=question.session,
                session_id=question.session_id,
                tool_use_id=question.tool_use_id,
                subject=f"Recorded differently: {subject(question)}",
                text=mismatch_message(question, comparison, _prompt(context, _MISMATCH_PROMPT)),
            ),
            fallbacks=question.fallbacks,
        )
    except Exception:
        context.warn(f"the agent could not be told of the mismatch in {question.tool_use_id}")
        raise
    context.start_delivery()


def _no_answer_pending(question: Question | None, event: events.PostToolUse, context: Context) -> None:
    """Note an answer that no agent gave."""
    response = _response(event, context)
    if question is not None and _idle(response):
        from hookrouter_ask_user_question.sweep import tell

        context.note("outcome", "unanswered")
        context.note("reason", _idle_reason(response))
        if not question.missed:
            tell(context, question, "unanswered", _idle_reason(response))
        return
    context.note("outcome", "answered_by_person")
    context.note("recorded", _recorded(response))


def _unknown_question(event: events.PostToolUse, context: Context) -> None:
    if context.agent is None:
        context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        return
    from hookrouter_ask_user_question import transcript
    from hookrouter_ask_user_question.sweep import Ending, close

    endings = []
    for other in documents.list_questions(context.store):
        if other.session_id == context.session_id:
            state = transcript.question_state(other.transcript_path, other.tool_use_id)
            # The PostToolUse of one that was answered may be on its way.
            if reason := transcript.reason_of(state):
                endings.append(Ending(other, reason, state))
    close(context, endings)
    context.note("outcome", "unknown_question")
    context.note("level", "warning")
    context.note("reason", f"no question document of this session has the tool_use_id {event.tool_use_id}")


def _response(event: events.PostToolUse, context: Context) -> object:
    """Return what the tool recorded; where a client leaves the answers out of it, the tool's input, which has them."""
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


def _quotes(event: events.PostToolUse) -> bool:
    from hookrouter_ask_user_question.transcript import client_version

    version = client_version(event.transcript_path or "")
    return version is not None and version >= QUOTING_VERSION


def _client_pid(context: Context) -> int:
    from hookrouter_ask_user_question.sweep import client_pid

    return client_pid(context)


def _raw(view: Any) -> dict[str, Any]:
    raw = view.raw
    return raw if isinstance(raw, dict) else {}


def _prompt(services: Services, name: str) -> str:
    """Return a prompt text; without one the message still says all that is needed to answer."""
    from hookrouter.prompts import read_prompt

    try:
        return read_prompt(services.home, name)
    except (OSError, ValueError) as error:
        services.warn(f"prompt {name}: {error}")
        return ""
