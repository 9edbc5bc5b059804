"""Closes questions that ended without a PostToolUse: declined, cancelled, talked about instead, client gone.

No hook says so when it happens, so every later event of the session looks for questions that are over. What is closed
here is journalled, and the agent is told once; not where the agent learns of it anyway, because its ``answer`` is
running and reports it, or because it chose to chat.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookrouter_ask_user_question import documents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.store import Store
    from hookrouter_ask_user_question.documents import PendingAnswer, Question

__all__ = [
    "ANSWER_LOCK",
    "CLIENT_GONE",
    "Ending",
    "client_pid",
    "close",
    "close_older",
    "is_being_answered",
    "prompt_submitted",
    "session_ended",
    "session_started",
    "tell",
    "tool_failed",
    "turn_ended",
]

ANSWER_LOCK = "answer"
"""The kind of the locks that a running ``hookrouter answer`` holds: one by session, because two cannot type into one
terminal, and one by the question's own name, which says what it is at."""

CLIENT_GONE = "the client that asked has ended without an answer"

_SETTLE_SECONDS = 0.5
"""How long a result that is due may take to appear in the transcript (measured: within 0.1 s)."""

_DRAWN_SECONDS = 30.0
"""Without a transcript: the age from which a question's dialog is taken to have been drawn, so that a new prompt can
only have been typed after it was closed. Other plugins' PreToolUse hooks may delay the dialog."""


class Ending(NamedTuple):
    """A question that is over, and why."""

    question: Question
    reason: str
    state: str = ""
    """How it stands in the transcript, where that was looked up."""


def turn_ended(event: events.Stop, context: Context) -> None:
    """Stop: the main conversation cannot end its turn while it waits for an answer."""
    from hookrouter_ask_user_question import transcript

    if event.agent_id:
        return
    endings = []
    for question in _questions_of(context):
        state = transcript.settled_state(question.transcript_path, question.tool_use_id, _SETTLE_SECONDS)
        # A subagent may go on asking after the main conversation's turn, and its calls have a transcript of their own.
        if state == transcript.OPEN or (question.agent_id and state == transcript.UNKNOWN):
            continue
        endings.append(Ending(question, transcript.reason_of(state) or "Claude's turn ended without an answer", state))
    close(context, endings)


def prompt_submitted(event: events.UserPromptSubmit, context: Context) -> None:
    """UserPromptSubmit: over, unless the prompt was typed before the dialog was drawn, and waits behind it."""
    from hookrouter_ask_user_question import transcript

    if event.agent_id:
        return
    endings = []
    for question in _questions_of(context):
        state = transcript.question_state(question.transcript_path, question.tool_use_id)
        # An answered question's PostToolUse may still be on its way.
        if state in (transcript.OPEN, transcript.ANSWERED):
            continue
        if state == transcript.UNKNOWN and (question.agent_id or _is_recent(question)):
            continue
        endings.append(
            Ending(question, transcript.reason_of(state) or "a new prompt was given instead of an answer", state)
        )
    close(context, endings)


def session_started(event: events.SessionStart, context: Context) -> None:
    """SessionStart: whatever this session, or a client that is gone, had asked is over."""
    if event.agent_id:
        return
    endings = []
    for question in documents.list_questions(context.store):
        if question.session_id == context.session_id:
            # Compaction starts a session again in the middle of a turn, while a subagent may be asking.
            if event.source == "compact" and question.agent_id:
                continue
            endings.append(Ending(question, f"the session was started again ({event.source}) without an answer"))
        elif question.session == context.session and not _runs_elsewhere(question.client_pid, client_pid(context)):
            endings.append(Ending(question, "another session was started in its place without an answer"))
        elif documents.is_client_gone(question):
            endings.append(Ending(question, CLIENT_GONE))
    close(context, endings)


def session_ended(event: events.SessionEnd, context: Context) -> None:
    """SessionEnd: over in any case."""
    reason = f"the session ended ({event.reason}) without an answer"
    close(context, [Ending(question, reason) for question in _questions_of(context)])


def tool_failed(event: events.PostToolUseFailure, context: Context) -> None:
    """PostToolUseFailure of AskUserQuestion: over, with an error."""
    open_questions = [question for question in _questions_of(context) if question.tool_use_id == event.tool_use_id]
    close(context, [Ending(question, "the tool call failed in Claude Code") for question in open_questions])


def close_older(question: Question, context: Context) -> None:
    """PreToolUse: close what was asked before this question and is over.

    Claude may ask several questions at once, whose dialogs come one after the other: one that is not known to be over
    stays.
    """
    endings = []
    for older in documents.list_questions(context.store):
        if older.tool_use_id == question.tool_use_id and older.session_id == question.session_id:
            continue
        if older.session_id == question.session_id:
            ending = _older_ending(older, question)
        elif older.session == question.session and not _runs_elsewhere(older.client_pid, question.client_pid):
            ending = Ending(older, "another session asked in its place before this one was answered")
        elif documents.is_client_gone(older):
            ending = Ending(older, CLIENT_GONE)
        else:
            ending = None
        if ending is not None:
            endings.append(ending)
    close(context, endings)


