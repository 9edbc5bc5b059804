"""Tells open pages what has changed, by server-sent events.

An event names a topic and nothing of it: the page asks for what it shows, with its own login. Each has a number, so
that a browser which was away is told of what has changed since (``Last-Event-ID``), and of everything if the page's
process is another one by now.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from hookrouter.dialogs import documents, verdicts
from hookrouter.messaging import pauses
from hookrouter.queue.documents import KIND as QUEUE
from hookrouter.sessions.records import KIND as SESSION
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable

    from hookrouter.storage.interface import DocumentStore, DocumentWatch

    Changes = Callable[[Collection[str], object | None], tuple[object, set[str]]]
    """What :meth:`hookrouter.machines.Machines.changed` is."""

__all__ = ["TOPICS", "Live"]

TOPICS = {
    "dialogs": (documents.QUESTION, documents.PENDING, pauses.KIND),
    "sessions": (SESSION, QUEUE, documents.QUESTION, pauses.KIND),
    "history": (documents.QUESTION, verdicts.KIND),
}
"""Topic -> the kinds of documents whose change it tells of."""

_KINDS = sorted({kind for kinds in TOPICS.values() for kind in kinds})

BEAT_SECONDS = 15.0
"""Seconds between two signs of life, so that a browser knows when it is stale."""

GATHER_SECONDS = 0.1
"""Seconds in which changes are gathered into one event: a queue writes several documents for one item."""

_UNTOLD_LOOK = 0.5
"""Seconds between two looks if the system does not tell of changes."""

_OTHERS_LOOK = 1.0
"""Seconds between two looks at what has changed on other machines."""

_RETRY_MS = 1000


class Live:
    """The changes of one home and of the machines beside it, and who listens."""

    def __init__(self, store: DocumentStore, elsewhere: Changes) -> None:
        """Nothing is watched before :meth:`start`. ``elsewhere`` is asked for the other machines' changes."""
        self._store = store
        self._elsewhere = elsewhere
        self._boot = os.urandom(4).hex()
        self._number = 0
        self._changed: dict[str, int] = dict.fromkeys(TOPICS, 0)
        self._wake: set[asyncio.Event] = set()
        self._ending = False
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def listeners(self) -> int:
        """How many pages listen."""
        return len(self._wake)

    def start(self) -> None:
        """Begin to watch, in threads. Called in the event loop."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._watch, name="changes", daemon=True).start()
        threading.Thread(target=self._look_elsewhere, name="changes elsewhere", daemon=True).start()

    def end(self) -> None:
        """Have all streams end. Called in the event loop."""
        self._ending = True
        for event in self._wake:
            event.set()

    async def stream(self, last_id: str) -> AsyncIterator[bytes]:
        """Yield the events from ``last_id`` on, until the page's process ends; nothing is missed between two."""
        boot, _, number = last_id.partition("-")
        seen = int(number) if boot == self._boot and number.isdigit() and len(number) < 16 else -1
        event = asyncio.Event()
        self._wake.add(event)
        try:
            yield f"retry: {_RETRY_MS}\n\n".encode()
            while not self._ending:
                event.clear()
                now = self._number
                due = [topic for topic, at in self._changed.items() if at > seen or seen < 0]
                seen = now
                for topic in due:
                    yield self._event(topic, now)
                if not due:
                    yield self._event("beat", now)
                try:
                    await asyncio.wait_for(event.wait(), BEAT_SECONDS)
                    await asyncio.sleep(GATHER_SECONDS)
                except TimeoutError:
                    continue
        finally:
            self._wake.discard(event)

    def _event(self, name: str, number: int) -> bytes:
        return f"id: {self._boot}-{number}\nevent: {name}\ndata: {number}\n\n".encode()

    def _tell(self, topics: Iterable[str]) -> None:
        self._number += 1
        for topic in topics:
            self._changed[topic] = self._number
        for event in self._wake:
            event.set()

    def _watch(self) -> None:
        while not self._ending:
            try:
                self._follow()
            except StoreError:
                # The state folder may come back.
                time.sleep(1.0)

    def _look_elsewhere(self) -> None:
        place, changed = self._elsewhere(_KINDS, None)
        while not self._ending:
            time.sleep(_OTHERS_LOOK)
            if not self._wake:
                continue
            found, changed = self._elsewhere(_KINDS, place)
            if (found is None) != (place is None):
                # Those machines are seen again, or not any more: all that is shown may be otherwise.
                changed = set(_KINDS)
            place = found
            self._changed_kinds(changed)

    def _changed_kinds(self, changed: Collection[str]) -> None:
        topics = [topic for topic, kinds in TOPICS.items() if not set(kinds).isdisjoint(changed)]
        if topics and self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell, topics)

    def _follow(self) -> None:
        with ExitStack() as stack:
            watches = {kind: stack.enter_context(self._store.watch(kind)) for kind in _KINDS}
            while not self._ending:
                self._changed_kinds({kind for kind, watch in watches.items() if watch.wait(0)})
                _wait(watches.values())


def _wait(watches: Iterable[DocumentWatch]) -> None:
    """Wait until one of the watches may have something to tell, or for a moment."""
    poll = select.poll()
    descriptors = [watch.fileno() for watch in watches]
    for descriptor in descriptors:
        if descriptor >= 0:
            poll.register(descriptor, select.POLLIN)
    # A watch also looks by itself from time to time, for what the system does not tell of.
    poll.poll(2000 if min(descriptors) >= 0 else 1000 * _UNTOLD_LOOK)
