"""The life of a question as hooks see it: asked, recorded, or found over by a later event of its session.

PreToolUse opens a question. PostToolUse compares the recorded answer and closes it. One that is declined, cancelled or
talked about instead has no PostToolUse, so the session's later events look for questions that are over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.config import INBOX
from hookrouter.dialogs import documents, transcript
from hookrouter.dialogs.closing import CLIENT_GONE, Ending, close, note_end, verdict_of
from hookrouter.dialogs.messages.outgoing import tell_end, tell_mismatch, wake
from hookrouter.dialogs.unmanaged import say_unmanaged
from hookrouter.dialogs.verdicts import delete_verdict, prune_verdicts, was_recorded
from hookrouter.messaging.pauses import is_paused
from hookrouter.util.claude_process import client_pid, is_gone, process_space
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter import events
    from hookrouter.answering.interfaces import TerminalAddress
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import PendingAnswer, Question
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.tools import AskUserQuestionInput

__all__ = [
    "answer_recorded",
    "prompt_submitted",
    "question_asked",
    "session_ended",
    "session_started",
    "tool_failed",
    "turn_ended",
]

_RESULT_SECONDS = 0.5
"""How long a result that is due may take to appear in the transcript (measured: within 0.1 s)."""


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
    question = documents.Question(
        session=context.session,
        session_id=context.session_id,
        tool_use_id=event.tool_use_id,
        questions=questions,  # type: ignore[arg-type]
        terminal=context.terminal,
        # The corrected file may name one.
        agent="" if agent is None else agent.id,
        gateway=INBOX if agent is None else agent.gateway,
        fallbacks=() if agent is None else agent.fallbacks,
        cwd=context.cwd,
        transcript_path=event.transcript_path or "",
        permission_mode=event.permission_mode or "",
        agent_id=event.agent_id or "",
        client_pid=client_pid(context.environ),
        client_host=process_space(),
        missed=agent is None or is_paused(context.store, context.session) is not None,
        provisional=is_unclear,
    )
    _close_older(question, context)
    delete_verdict(context.store, question)
    now = iso()
    question = documents.open_question(context.store, question._replace(saved_at=now), lambda one: wake(one, context))
    context.note("outcome", "asked")
    if question.saved_at != now:
        context.note("repeated", True)
    context.note("asked_at", question.saved_at)
    context.note("agent", question.agent)
    context.note("cwd", question.cwd)
    context.note("questions", documents.shown_form(questions))  # type: ignore[arg-type]
    if not question.missed:
        context.start_delivery()
        return
    context.note("missed", True)
    # Whoever ended the pause since may have looked for missed questions before this one was there.
    if (
        agent is not None
        and is_paused(context.store, context.session) is None
        and documents.wake_missed(context.store, question, lambda one: wake(one, context))
    ):
        context.start_delivery()


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
        _remove_left_behind(session, context)


def turn_ended(event: events.Stop, context: Context) -> None:
    """Stop: the main conversation cannot end its turn while it waits for an answer."""
    if event.agent_id:
        return
    endings = []
    for question in _questions_of(context):
        state = transcript.wait_for_state(question.transcript_path, question.tool_use_id, _RESULT_SECONDS)
        # A subagent may go on asking after the main conversation's turn, and its calls have a transcript of their own.
        if state == transcript.OPEN or (question.agent_id and state == transcript.UNKNOWN):
            continue
        endings.append(Ending(question, transcript.reason_of(state) or "Claude's turn ended without an answer", state))
    close(context, endings)


def prompt_submitted(event: events.UserPromptSubmit, context: Context) -> None:
    """UserPromptSubmit: over, unless the prompt was typed before the dialog was drawn, and waits behind it."""
    if event.agent_id:
        return
    endings = []
    for question in _questions_of(context):
        state = transcript.question_state(question.transcript_path, question.tool_use_id)
        # An answered question's PostToolUse may still be on its way.
        if state in (transcript.OPEN, transcript.ANSWERED):
            continue
        if state == transcript.UNKNOWN and (question.agent_id or documents.is_young(question)):
            continue
        endings.append(
            Ending(question, transcript.reason_of(state) or "a new prompt was given instead of an answer", state)
        )
    close(context, endings)


def session_started(event: events.SessionStart, context: Context) -> None:
    """SessionStart: whatever this session, or a client that is gone, had asked has ended."""
    if event.agent_id:
        return
    endings = []
    for question in _settled(context, documents.list_questions):
        if question.session_id == context.session_id:
            # Compaction starts a session again in the middle of a turn, while a subagent may be asking.
            if event.source == "compact" and question.agent_id:
                continue
            endings.append(Ending(question, f"the session was started again ({event.source}) without an answer"))
        elif question.session == context.session and _is_replaced(
            question, client_pid(context.environ), context.terminal
        ):
            endings.append(Ending(question, "another session was started in its place without an answer"))
        elif documents.is_client_gone(question):
            endings.append(Ending(question, CLIENT_GONE))
    close(context, endings)
    prune_verdicts(context.store)
    from hookrouter.dialogs.messages.guidance import prune_guidance

    prune_guidance(context.store)


def session_ended(event: events.SessionEnd, context: Context) -> None:
    """SessionEnd: over in any case."""
    reason = f"the session ended ({event.reason}) without an answer"
    close(context, [Ending(question, reason) for question in _questions_of(context)])


def tool_failed(event: events.PostToolUseFailure, context: Context) -> None:
    """PostToolUseFailure of AskUserQuestion: over, with an error."""
    open_questions = [question for question in _questions_of(context) if question.tool_use_id == event.tool_use_id]
    close(context, [Ending(question, "the tool call failed in Claude Code") for question in open_questions])


def _close_those_over(question: Question, context: Context) -> None:
    """PreToolUse: close what was asked before this question and has ended.

    Claude may ask several questions at once, whose dialogs come one after the other: one that is not known to be over
    stays.
    """
    endings = []
    # Those of clients that were killed are looked for when a deliverer starts: they may be many.
    for older in _settled(context, lambda store: documents.near(store, question.session_id, question.session)):
        if older.tool_use_id == question.tool_use_id and older.session_id == question.session_id:
            continue
        if older.session_id == question.session_id:
            ending = _older_ending(older, question)
        elif older.session == question.session and _is_replaced(older, question.client_pid, question.terminal):
            ending = Ending(older, "another session asked in its place before this one was answered")
        else:
            ending = None
        if ending is not None:
            endings.append(ending)
    close(context, endings)


def _older_ending(older: Question, question: Question) -> Ending | None:
    """Return how a question ended that the same Claude session asked before; None if it may be open."""
    state = transcript.question_state(older.transcript_path, older.tool_use_id)
    if reason := transcript.reason_of(state):
        return Ending(older, reason, state)
    # A subagent's calls are in a transcript of its own, and it asks while the others work.
    if state == transcript.OPEN or older.agent_id != question.agent_id:
        return None
    # One that was asked together with this one may have been answered already, its PostToolUse on the way.
    if documents.is_young(older):
        return None
    return Ending(older, "the next question was asked before this one was answered", state)


def _close_older(question: Question, context: Context) -> None:
    """Close what this session asked before and has ended, and remove answers that were left behind."""
    try:
        _close_those_over(question, context)
        _remove_left_behind(question.session, context)
    except Exception as error:  # noqa: BLE001 - the new question matters more than the old one
        context.warn(f"a question before this one could not be closed: {type(error).__name__}: {error}")


def _remove_left_behind(session: str, context: Context) -> None:
    """Remove answers that have nothing left to be compared with."""
    for tool_use_id in documents.remove_left_behind(context.store, session):
        context.warn(f"the pending answer to {tool_use_id}, which has ended, was left behind and was removed")


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
    question: Question | None,
    pending: PendingAnswer,
    event: events.PostToolUse,
    tool_input: AskUserQuestionInput,
    context: Context,
) -> None:
    from hookrouter.answering.recording import recording_styles
    from hookrouter.dialogs.comparison import compare

    questions = question.questions if question is not None else _raw(tool_input).get("questions")
    if not documents.is_form(questions):
        raise ValueError("the question document is gone, and the payload's questions cannot be compared")
    response = _response(event, context)
    styles = recording_styles(transcript.client_version(event.transcript_path or ""))
    comparison = compare(questions, pending.decisions, response, styles)  # type: ignore[arg-type] # is_form() said so
    context.note("verification", comparison.document())
    context.note("channel", pending.channel)
    if pending.by == "person":
        # Not "by": that is whose decision a hook's reply was.
        context.note("answered_by", pending.by)
        context.note("who", pending.who)
    if _idle(response):
        comparison = comparison._replace(matches=False, reason=_idle_reason(response))
    outcome = "verified" if comparison.matches else "mismatch"
    context.note("outcome", outcome)
    if not comparison.matches:
        context.note("level", "warning")
        context.note("reason", comparison.reason)
    if question is None:
        if not comparison.matches:
            context.warn("the question document is gone, so the agent of this session is not known and was not woken")
        return
    verdict = verdict_of(question, outcome, reason=comparison.reason, by=pending.by, who=pending.who)
    note_end(context, verdict._replace(channel=pending.channel, verification=comparison.document()))
    # A person's own command shows them both sides; the agent has decided nothing here.
    if not comparison.matches and pending.by != "person":
        tell_mismatch(context, question, comparison)
        context.start_delivery()


def _no_answer_pending(question: Question, event: events.PostToolUse, context: Context) -> None:
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
    recorded, notes = _recorded(response), _recorded_notes(response)
    context.note("outcome", "answered_by_person")
    context.note("recorded", recorded)
    if notes:
        context.note("recorded_notes", notes)
    verdict = verdict_of(question, "answered_by_person", by="person", recorded=recorded, recorded_notes=notes)
    note_end(context, verdict)


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


def _questions_of(context: Context) -> list[Question]:
    """Return the open questions of the session that this event is about; other sessions' are none of its business."""
    return _settled(context, lambda store: documents.near(store, context.session_id))


