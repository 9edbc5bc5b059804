"""What is passed to the mods of clients: prompts and commands, from whoever delivers a queue to the session's client.

The gate is a letter box: it knows neither queues nor what proves anything. A mod asks for the next prompt, with the ids
of those that it has been given; one that it does not name is given again, because the answer that held it was lost. A
mod acts on an id once, and remembers what became of it, so both sides may repeat everything.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hookrouter._serving.gate.messages import Handing

__all__ = ["FORGOTTEN", "PRESENT", "Handed", "Mods"]

PRESENT = 5.0
"""Seconds since its last question for which a mod counts as there: it asks again at once, or some seconds later if an
answer was lost."""

FORGOTTEN = 300.0
"""Seconds after which a mod that asks no more, and what was handed to it, is forgotten."""

MAX_HANDED = 100
"""Prompts that are remembered for one mod."""


class Handed:
    """One prompt that was handed to a mod, and what has become of it."""

    def __init__(self, handing: Handing) -> None:
        """Nothing has become of it yet."""
        self.handing = handing
        self.outcome: Mapping[str, Any] | None = None
        self._ended = asyncio.Event()

    def end(self, outcome: Mapping[str, Any]) -> None:
        """Note what the mod says of it; what it says later is the same."""
        if self.outcome is None:
            self.outcome = outcome
            self._ended.set()

    async def wait(self, seconds: float) -> Mapping[str, Any] | None:
        """Wait until the mod has said what became of it; return that, None if it has not."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return None
        return self.outcome


class _Mod:
    """The mod of one client, from its start to its end."""

    def __init__(self) -> None:
        self.session_id = ""
        self.asking = 0
        self.touched = 0.0
        self.handed: dict[str, Handed] = {}
        self.news = asyncio.Event()

    def next(self, has: Collection[str]) -> Handing | None:
        """Return the oldest prompt that the mod neither has nor has done."""
        for identifier, one in self.handed.items():
            if one.outcome is None and identifier not in has:
                return one.handing
        return None


class Mods:
    """The mods of all clients, by the ids that they gave themselves when they were loaded."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with none; ``now`` is the clock by which mods are forgotten, in seconds."""
        self._now = now
        self._mods: dict[str, _Mod] = {}
        self._is_over = False

    async def ask(self, mod: str, session_id: str, has: Collection[str], seconds: float) -> Handing | None:
        """A mod, of a client that shows this session, asks for a prompt: return it, None if none comes in that time."""
        one = self._mods.get(mod)
        if one is None:
            one = self._mods[mod] = _Mod()
        one.session_id = session_id
        one.asking += 1
        one.touched = self._now()
        try:
            async with asyncio.timeout(seconds):
                while not self._is_over and (found := one.next(has)) is None:
                    one.news.clear()
                    await one.news.wait()
        except TimeoutError:
            found = None
        finally:
            one.asking -= 1
            one.touched = self._now()
        return None if self._is_over else found

    def of_session(self, session_id: str) -> str | None:
        """Return the mod of the client that shows a session; None if none is there. Of several, the last to begin."""
        found = None
        for name, one in self._mods.items():
            if one.session_id == session_id and (one.asking or self._now() - one.touched <= PRESENT):
                found = name
        return found

    def hand(self, mod: str, handing: Handing) -> Handed | None:
        """Hand a prompt to a mod, unless one of this id was; return it, None if the mod is not known."""
        one = self._mods.get(mod)
        if one is None:
            return None
        handed = one.handed.get(handing.id)
        if handed is None:
            handed = one.handed[handing.id] = Handed(handing)
            while len(one.handed) > MAX_HANDED:
                del one.handed[next(iter(one.handed))]
            one.news.set()
        return handed

    def ended(self, mod: str, identifier: str, outcome: Mapping[str, Any]) -> bool:
        """Note what a mod says has become of a prompt; return whether it was handed to it here."""
        one = self._mods.get(mod)
        handed = None if one is None else one.handed.get(identifier)
        if handed is not None:
            handed.end(outcome)
        return handed is not None

    def sweep(self) -> None:
        """Forget mods that ask no more."""
        now = self._now()
        for name, one in list(self._mods.items()):
            if not one.asking and now - one.touched > FORGOTTEN:
                del self._mods[name]

    def end_all(self) -> None:
        """Have all that ask wait no longer: the next gate is asked."""
        self._is_over = True
        for one in self._mods.values():
            one.news.set()
