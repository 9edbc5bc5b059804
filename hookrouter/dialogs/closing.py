"""Closes questions that are over without a PostToolUse: verdict, agent told, documents removed, in this order.

No hook says so when a question is declined, cancelled or talked about instead, or when its client ends, so every later
event of the session looks for questions that are over (a plugin does) and closes them
here. A client that was killed has no later event: the next session that starts, and each deliverer that starts, looks
for its questions, so that the hook of a question reads no other session's. The agent is told once; not if it learns of
it anyway, because its ``answer`` is running and reports it, or because it (or a person in its place) chose to chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs import documents, transcript
from hookrouter.dialogs.messages.outgoing import tell_end, tell_mismatch
from hookrouter.dialogs.verdicts import Verdict, end_of_sweep, save_verdict
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.context import Context, Services
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import Dialog, PendingAnswer

__all__ = [
    "CLIENT_GONE",
    "Ending",
    "close",
    "close_of_gone_clients",
    "end_by_person",
    "end_compared",
    "note_end",
    "record_of",
    "verdict_of",
]

CLIENT_GONE = "the client that asked has ended without an answer"


class Ending(NamedTuple):
    """A question that has ended, and why."""

    question: Dialog
    """The question that has ended."""
    reason: str
    """Why, in words for its agent."""
    state: str = ""
    """How it stands in the transcript, if that was looked up."""


def verdict_of(question: Dialog, outcome: str, **fields: object) -> Verdict:
    """Return a verdict on a question, with what its document says."""
    known = {
        "session": question.session,
        "session_id": question.session_id,
        "tool_use_id": question.tool_use_id,
        "agent": question.agent,
        "asked_at": question.saved_at,
        "kind": question.kind,
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
    swept, failure = _close_each(context, endings, context.event)
    if swept:
        context.note("swept", swept)
    if any(one["told_by"] == "wake" for one in swept):
        context.start_delivery()
    if failure is not None:
        raise failure


def close_of_gone_clients(services: Services, questions: Sequence[Dialog]) -> None:
    """Close what clients that have certainly ended had asked, with a journal record of its own for each session.

    For a deliverer, which brings the messages about it. Raises as :func:`close` does.
    """
    endings = [Ending(one, CLIENT_GONE) for one in questions if documents.is_client_gone(one)]
    swept, failure = _close_each(services, endings, "delivery")
    for session_id in sorted({one["session_id"] for one in swept}):
        mine = [one for one in swept if one["session_id"] == session_id]
        services.journal.write({"event": "delivery", "outcome": "swept", "swept": mine}, session_id or None)
    if failure is not None:
        raise failure


def _close_each(
    services: Services, endings: Sequence[Ending], event: str
) -> tuple[list[dict[str, str]], Exception | None]:
    """Close questions; return how each ended, and the last of the errors that stopped one."""
    failure: Exception | None = None
    swept: list[dict[str, str]] = []
    for ending in endings:
        try:
            _close(services, ending, swept, event)
        except Exception as error:  # noqa: BLE001 - raised again once the other questions are closed
            failure = error
    return swept, failure


def _close(services: Services, ending: Ending, swept: list[dict[str, str]], event: str) -> None:
    question, reason = ending.question, ending.reason
    with documents.holding(services.store, question.session):
        if not documents.is_open(services.store, question.session, question.tool_use_id):
            # Another process has closed it meanwhile, and told of it.
            return
        pending = documents.read_pending(services.store, question.session, question.tool_use_id)
        running = pending is not None and documents.is_being_answered(services.store, question)
        by_person = pending is not None and pending.by == "person"
        chat = pending is not None and _is_chat(pending)
        outcome = "unanswered"
        if ending.state == transcript.ANSWERED:
            outcome = "unverified"
            reason = "Claude Code recorded an answer, but no PostToolUse hook saw it, so it could not be compared"
        elif running and chat and event in ("Stop", "UserPromptSubmit"):
            # Its dialog goes first and the text follows: the process that delivers it closes the question.
            outcome = "left"
        elif chat and (running or ending.state == transcript.CHAT):
            outcome = "chat"
        told_by = "wake"
        if running and not by_person:
            told_by = "answer"
        elif outcome == "chat" or _is_missed(services, question):
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
            tell_end(services, question, "warning" if outcome == "unverified" else "unanswered", reason)
        ended, by = end_of_sweep(outcome, ending.state, pending.by if pending is not None else "")
        who = pending.who if pending is not None and by == pending.by else ""
        note_end(services, verdict_of(question, ended, reason=reason, by=by, who=who, told_by=told_by))
        documents.remove(services.store, question.session, question.tool_use_id)


def note_end(services: Services, verdict: Verdict) -> None:
    """Save a verdict; one that cannot be saved keeps no question from being closed, and is a warning."""
    try:
        save_verdict(services.store, verdict)
    except StoreError as error:
        services.warn(f"how {verdict.tool_use_id} ended could not be noted for others: {error}")


def record_of(pending: PendingAnswer, comparison: Comparison) -> dict[str, object]:
    """Return what the journal's record gets of a decision that was compared with what happened."""
    record: dict[str, object] = {"outcome": "verified" if comparison.matches else "mismatch"}
    record |= {"verification": comparison.document(), "channel": pending.channel}
    if pending.by == "person":
        # Not "by": that is whose decision a hook's reply was.
        record |= {"answered_by": pending.by, "who": pending.who}
    return record if comparison.matches else {**record, "level": "warning", "reason": comparison.reason}


def end_compared(context: Context, question: Dialog, pending: PendingAnswer, comparison: Comparison) -> None:
    """Note the verdict on a decision, and tell the agent if something else has happened; the documents stay."""
    outcome = "verified" if comparison.matches else "mismatch"
    verdict = verdict_of(question, outcome, reason=comparison.reason, by=pending.by, who=pending.who)
    note_end(context, verdict._replace(channel=pending.channel, verification=comparison.document()))
    # A person's own command shows them both sides; the agent has decided nothing here.
    if not comparison.matches and pending.by != "person":
        tell_mismatch(context, question, comparison)
        context.start_delivery()


def end_by_person(
    context: Context, question: Dialog, recorded: Mapping[str, str], notes: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Note that a person has decided in the client's own dialog; the documents stay.

    ``recorded`` and ``notes`` are by question, and shown as they are. Returns what the journal's record gets.
    """
    outcome = "answered_by_person"
    note_end(context, verdict_of(question, outcome, by="person", recorded=recorded, recorded_notes=notes or {}))
    return {"outcome": outcome, "recorded": recorded, **({"recorded_notes": notes} if notes else {})}


def _is_missed(services: Services, question: Dialog) -> bool:
    """Whether the agent was never woken for this question, looked up while its documents are held."""
    current = documents.find_question(services.store, question.session_id, question.tool_use_id)
    return current is not None and current.missed


def _is_chat(pending: PendingAnswer) -> bool:
    return bool(pending.decisions) and pending.decisions[-1].get("action") == "chat"