def _settled(context: Context, look_up: Callable[[DocumentStore], list[Question]]) -> list[Question]:
    """Return open questions; those of a time with a broken config.toml are brought to their agents first."""
    if context.config.problems or not documents.has_provisional(context.store):
        return look_up(context.store)
    from hookrouter.dialogs.rerouting import reroute

    moved: list[Question] = []
    try:
        moved = reroute(context, documents.list_questions(context.store))
    except Exception as error:  # noqa: BLE001 - what this event is about matters more
        context.warn(f"a question could not be brought to its agent: {type(error).__name__}: {error}")
    if moved:
        context.note("rerouted", [question.tool_use_id for question in moved])
        context.start_delivery()
    return look_up(context.store)


def _is_replaced(older: Question, pid: int, terminal: TerminalAddress | None) -> bool:
    """Whether the client with this process id, in this pane, has taken the place of the one that asked ``older``.

    Two clients may run in panes of one session, and then neither has.
    """
    if older.client_pid > 0:
        # Process ids of another container say nothing here, nor does its terminal.
        known = older.client_host == process_space()
        return known and (older.client_pid == pid or is_gone(older.client_pid))
    return older.terminal is not None and older.terminal == terminal


def _raw(view: Any) -> dict[str, Any]:
    raw = view.raw
    return raw if isinstance(raw, dict) else {}
