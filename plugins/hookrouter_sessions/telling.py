"""What an agent is to hear of a session: one function for each event, called with plain values.

``before`` and ``after`` are the session's queue around the event, ``ended`` the items that ended with it. What is told,
and whether, is for :mod:`hookrouter.queue.messages.outgoing` to say. That something cannot be told keeps no queue from
going on: it is a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue.messages import outgoing
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Context
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.failures import AfterFailure
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = [
    "held",
    "idle",
    "session_began",
    "session_ended",
    "subagent_ended",
    "turn_ended",
    "turn_failed",
]


def session_began(
    context: Context, record: SessionRecord, source: str, before: Queue, after: Queue, ended: tuple[Item, ...]
) -> None:
    """A session has begun; ``source`` is how."""
    context.note("source", source)
    is_new = _note(context, record, before, after, ended)
    _tell(context, lambda: outgoing.session_started(context, record, after, source, ended, is_held_now=is_new))


def turn_ended(context: Context, record: SessionRecord, before: Queue, after: Queue, ended: tuple[Item, ...]) -> None:
    """A turn has ended in good order."""
    _note(context, record, before, after, ended)
    _tell(context, lambda: outgoing.turn_ended(context, record, after, ended))


def turn_failed(
    context: Context,
    record: SessionRecord,
    before: Queue,
    after: Queue,
    ended: tuple[Item, ...],
    decision: AfterFailure,
) -> None:
    """A turn has ended in an error, and ``decision`` is what becomes of the queue."""
    _note(context, record, before, after, ended)
    _tell(context, lambda: outgoing.turn_failed(context, record, after, decision, ended))


def session_ended(
    context: Context, record: SessionRecord, reason: str, before: Queue, after: Queue, ended: tuple[Item, ...]
) -> None:
    """The session's client has ended; ``reason`` is what it says why."""
    context.note("end", reason)
    is_new = _note(context, record, before, after, ended)
    _tell(context, lambda: outgoing.session_ended(context, record, after, reason, ended, is_held_now=is_new))


def held(context: Context, record: SessionRecord, before: Queue, after: Queue, ended: tuple[Item, ...]) -> None:
    """Note what became of items, and tell that the queue is held now if it was not before."""
    if _note(context, record, before, after, ended):
        _tell(context, lambda: outgoing.queue_held(context, record, after, ended))


def idle(context: Context, record: SessionRecord, queue: Queue) -> None:
    """Claude Code says that it waits for a prompt."""
    _tell(context, lambda: outgoing.session_idle(context, record, queue))


def subagent_ended(context: Context, record: SessionRecord, queue: Queue, agent_type: str, message: str) -> None:
    """A subagent has ended."""
    _tell(context, lambda: outgoing.subagent_ended(context, record, queue, agent_type, message))


def _note(context: Context, record: SessionRecord, before: Queue, after: Queue, ended: tuple[Item, ...]) -> bool:
    """Note in the journal's record what an event did to a queue; return whether the queue is held by it."""
    if ended:
        context.note("items", [[item.id, item.state] for item in ended])
    if after.hold is None or after.hold == before.hold:
        return False
    context.note("held", [after.hold.cause, after.hold.reason])
    context.note("state", record.state)
    return True


def _tell(context: Context, tell: Callable[[], None]) -> None:
    try:
        tell()
    except StoreError as error:
        context.warn(f"the agent of session {context.session} could not be told: {error}")
