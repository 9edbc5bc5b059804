"""The calls that the gate has in hand, by the ids that its clients gave them."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from hookrouter._serving.caller import CallError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookrouter._serving.caller import BroughtCall, Outcome
    from hookrouter._serving.gate.messages import CallRequest

__all__ = ["Calls", "Entry", "Refused"]

FORGOTTEN = 45.0
"""Seconds without a question of its client after which a running call is ended: the client is gone."""

KEPT = 300.0
"""Seconds for which a call that has ended is remembered, for a client that did not hear of it."""

MAX_RUNNING = 1000
MAX_KEPT = 200


class Refused(Exception):
    """A call that the gate does not begin; the text says why."""


class Entry:
    """One call: a task, and when its client last asked for it."""

    def __init__(self, task: asyncio.Task[Outcome], now: Callable[[], float]) -> None:
        """Take the task that makes the call, and the clock, in seconds."""
        self.task = task
        self._now = now
        self.asking = 0
        """How many requests wait for it now."""
        self.touched = now()
        """When it was last asked for, or when it ended."""
        task.add_done_callback(self._ended)

    def touch(self) -> None:
        """Note that something has happened to it now."""
        self.touched = self._now()

    def _ended(self, task: asyncio.Task[Outcome]) -> None:
        self.touch()
        if not task.cancelled():
            # Whoever asks is told; perhaps nobody does.
            task.exception()

    async def wait(self, seconds: float) -> Outcome | None:
        """Wait for its end; return it, None if it still runs. Raises CallError if it could not be made."""
        self.asking += 1
        try:
            await asyncio.wait([self.task], timeout=seconds)
        finally:
            self.asking -= 1
            self.touch()
        if not self.task.done():
            return None
        if self.task.cancelled():
            raise CallError("the call was ended")
        return self.task.result()


class Calls:
    """All calls by id: the same id is the same call while it runs and for some minutes after."""

    def __init__(
        self, bring: Callable[[BroughtCall], Awaitable[Outcome]], now: Callable[[], float] = time.monotonic
    ) -> None:
        """``bring`` makes one call; ``now`` is the clock by which calls are forgotten, in seconds."""
        self._bring = bring
        self._now = now
        self._entries: dict[str, Entry] = {}
        self._running = 0

    def get(self, identifier: str) -> Entry | None:
        """Return a call that is known; None for any other."""
        return self._entries.get(identifier)

    def begin(self, request: CallRequest) -> Entry:
        """Return the call of this id; it begins if it is new. Raises Refused."""
        known = self._entries.get(request.id)
        if known is not None:
            return known
        if request.before is not None and time.time() > request.before:
            raise Refused("the call was given up before it began")
        if len(self) >= MAX_RUNNING:
            raise Refused(f"{MAX_RUNNING} calls are running")
        task = asyncio.ensure_future(self._made(request.call))
        self._running += 1
        task.add_done_callback(self._ended)
        entry = self._entries[request.id] = Entry(task, self._now)
        return entry

    def end(self, identifier: str) -> bool:
        """End a call; return whether it was known."""
        entry = self._entries.get(identifier)
        if entry is not None:
            entry.task.cancel()
        return entry is not None

    async def end_all(self) -> None:
        """End all calls, and wait until they have."""
        tasks = [entry.task for entry in self._entries.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def sweep(self) -> None:
        """End the calls that nobody asks for any more, and forget those that ended long ago."""
        now = self._now()
        ended = 0
        # The newest are the last ones.
        for identifier, entry in reversed(list(self._entries.items())):
            age = now - entry.touched
            if not entry.task.done():
                if age > FORGOTTEN and not entry.asking:
                    entry.task.cancel()
            else:
                ended += 1
                if age > KEPT or ended > MAX_KEPT:
                    del self._entries[identifier]

    def __len__(self) -> int:
        """Return how many are running."""
        return self._running

    def _ended(self, _task: asyncio.Task[Outcome]) -> None:
        self._running -= 1

    async def _made(self, call: BroughtCall) -> Outcome:
        return await self._bring(call)
