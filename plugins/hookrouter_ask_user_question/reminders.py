"""What is sent about a question that nobody answers: reminders to its agent, then one message to somebody else.

``[answer]`` in config.toml says when. All of it is kept in the document of the question's wake and is timed by the
outbox; what has not gone out when the question's document is gone is dropped there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.answering import FollowUp
from hookrouter.clock import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from hookrouter.answering import Wake
    from hookrouter.config import AnswerConfig
    from hookrouter_ask_user_question.documents import Question

__all__ = ["ESCALATION", "REMINDER", "Reminded", "follow_ups", "reminded"]

REMINDER = "reminder"
"""The kind of a wake that reminds the agent."""

ESCALATION = "escalation"
"""The kind of the wake to the escalation gateway."""


def follow_ups(question: Question, wake: Wake, answer: AnswerConfig) -> tuple[FollowUp, ...]:
    """Return what follows the wake of a question, as the config has it; empty where it asks for nothing."""
    found: list[FollowUp] = []
    count = answer.reminders if answer.remind_after else 0
    after: tuple[FollowUp, ...] = ()
    # Each carries the next one, so that one that is late delays those after it.
    for number in range(count, 0, -1):
        head = (
            f"# Reminder {number} of {count}\n\nThis question was sent to you before, and it still waits for your "
            "answer.\n\n"
        )
        reminder = wake._replace(kind=REMINDER, subject=f"Reminder: {wake.subject}", text=head + wake.text)
        wait = answer.remind_after if number == 1 else answer.remind_every or answer.remind_after
        after = (FollowUp(reminder, wait, fallbacks=question.fallbacks, then=after),)
    found += after
    if answer.escalate_to:
        head = (
            f"# Nobody has answered for {_duration(answer.escalate_after)}\n\nThe agent `{question.agent}` was asked "
            "and has not answered. You can answer in its stead: at the session's own terminal, or as it says below.\n\n"
        )
        escalation = wake._replace(
            kind=ESCALATION,
            gateway=answer.escalate_to,
            subject=f"Not answered for {_duration(answer.escalate_after)}: {wake.subject}",
            text=head + wake.text,
        )
        found.append(FollowUp(escalation, answer.escalate_after, after_delivery=False))
    return tuple(found)


class Reminded(NamedTuple):
    """What has been sent about a question that is still open. Times are ISO 8601, UTC."""

    reminders: tuple[str, ...]
    """When each reminder was delivered."""
    escalated_at: str | None
    """When the escalation was delivered; None where it was not."""
    next_at: str | None
    """When the next of both is due; None where none is left, or it waits for the delivery before it."""


def reminded(
    question: Question, records: Iterable[Mapping[str, object]], messages: Iterable[Mapping[str, Any]]
) -> Reminded:
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
        if message.get("kind") not in sent and not message.get("then"):
            continue
        if (message.get("session_id"), message.get("tool_use_id")) != (question.session_id, question.tool_use_id):
            continue
        if message.get("kind") in sent and message["given_up"] is None and seconds(message["not_before"]) is not None:
            due.append(message["not_before"])
    return Reminded(tuple(sent[REMINDER]), next(iter(sent[ESCALATION]), None), min(due, default=None))


def _duration(amount: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if amount >= 2 * size:
            return f"{amount / size:.3g} {unit}"
    return f"{amount:.3g} seconds"
