"""What is sent about a question that nobody answers: reminders to its agent, then one message to somebody else.

``[answer]`` in config.toml says when. All of it is kept in the document of the question's wake and is timed by the
outbox; what has not gone out when the question's document is gone is dropped there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.messaging.gateway import ScheduledMessage
from hookrouter.util.clock import seconds
from hookrouter.util.markdown import code
from hookrouter.util.text import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.config import AnswerConfig, Config
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.messaging.gateway import Message
    from hookrouter.messaging.message import QueuedMessage

__all__ = [
    "ESCALATION",
    "QUESTION",
    "REMINDER",
    "Reminded",
    "follow_ups",
    "refused_answers",
    "reminded",
    "silent_since",
]

QUESTION = "question"
"""The kind of the wake itself."""

REMINDER = "reminder"
"""The kind of a wake that reminds the agent."""

ESCALATION = "escalation"
"""The kind of the wake to the escalation gateway."""


def follow_ups(
    question: Dialog, wake: Message, answer: AnswerConfig, read_again: str = ""
) -> tuple[ScheduledMessage, ...]:
    """Return what follows the wake of a question, as the config has it; empty if it asks for nothing.

    What they say is built when they go out (:mod:`hookrouter.dialogs.composer`); until then they hold a line
    each, and ``read_again``, the command that shows the question.
    """
    found: list[ScheduledMessage] = []
    count = answer.reminders if answer.reminds else 0
    after: tuple[ScheduledMessage, ...] = ()
    # Each carries the next one, so that one that is late delays those after it.
    for number in range(count, 0, -1):
        reminder = wake._replace(
            kind=REMINDER,
            subject=f"Reminder: {wake.subject}",
            text=f"# Reminder {number} of {count}: {wake.subject}\n\nTo read it again: {code(read_again)}\n",
            data={"reminder": {"number": number, "of": count}},
        )
        wait = answer.remind_after if number == 1 else answer.remind_every or answer.remind_after
        after = (ScheduledMessage(reminder, wait, fallbacks=question.fallbacks, then=after),)
    found += after
    if answer.escalate_to:
        subject = f"Not answered for {duration(answer.escalate_after)}: {wake.subject}"
        if question.is_reserved:
            subject = f"A person must decide: {wake.subject}"
        text = f"# {subject}\n\nTo read it: {code(read_again)}\n"
        escalation = wake._replace(kind=ESCALATION, gateway=answer.escalate_to, subject=subject, text=text, data={})
        found.append(ScheduledMessage(escalation, answer.escalate_after, after_delivery=False))
    return tuple(found)


class Reminded(NamedTuple):
    """What has been sent about a question that is still open. Times are ISO 8601, UTC."""

    reminders: tuple[str, ...]
    """When each reminder was delivered."""
    escalated_at: str | None
    """When the escalation was delivered; None if it was not."""
    next_at: str | None
    """When the next of both is due; None if none is left, or it waits for the delivery before it."""


def reminded(question: Dialog, records: Iterable[Mapping[str, object]], messages: Iterable[QueuedMessage]) -> Reminded:
    """Return what has been sent about a question, of the journal's records of its session and the outbox's messages."""
    sent: dict[str, list[str]] = {REMINDER: [], ESCALATION: []}
    for record in records:
        if (record.get("event"), record.get("outcome")) != ("delivery", "delivered"):
            continue
        kind = str(record.get("kind"))
        if record.get("tool_use_id") == question.tool_use_id and kind in sent:
            sent[kind].append(str(record.get("at")))
    due = []
    for message in messages:
        if (message.session_id, message.tool_use_id) != (question.session_id, question.tool_use_id):
            continue
        if message.kind in sent and message.given_up is None and message.not_before and seconds(message.not_before):
            due.append(message.not_before)
    return Reminded(tuple(sent[REMINDER]), next(iter(sent[ESCALATION]), None), min(due, default=None))


def silent_since(
    question: Dialog, records: Iterable[Mapping[str, object]], config: Config, moment: float
) -> str | None:
    """Return since when the agent has given no sign, if that is longer ago than ``[answer] escalate_after``.

    The last sign is that it took the question (an inbox takes it for nobody), or tried to answer it, as the journal's
    records of the session say. None if there is none, or it is not so long ago. ``moment`` is now, in seconds since
    1970.
    """
    signs = [str(record.get("at")) for record in records if _is_sign(record, question, config)]
    last = max(signs, default="")
    begun = seconds(last)
    return last if begun is not None and moment - begun >= config.answer.escalate_after else None


def refused_answers(question: Dialog, records: Iterable[Mapping[str, object]]) -> dict[str, object] | None:
    """Return how many answers of agents to a question were refused, and when and why the last one was.

    None if none was. A person was told at once, and tries again.
    """
    found = [
        record
        for record in records
        if (record.get("event"), record.get("outcome"), record.get("tool_use_id"))
        == ("answer", "invalid", question.tool_use_id)
        and record.get("by") != "person"
    ]
    if not found:
        return None
    return {"count": len(found), "last_at": str(found[-1].get("at")), "reason": str(found[-1].get("reason"))}


def _is_sign(record: Mapping[str, object], question: Dialog, config: Config) -> bool:
    if record.get("tool_use_id") != question.tool_use_id:
        return False
    if record.get("event") == "answer":
        return record.get("by") != "person"
    taken = (record.get("event"), record.get("outcome"), record.get("kind")) == ("delivery", "delivered", QUESTION)
    return taken and not config.is_inbox(str(record.get("gateway")))
