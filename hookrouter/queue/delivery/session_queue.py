"""A session's queue as its deliverer changes it: each change under the lock, and what is told of it.

It knows the queue's document, who is told, and the journal. What a change is good for, it is not told: it knows no
channel and no transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.delivery.readiness import look_at
from hookrouter.queue.delivery.terminal import screen_of
from hookrouter.queue.documents import change_queue, read_queue
from hookrouter.queue.telling import queue_emptied, queue_stopped, queue_waits, turn_failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.answering.interfaces import Screen
    from hookrouter.context import Services
    from hookrouter.queue.delivery.readiness import Sight
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.failures import FailedTurn
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["SessionQueue"]


class SessionQueue:
    """The queue of one session. Its methods raise StoreError."""

    def __init__(self, services: Services, session: str) -> None:
        """``session`` is the session's name."""
        self.services = services
        self.session = session
        self.store = services.store

    def look(self) -> Sight:
        """Return what is known of the session now."""
        return look_at(self.services, self.session)

    def item(self, name: str) -> Item | None:
        """Return the item of an id as it is now; None if it has ended."""
        return read_queue(self.store, self.session).item(name)

    def change(self, change: Callable[[Queue], Queue]) -> Queue:
        """Change the queue, and tell nobody; return it as it is then, ended items left out."""
        return change_queue(self.store, self.session, change)

    def put_back(self, item: Item, reason: str) -> None:
        """Make an item of which nothing was submitted the next one again."""
        self.change(lambda queue: transitions.not_now(queue, item.id, reason))

    def change_and_tell(self, change: Callable[[Queue], Queue], record: SessionRecord) -> None:
        """Change the queue by something of which no hook tells; tell if that has held it, or ended the last item."""
        before, after = self._changed(change)
        ended = _ended(before, after)
        if after.hold is not None and after.hold != before.hold:
            queue_stopped(self.services, after, record, items=ended)
        elif ended and not after.items:
            queue_emptied(self.services, after, record, ended)

    def fail_turn(self, record: SessionRecord, change: FailedTurn) -> None:
        """Change the queue by a turn that ended in an error of which no hook has told, and tell."""
        before, after = self._changed(change)
        turn_failed(self.services, after, record, change.decision, _ended(before, after))

    def tell_kept_back(self, sight: Sight, record: SessionRecord, reason: str) -> None:
        """Say that the next item is kept back, by something that is not the queue's; with what the session shows."""
        screen = screen_of(self.services, self.session, record)
        queue_waits(self.services, sight.queue, record, reason, status=_status(sight), screen=screen)

    def stop_at(self, sight: Sight, change: Callable[[Queue], Queue]) -> None:
        """Hold the queue because of an item, and tell; with what the session shows."""
        self.stop(sight, change, screen_of(self.services, self.session, sight.record))

    def stop(self, sight: Sight, change: Callable[[Queue], Queue], screen: Screen | None = None) -> None:
        """Hold the queue by a change, and tell if that has changed anything."""
        before, after = self._changed(change)
        if after.hold is None or after == before:
            return
        items, status = _ended(before, after), _status(self.look())
        queue_stopped(self.services, after, sight.record, items=items, status=status, screen=screen)

    def write_journal(self, record: SessionRecord, item: Item, outcome: str, **more: object) -> None:
        """Write down what has come of an item."""
        entry: dict[str, object] = {"level": "info", "event": "queue", "session": self.session, "item": item.id}
        entry |= {"session_id": record.session_id, "outcome": outcome, **more}
        self.services.journal.write(entry, record.session_id or None)

    def _changed(self, change: Callable[[Queue], Queue]) -> tuple[Queue, Queue]:
        """Change the queue; return it as it was under the lock, and with the change, ended items left out."""
        seen: list[Queue] = []

        def apply(queue: Queue) -> Queue:
            seen.append(queue)
            return change(queue)

        after = self.change(apply)
        return seen[0], after


def _status(sight: Sight) -> str:
    """Return what the client's registry says of the session, in words."""
    return "" if sight.client is None else f"{sight.client.status} {sight.client.waiting_for}".strip()


def _ended(before: Queue, after: Queue) -> tuple[Item, ...]:
    return tuple(item for item in before.items if after.item(item.id) is None)
