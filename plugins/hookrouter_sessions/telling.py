"""What an agent is to hear of a session: one function for each event, called with plain values.

``before`` and ``after`` are the session's queue around the event, ``ended`` the items that ended with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookrouter.context import Context
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["held", "prompt_submitted", "session_began", "session_ended", "turn_ended", "turn_failed"]


def session_began(
    context: Context, record: SessionRecord, source: str, before: Queue, after: Queue, ended: tuple[Item, ...]
) -> None:
    """A session has begun; ``source`` is how."""
    context.note("source", source)
    held(context, record, before, after, ended)


def prompt_submitted(
    context: Context, record: SessionRecord, before: Queue, after: Queue, ended: tuple[Item, ...]
) -> None:
    """A prompt was submitted; if it was not ours, the queue is held now."""
    held(context, record, before, after, ended)


def turn_ended(context: Context, record: SessionRecord, before: Queue, after: Queue, ended: tuple[Item, ...]) -> None:
    """A turn has ended in good order."""
    held(context, record, before, after, ended)


def turn_failed(context: Context, record: SessionRecord, before: Queue, after: Queue, ended: tuple[Item, ...]) -> None:
    """A turn has ended in an error."""
    held(context, record, before, after, ended)


def session_ended(
    context: Context, record: SessionRecord, reason: str, before: Queue, after: Queue, ended: tuple[Item, ...]
) -> None:
    """The session's client has ended; ``reason`` is what it says why."""
    context.note("end", reason)
    held(context, record, before, after, ended)


def held(context: Context, record: SessionRecord, before: Queue, after: Queue, ended: tuple[Item, ...]) -> None:
    """Note what became of items, and that the queue is held now if it was not before."""
    if ended:
        context.note("items", [[item.id, item.state] for item in ended])
    if after.hold is not None and after.hold != before.hold:
        context.note("held", [after.hold.cause, after.hold.reason])
        context.note("state", record.state)
