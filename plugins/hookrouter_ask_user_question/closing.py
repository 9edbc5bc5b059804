"""Closes questions that are over without a PostToolUse: verdict, agent told, documents removed, in this order.

No hook says so when a question is declined, cancelled or talked about instead, or when its client ends, so every later
event of the session looks for questions that are over (:mod:`hookrouter_ask_user_question.lifecycle`) and closes them
here. The agent is told once; not if it learns of it anyway, because its ``answer`` is running and reports it, or
because it (or a person in its place) chose to chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.storage.interface import StoreError
from hookrouter_ask_user_question import documents, transcript
from hookrouter_ask_user_question.messages import tell_end
from hookrouter_ask_user_question.verdicts import Verdict, end_of_sweep, save_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.context import Context
    from hookrouter_ask_user_question.documents import PendingAnswer, Question

__all__ = ["CLIENT_GONE", "Ending", "close", "note_end", "verdict_of"]

CLIENT_GONE = "the client that asked has ended without an answer"


class Ending(NamedTuple):
    """A question that has ended, and why."""

    question: Question
    reason: str
    state: str = ""
    """How it stands in the transcript, if that was looked up."""


def verdict_of(question: Question, outcome: str, **fields: object) -> Verdict:
    """Return a verdict on a question, with what its document says."""
    known = {
        "session": question.session,
        "session_id": question.session_id,
        "tool_use_id": question.tool_use_id,
        "agent": question.agent,
        "asked_at": question.saved_at,
    }
    return Verdict(outcome=outcome, **known, **fields)  # type: ignore[arg-type] # the callers' keywords are its fields


def close(context: Context, endings: Sequence[Ending]) -> None:
    """Remove the documents of questions that are over, journal how each ended, and tell the agent if it must know.

    The journal record gets ``swept``, a list with ``tool_use_id``, ``session``, ``session_id``, ``outcome``
    (``unanswered``, ``chat``, ``unverified``, or ``left`` for a chat that is still being delivered), ``state`` (how it
    stood in the transcript, if that was looked up), ``reason`` and ``told_by`` (``wake``, ``answer``, or ``nobody``
    if an answer chose to chat or, during a pause, the agent was never asked) for each; of a person's answer also
    ``by`` and ``who``. Raises the last of the errors that stopped one of them, after all were tried; a question whose
    end could not be told stays, for the next event to try again.
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
    question, reason = ending.question, ending.reason
    with documents.holding(context.store, question.session):
        if not documents.is_open(context.store, question.session, question.tool_use_id):
            # Another process has closed it meanwhile, and told of it.
            return
        pending = documents.read_pending(context.store, question.session, question.tool_use_id)
        running = pending is not None and documents.is_being_answered(context.store, question)
        by_person = pending is not None and pending.by == "person"
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
        told_by = "wake"
        if running and not by_person:
            told_by = "answer"
        elif outcome == "chat" or _is_missed(context, question):
            told_by = "nobody"
        swept.append(
            {
                "tool_use_id": question.tool_use_id,
                "session": question.session,
                "session_id": question.session_id,
                "outcome": outcome,
                "state": ending.state,
                "reason": reason,
                "told_by": told_by,
                **({"by": pending.by, "who": pending.who} if pending is not None and by_person else {}),
            }
        )
        if outcome == "left":
            return
        if told_by == "wake":
            tell_end(context, question, "warning" if outcome == "unverified" else "unanswered", reason)
        ended, by = end_of_sweep(outcome, ending.state, pending.by if pending is not None else "")
        who = pending.who if pending is not None and by == pending.by else ""
        note_end(context, verdict_of(question, ended, reason=reason, by=by, who=who, told_by=told_by))
        documents.remove(context.store, question.session, question.tool_use_id)


def note_end(context: Context, verdict: Verdict) -> None:
    """Save a verdict; one that cannot be saved keeps no question from being closed, and is a warning."""
    try:
        save_verdict(context.store, verdict)
    except StoreError as error:
        context.warn(f"how {verdict.tool_use_id} ended could not be noted for others: {error}")


def _is_missed(context: Context, question: Question) -> bool:
    """Whether the agent was never woken for this question, looked up while its documents are held."""
    current = documents.find_question(context.store, question.session_id, question.tool_use_id)
    return current is not None and current.missed


def _is_chat(pending: PendingAnswer) -> bool:
    return bool(pending.decisions) and pending.decisions[-1].get("action") == "chat"
