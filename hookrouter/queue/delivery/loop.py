"""The process that delivers a session's queue: one for each session, while something waits in its queue.

It stays from the first item to the last, so that the next item follows at once: whatever a hook notes wakes it. It may
be killed at any moment. What it does is noted before it is done, and the next one, which the session's next hook
starts, goes on from there: an item that it finds under way is submitted again only if its channel can tell that it was
not submitted.

This module has the loop, and says whose turn it is: see, in the order of their knowledge, ``sight``, ``evidence`` and
``attempt``. Of a hold that has a time it knows the end.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.delivery.attempt import IDLE_LOOK, Attempts, SessionChannels
from hookrouter.queue.delivery.evidence import LOOK, RECORD_LOOK, Evidence, Following
from hookrouter.queue.delivery.sight import SessionQueue, is_held_for_good
from hookrouter.queue.documents import prune_ended, watch_queue
from hookrouter.queue.failures import CONTINUATION_SECONDS, LIMITED, goes_on_by_itself
from hookrouter.queue.items import DELIVERING
from hookrouter.queue.spawn import LOCK, start_queue
from hookrouter.storage.interface import StoreBusy
from hookrouter.util.clock import now, seconds
from hookrouter.util.regular_file import last_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Services
    from hookrouter.queue.delivery.sight import Sight
    from hookrouter.queue.documents import Hold, Queue
    from hookrouter.storage.interface import DocumentWatch

__all__ = ["QueueDeliverer"]


class QueueDeliverer:
    """Delivers one session's queue until nothing is left, or something holds it."""

    def __init__(self, services: Services, session: str, is_outdated: Callable[[], bool] = lambda: False) -> None:
        """``is_outdated`` says whether another process, which begins anew, is to go on between two items."""
        self._services = services
        self._store = services.store
        self._session = session
        self._is_outdated = is_outdated
        self._watches: tuple[DocumentWatch, ...] = ()
        self._queue = SessionQueue(services, session)
        evidence = Evidence(self._queue, self._wait)
        self._channels = SessionChannels(self._queue, evidence)
        self._attempts = Attempts(self._queue, self._channels, evidence)
        self._following = Following(self._queue, evidence)

    def run(self) -> None:
        """Deliver. Returns at once if another process does. Raises StoreError."""
        while True:
            try:
                with self._store.lock(LOCK, self._session, 0.0):
                    goes_on = self._deliver()
            except StoreBusy:
                return
            if goes_on:
                start_queue(self._services, self._session)
                return
            # What was put in while the lock was held, and this process had looked for the last time.
            if not self._is_wanted():
                prune_ended(self._store)
                return

    def _is_wanted(self) -> bool:
        sight = self._queue.look()
        has_client = sight.record is not None and not sight.is_gone
        return has_client and bool(sight.queue.items) and not is_held_for_good(sight.queue)

    def _deliver(self) -> bool:
        """Deliver until there is nothing to do; return whether another process is to go on."""
        queue_watch, record_watch = watch_queue(self._store, self._session), self._store.watch("session", self._session)
        with queue_watch, record_watch:
            self._watches = (queue_watch, record_watch)
            while True:
                sight = self._queue.look()
                pause = self._step(sight)
                if pause is None:
                    return False
                if pause and self._is_outdated() and not _is_delivering(sight.queue):
                    return True
                self._wait(pause)

    def _step(self, sight: Sight) -> float | None:
        """Do what is to be done now; return how long to wait for a change before the next step, None for the end."""
        queue = sight.queue
        if not queue.items:
            return None
        if sight.record is None:
            return None
        if sight.is_gone:
            self._following.end_client(sight)
            return None
        if sight.client is not None and sight.client.parked_job and not is_held_for_good(queue):
            self._queue.stop(sight, transitions.session_parked)
            return None
        item = queue.under_way
        if item is not None and item.state == DELIVERING:
            return self._attempts.recover(sight, item)
        if item is not None:
            self._channels.prepare(queue, sight.record)
            return self._following.follow(sight, item, sight.record)
        if is_held_for_good(queue):
            return None
        if self._following.is_turn_over(sight):
            return self._following.end_turn(sight)
        if queue.hold is not None:
            return _wait_for_end(self._queue, queue.hold)
        return self._attempts.deliver_next(sight, sight.record)

    def _wait(self, patience: float) -> None:
        """Wait for a change of the queue or of the session's record."""
        if patience <= 0:
            return
        poll = select.poll()
        watched = [watch for watch in self._watches if watch.fileno() >= 0]
        for watch in watched:
            poll.register(watch.fileno(), select.POLLIN)
        if len(watched) < len(self._watches):
            # An engine that cannot tell is asked from time to time.
            patience = min(patience, RECORD_LOOK)
        deadline = time.monotonic() + patience
        while (left := deadline - time.monotonic()) > 0:
            if not poll.poll(left * 1000):
                break
            # Each of them: it is asked what it was told of.
            changed = [watch.wait(0) for watch in self._watches]
            if any(changed):
                return
        for watch in self._watches:
            watch.wait(0)


def _is_delivering(queue: Queue) -> bool:
    item = queue.under_way
    return item is not None and item.state == DELIVERING


def _wait_for_end(queue: SessionQueue, hold: Hold) -> float:
    """End a hold whose time has come. Returns the seconds until the next look. Raises StoreError."""
    until = seconds(hold.until)
    left = 0.0 if until is None else until - now()
    if left > 0:
        return min(left, IDLE_LOOK)
    if left > -CONTINUATION_SECONDS and _goes_on_by_itself(queue, hold):
        return LOOK
    queue.change(lambda there: there._replace(hold=None) if there.hold == hold else there)
    return 0.0


def _goes_on_by_itself(queue: SessionQueue, hold: Hold) -> bool:
    """Whether the client itself is about to go on after a usage limit: nothing may come in its way then."""
    record = queue.look().record
    return hold.cause == LIMITED and record is not None and goes_on_by_itself(last_lines(record.transcript_path))
