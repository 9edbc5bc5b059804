"""Ends dialogs, of whatever kind: what happened is compared, the verdict noted, the agent told, the documents removed.

Each end is found by somebody else: a PostToolUse hook, a look at the screen, a running ``hookrouter answer``, a later
event of the session. All come here, with what is theirs: how to compare (:data:`Compare`).

No hook says so when a dialog is declined, cancelled or talked about instead, or when its client ends, so every later
event of the session looks for dialogs that are over (:mod:`hookrouter.dialogs.sweeping`) and closes them
here. A client that was killed has no later event: the next session that starts, and each deliverer that starts, looks
for its dialogs, so that the hook of one reads no other session's. The agent is told once; not if it learns of
it anyway, because its ``answer`` is running and reports it, or because it (or a person in its place) chose to chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs import documents, transcript
from hookrouter.dialogs.columns import of_dialog
from hookrouter.dialogs.messages.outgoing import tell_end, tell_mismatch
from hookrouter.dialogs.verdicts import Verdict, end_of_sweep, save_verdict
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.context import Context, Services
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import Dialog, PendingAnswer

    Compare = Callable[[Dialog, PendingAnswer | None], "End | None"]
    """What an end means for a dialog and the answer to it that is under way, if one is; None leaves the dialog open."""

__all__ = [
    "CLIENT_GONE",
    "End",
    "Ending",
    "by_person",
    "close",
    "close_of_gone_clients",
    "compared",
    "end",
    "end_of_call",
    "gone",
    "note_end",
    "remove_left_behind",
    "verdict_of",
]

CLIENT_GONE = "the client that asked has ended without an answer"


class End(NamedTuple):
    """How a dialog has ended: what its verdict, the journal and its agent get."""

    outcome: str
    """One of those of :class:`hookrouter.dialogs.verdicts.Verdict`."""
    reason: str = ""
    """Why, in one sentence; empty if the outcome says it."""
    by: str = ""
    """``agent``, ``person`` or ``nobody``; empty if that is not known."""
    who: str = ""
    """The login name of the person who answered with ``hookrouter answer``; empty for all others."""
    channel: str = ""
    """The channel that took the answer; empty if none did."""
    comparison: Comparison | None = None
    """Both sides; None if nothing was compared."""
    recorded: Mapping[str, str] | None = None
    """What Claude recorded, for the journal; None if that is not known."""
    recorded_notes: Mapping[str, str] | None = None
    """The notes beside it."""
    told_by: str = ""
    """``answer`` if a ``hookrouter answer`` has told the agent how it ended."""
    message: str = ""
    """The kind of the message that the agent gets: ``mismatch``, ``unanswered`` or ``warning``; empty for none."""

    def record(self) -> dict[str, object]:
        """Return what the journal gets of it."""
        record: dict[str, object] = {"outcome": self.outcome}
        if self.comparison is not None:
            record |= {"verification": self.comparison.document(), "channel": self.channel}
            if not self.comparison.matches:
                record["level"] = "warning"
            if self.by == "person":
                # Not "by": that is whose decision a hook's reply was.
                record |= {"answered_by": self.by, "who": self.who}
        if self.recorded is not None:
            record["recorded"] = self.recorded
        if self.recorded_notes:
            record["recorded_notes"] = self.recorded_notes
        if self.reason:
            record["reason"] = self.reason
        return record


class Ending(NamedTuple):
    """A dialog that is over without a word of its own, and why."""

    question: Dialog
    """The dialog that has ended."""
    reason: str
    """Why, in words for its agent."""
    state: str = ""
    """How it stands in the transcript, if that was looked up."""


def compared(pending: PendingAnswer, comparison: Comparison) -> End:
    """Return the end of a dialog that was answered so: the agent is told if something else has happened."""
    return End(
        "verified" if comparison.matches else "mismatch",
        comparison.reason,
        pending.by,
        pending.who,
        pending.channel,
        comparison,
        # A person's own command shows them both sides; the agent has decided nothing here.
        message="" if comparison.matches or pending.by == "person" else "mismatch",
    )


def by_person(recorded: Mapping[str, str], notes: Mapping[str, str] | None = None) -> End:
    """Return the end of a dialog that a person has answered in the client; both are by question, and shown as given."""
    return End("answered_by_person", by="person", recorded=recorded, recorded_notes=notes or {})


def gone(pending: PendingAnswer | None, reason: str) -> End:
    """Return the end of a dialog that is not there any more, and of which nothing says what was chosen.

    A person has seen to it, or the decision that was under way has.
    """
    if pending is None:
        return End("answered_by_person", reason, "person")
    return End("unverified", reason, pending.by)


def end(services: Services, question: Dialog, compare: Compare, event: str = "") -> End | None:
    """End an open dialog: compare, note the verdict, tell its agent, remove its documents, in this order.

    Nobody else changes the session's documents meanwhile. With ``event``, what has found the end, the journal gets a
    record of its own. Returns how it ended; None if it is not open any more, or ``compare`` leaves it open. Whoever
    calls this starts the delivery of what the agent is told (:attr:`End.message`). Raises StoreError, and what
    ``compare`` raises; then the dialog stays, for a later event to try again.
    """
    store = services.store
    with documents.holding(store, question.session):
        current = documents.find_question(store, question.session_id, question.tool_use_id)
        if current is None:
            # Another process has ended it meanwhile, and told of it.
            return None
        ended = compare(current, documents.read_pending(store, current.session, current.tool_use_id))
        if ended is None:
            return None
        note_end(services, verdict_of(current, ended))
        if event:
            _journal(services, current, ended, event)
        _tell(services, current, ended)
        documents.remove(store, current.session, current.tool_use_id)
    return ended


def end_of_call(context: Context, tool_use_id: str, compare: Compare) -> End | None:
    """End the dialog of a tool call of which a hook tells now, and nothing will again, as :func:`end` does.

    So its documents are removed on every path, even if comparing or telling raises. The record of this hook's run gets
    how it ended, and what the agent is told is delivered.
    """
    question = documents.find_question(context.store, context.session_id, tool_use_id)
    if question is None:
        return None

    def noted(question: Dialog, pending: PendingAnswer | None) -> End | None:
        ended = compare(question, pending)
        for key, value in _shown(question, ended).items():
            context.note(key, value)
        return ended

    try:
        ended = end(context, question, noted)
    except BaseException:
        documents.delete_question(context.store, question.session, tool_use_id)
        raise
    finally:
        remove_left_behind(question.session, context)
    if ended is not None and ended.message:
        context.start_delivery()
    return ended


def remove_left_behind(session: str, context: Context) -> None:
    """Remove answers that have nothing left to be compared with."""
    for tool_use_id in documents.remove_left_behind(context.store, session):
        context.warn(f"the pending answer to {tool_use_id}, which has ended, was left over and was removed")


def verdict_of(question: Dialog, ended: End) -> Verdict:
    """Return the verdict on a dialog that has ended so."""
    fields = ended._asdict()
    comparison, _ = fields.pop("comparison"), fields.pop("message")
    return Verdict(
        session=question.session,
        session_id=question.session_id,
        tool_use_id=question.tool_use_id,
        agent=question.agent,
        asked_at=question.saved_at,
        kind=question.kind,
        asked=of_dialog(question),
        verification=None if comparison is None else comparison.document(),
        **fields,
    )


def _shown(question: Dialog, ended: End | None) -> dict[str, object]:
    """Return what a record of the journal says of an end; nothing for none."""
    if ended is None:
        return {}
    return ended.record() if question.is_form else {"dialog": question.kind, **ended.record()}


def _journal(services: Services, question: Dialog, ended: End, event: str) -> None:
    named = {"session_id": question.session_id, "session": question.session, "tool_use_id": question.tool_use_id}
    record = {"level": "info", "event": "dialog", "hook": event, **named, **_shown(question, ended)}
    services.journal.write(record, question.session_id or None)


def _tell(services: Services, question: Dialog, ended: End) -> None:
    if ended.comparison is not None and ended.message:
        tell_mismatch(services, question, ended.comparison)
    elif ended.message:
        tell_end(services, question, ended.message, ended.reason)


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
            end(services, ending.question, _swept(services, ending, swept, event))
        except Exception as error:  # noqa: BLE001 - raised again once the other questions are closed
            failure = error
    return swept, failure


def _swept(services: Services, ending: Ending, swept: list[dict[str, str]], event: str) -> Compare:
    """Return what the end of a dialog that is over means, which ``swept`` gets."""

    def compare(question: Dialog, pending: PendingAnswer | None) -> End | None:
        reason = ending.reason
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
        elif outcome == "chat" or question.missed:
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
            return None
        ended, by = end_of_sweep(outcome, ending.state, pending.by if pending is not None else "")
        who = pending.who if pending is not None and by == pending.by else ""
        message = "" if told_by != "wake" else "warning" if outcome == "unverified" else "unanswered"
        return End(ended, reason, by, who, told_by=told_by, message=message)

    return compare


def note_end(services: Services, verdict: Verdict) -> None:
    """Save a verdict; one that cannot be saved keeps no question from being closed, and is a warning."""
    try:
        save_verdict(services.store, verdict)
    except StoreError as error:
        services.warn(f"how {verdict.tool_use_id} ended could not be noted for others: {error}")


def _is_chat(pending: PendingAnswer) -> bool:
    return bool(pending.decisions) and pending.decisions[-1].get("action") == "chat"
