"""What became of an item that was sent, with its exit code, and the wait for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs.answers.result import ExitCode
from hookrouter.messaging.pauses import is_paused
from hookrouter.queue.delivery.sight import waits_for
from hookrouter.queue.documents import ended_items, list_queues, read_queue, watch_queue
from hookrouter.queue.items import DONE, DROPPED, FAILED, QUEUED, STARTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.context import Services
    from hookrouter.messaging.pauses import Pause
    from hookrouter.queue.documents import Hold
    from hookrouter.queue.items import Item

__all__ = ["FAILED_CODE", "SUBMITTED", "ItemOutcome", "Sent", "Waiting", "in_time", "outcome_of"]

FAILED_CODE = 1
"""The exit code if an item was submitted, and what it had Claude do ended in an error."""

SUBMITTED = "submitted"
"""The key of an item's ``proof`` that holds what was submitted in its place, if that was something else."""

_LOOK_SECONDS = 1.0
"""How often to look although no queue has changed: a pause, or a system that does not tell of changes."""


class ItemOutcome(NamedTuple):
    """What became of an item."""

    outcome: str
    """``started``, ``done``, ``failed``, ``different``, ``not_delivered``, ``held``, ``paused`` or
    ``not_confirmed``."""
    exit_code: int
    reason: str = ""
    """Why, in one sentence."""

    @property
    def is_ok(self) -> bool:
        """Whether that is what was waited for."""
        return self.exit_code == ExitCode.OK


class Sent(NamedTuple):
    """An item where it is now."""

    session: str
    item: Item
    hold: Hold | None = None
    """What holds its queue."""
    pause: Pause | None = None
    """What pauses its session."""


def outcome_of(sent: Sent, wanted: str) -> ItemOutcome | None:
    """Return what became of an item; None if there is more to wait for. ``wanted`` is ``started`` or ``done``."""
    item = sent.item
    if item.state == DONE:
        return ItemOutcome("done", ExitCode.OK)
    if item.state == DROPPED:
        return ItemOutcome("not_delivered", ExitCode.NOT_DELIVERED, item.reason or "it was dropped")
    if item.state == FAILED:
        return _failed(item, wanted)
    if item.state == STARTED and wanted == STARTED:
        return ItemOutcome("started", ExitCode.OK)
    if item.state == QUEUED and sent.hold is not None and not sent.hold.until:
        return ItemOutcome("held", ExitCode.NOT_DELIVERED, f"the queue is held: {sent.hold.reason}")
    if item.state == QUEUED and sent.pause is not None:
        return ItemOutcome("paused", ExitCode.NOT_DELIVERED, sent.pause.described())
    return None


def in_time(sent: Sent, why: str = "") -> ItemOutcome:
    """Return what is to be said of an item for which there was more to wait for when the time was over.

    ``why`` is what one that was not delivered yet waits for, if that is known.
    """
    state = sent.item.state
    if state == QUEUED and sent.hold is not None:
        return ItemOutcome("held", ExitCode.NOT_DELIVERED, f"the queue is held: {sent.hold.reason}")
    said = {
        QUEUED: f"it still waits in the queue{f': {why}' if why else ', and will be delivered'}",
        STARTED: "it was submitted, and has not ended in time",
    }.get(state, "its delivery has begun, and nothing has proven in time that it was submitted")
    return ItemOutcome("not_confirmed", ExitCode.NOT_CONFIRMED, said)


def _failed(item: Item, wanted: str) -> ItemOutcome:
    reason = item.reason or "nothing says why"
    if item.started_at:
        started = ItemOutcome("started", ExitCode.OK)
        return started if wanted == STARTED else ItemOutcome("failed", FAILED_CODE, reason)
    if SUBMITTED in item.proof:
        return ItemOutcome("different", ExitCode.RECORDED_DIFFERENTLY, reason)
    if item.phase:
        # The channel had come to an act that cannot be taken back.
        return ItemOutcome("not_confirmed", ExitCode.NOT_CONFIRMED, reason)
    return ItemOutcome("not_delivered", ExitCode.NOT_DELIVERED, reason)


class Waiting:
    """The wait for items that were put into a session's queue. The queue may go on under another name meanwhile."""

    def __init__(self, services: Services, session: str, items: Sequence[Item]) -> None:
        """Nothing is read yet."""
        self._services = services
        self._store = services.store
        self._sent = {item.id: Sent(session, item) for item in items}

    def wait(self, wanted: str, patience: float) -> list[tuple[Sent, ItemOutcome]]:
        """Wait until each item is what is wanted, or cannot be; at most so many seconds. Raises StoreError."""
        deadline = time.monotonic() + patience
        with watch_queue(self._store) as changes:
            while True:
                self._look()
                found = [(one, outcome_of(one, wanted)) for one in self._sent.values()]
                left = deadline - time.monotonic()
                if all(outcome is not None for _, outcome in found) or left <= 0:
                    return [(one, outcome or self._in_time(one)) for one, outcome in found]
                changes.wait(min(left, _LOOK_SECONDS))

    def _in_time(self, one: Sent) -> ItemOutcome:
        return in_time(one, waits_for(self._services, one.session, one.item) if one.item.state == QUEUED else "")

    def now(self) -> list[Sent]:
        """Return the items as they were seen last."""
        return list(self._sent.values())

    def _look(self) -> None:
        open_ids = [name for name, one in self._sent.items() if not one.item.is_ended]
        for session in dict.fromkeys(self._sent[name].session for name in open_ids):
            self._take(session, open_ids)
        # An item is kept as ended before it leaves its queue.
        for session, item in ended_items(self._store, open_ids):
            self._sent[item.id] = Sent(session, item)

    def _take(self, session: str, names: Sequence[str]) -> None:
        queue, pause = read_queue(self._store, session), is_paused(self._store, session)
        mine = [name for name in names if self._sent[name].session == session]
        left = [name for name in mine if queue.item(name) is None]
        for item in queue.items:
            if item.id in mine:
                self._sent[item.id] = Sent(session, item, queue.hold, pause)
        if left:
            # It has ended, or the queue goes on under another name.
            for other in list_queues(self._store):
                for item in other.items:
                    if item.id in left:
                        pause = is_paused(self._store, other.session)
                        self._sent[item.id] = Sent(other.session, item, other.hold, pause)