def _older_ending(older: Question, question: Question) -> Ending | None:
    """Return how a question ended that the same Claude session asked before; None where it may be open."""
    from hookrouter_ask_user_question import transcript

    state = transcript.question_state(older.transcript_path, older.tool_use_id)
    if reason := transcript.reason_of(state):
        return Ending(older, reason, state)
    # A subagent's calls are in a transcript of its own, and it asks while the others work.
    if state == transcript.OPEN or older.agent_id != question.agent_id:
        return None
    # One that was asked together with this one may have been answered already, its PostToolUse on the way.
    if _is_recent(older):
        return None
    return Ending(older, "the next question was asked before this one was answered", state)


def close(context: Context, endings: Sequence[Ending]) -> None:
    """Remove the documents of questions that are over, journal how each ended, and tell the agent where it must know.

    The journal record gets ``swept``, a list with ``tool_use_id``, ``session``, ``session_id``, ``outcome``
    (``unanswered``, ``chat``, ``unverified``, or ``left`` for a chat that is still being delivered), ``state`` (how it
    stood in the transcript, where that was looked up), ``reason`` and ``told_by`` (``wake``, ``answer``, or ``nobody``
    where the agent chose to chat or, during a pause, was never asked) for each. Raises the last of the errors that
    stopped one of them, after all were tried; a question whose end could not be told stays, for the next event to try
    again.
    """
    failure: Exception | None = None
    swept: list[dict[str, str]] = []
    for ending in endings:
        try:
            _close(context, ending, swept)
        except Exception as error:  # noqa: BLE001 - raised again once the other questions are closed
            failure = error
    if swept:
        context.note("swept", swept)
    if failure is not None:
        raise failure


def _close(context: Context, ending: Ending, swept: list[dict[str, str]]) -> None:
    from hookrouter_ask_user_question import transcript

    question, reason = ending.question, ending.reason
    with documents.holding(context.store, question.session):
        if not documents.is_open(context.store, question.session, question.tool_use_id):
            # Another process has closed it meanwhile, and told of it.
            return
        pending = documents.read_pending(context.store, question.session, question.tool_use_id)
        running = pending is not None and is_being_answered(context.store, question)
        chat = pending is not None and _is_chat(pending)
        outcome = "unanswered"
        if ending.state == transcript.ANSWERED:
            outcome = "unverified"
            reason = "Claude Code recorded an answer, but no PostToolUse hook saw it, so it could not be compared"
        elif running and chat and context.event in ("Stop", "UserPromptSubmit"):
            # Its dialog goes first and the text follows: the process that delivers it closes the question.
            outcome = "left"
        elif chat and (running or ending.state == transcript.CHAT):
            outcome = "chat"
        told_by = "answer" if running else "nobody" if outcome == "chat" or _is_missed(context, question) else "wake"
        swept.append(
            {
                "tool_use_id": question.tool_use_id,
                "session": question.session,
                "session_id": question.session_id,
                "outcome": outcome,
                "state": ending.state,
                "reason": reason,
                "told_by": told_by,
            }
        )
        if outcome == "left":
            return
        if told_by == "wake":
            tell(context, question, "warning" if outcome == "unverified" else "unanswered", reason)
        documents.remove(context.store, question.session, question.tool_use_id)


def tell(context: Context, question: Question, kind: str, reason: str) -> None:
    """Put a wake about a question that is over into the outbox. Raises StoreError, after noting it in the journal."""
    from hookrouter.answering import Wake
    from hookrouter_ask_user_question.formatting import subject, unanswered_message

    try:
        context.outbox.put(
            Wake(
                kind=kind,
                agent=question.agent,
                gateway=question.gateway,
                session=question.session,
                session_id=question.session_id,
                tool_use_id=question.tool_use_id,
                subject=f"No answer: {subject(question)}",
                text=unanswered_message(question, reason),
            ),
            fallbacks=question.fallbacks,
        )
    except Exception:
        context.warn(f"the agent could not be told that {question.tool_use_id} was not answered: {reason}")
        raise
    context.start_delivery()


def is_being_answered(store: Store, question: Question) -> bool:
    """Say whether a ``hookrouter answer`` runs for this question now."""
    from hookrouter.store import StoreBusy

    try:
        with store.lock(ANSWER_LOCK, documents.own_name(question.session, question.tool_use_id), 0):
            return False
    except StoreBusy:
        return True


def _questions_of(context: Context) -> list[Question]:
    """Return the open questions of the session that this event is about; other sessions' are none of its business."""
    return [
        question
        for question in documents.list_questions(context.store)
        if context.session_id and question.session_id == context.session_id
    ]


def _is_missed(context: Context, question: Question) -> bool:
    """Whether the agent was never woken for this question, looked up while its documents are held."""
    current = documents.find_question(context.store, question.session_id, question.tool_use_id)
    return current is not None and current.missed


def _is_chat(pending: PendingAnswer) -> bool:
    return bool(pending.decisions) and pending.decisions[-1].get("action") == "chat"


def _is_recent(question: Question) -> bool:
    """Say whether its dialog may not have been drawn yet. A time in the future (a clock set back) is not recent."""
    from hookrouter.clock import iso, now

    return iso(now() - _DRAWN_SECONDS) < question.saved_at <= iso(now() + 1)


def client_pid(context: Context) -> int:
    """Return the process id of the client that started this hook; 0 where the environment does not say."""
    text = context.environ.get("CLAUDE_PID", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _runs_elsewhere(pid: int, own_client: int) -> bool:
    """Say whether the client that asked is another one than ours, and alive."""
    if pid <= 0 or pid == own_client:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
