"""The figures of *Statistics*, counted in a thread: nobody waits for a large journal to be read."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._diagnostics.statistics import Figures, Times
from hookrouter._page.reading.pace import Pace
from hookrouter.storage.journal import parsed
from hookrouter.storage.journal_query import Tail
from hookrouter.util.clock import iso, now, seconds

if TYPE_CHECKING:
    from hookrouter._diagnostics.statistics import Calls
    from hookrouter._page.reading.stories import StoryIndex
    from hookrouter.context import Services

__all__ = ["Counted", "Counting"]

FRESH_SECONDS = 30.0
STRETCHES = 30
"""Stretches of time into which the plots are divided."""

WAITED = ((10, "10 s"), (30, "30 s"), (60, "1 min"), (300, "5 min"), (1800, "30 min"), (7200, "2 h"), (86400, "1 d"))
"""Upper ends of the classes of waiting times, in seconds, with their names."""

_TIMED = ("verified", "mismatch", "unverified", "answered_by_person")
_DAY = 86400.0


class Row(NamedTuple):
    """The calls of one plugin's hook, or of one event."""

    name: str
    calls: int
    failed: int
    times: Times


class Counted(NamedTuple):
    """What was counted."""

    at: str
    """When (ISO 8601, UTC)."""
    runs: int
    sessions: int
    start: str
    """The beginning of the first stretch of time (ISO 8601)."""
    stretch: float
    """Seconds of each."""
    calls: list[int]
    """Hook runs in each stretch."""
    events: list[Row]
    plugins: list[Row]
    outcomes: dict[str, list[int]]
    """Outcome -> how many questions ended so in each stretch."""
    waited: list[int]
    """How many answers came within each of :data:`WAITED`, and after all of them."""


class Counting:
    """Counts what the journal tells, and goes on with what is new."""

    def __init__(self, stories: StoryIndex) -> None:
        """Nothing is counted yet."""
        self._stories = stories
        self._pace = Pace()
        self._lock = threading.Lock()
        self._is_running = False
        self._due = float("-inf")
        self._tail: Tail | None = None
        self._figures: Figures | None = None
        self.counted: Counted | None = None
        """The last figures; None while the first ones are counted."""

    def look(self, services: Services) -> None:
        """Begin to count in a thread, unless it was done a moment ago."""
        with self._lock:
            if self._is_running or time.monotonic() < self._due:
                return
            self._is_running = True
        threading.Thread(target=self._count, args=(services,), name="figures", daemon=True).start()

    def _count(self, services: Services) -> None:
        try:
            if self._tail is None or self._figures is None:
                waits = {(info.name, hook) for info in services.plugins.listing() for hook in info.waits}
                self._tail = Tail(services.journal.folder, whole=True)
                self._figures = Figures(waiting=waits)
            for line in self._tail.each():
                record = parsed(line)
                if record is not None:
                    self._figures.add(record)
                self._pace.rest()
            self._stories.refresh(is_awaited=False)
            self.counted = self._told(self._figures)
        finally:
            with self._lock:
                self._is_running, self._due = False, time.monotonic() + FRESH_SECONDS

    def _told(self, figures: Figures) -> Counted:
        happened: dict[str, list[float]] = {}
        waited = [0] * (len(WAITED) + 1)
        for story in self._stories.all():
            ended = seconds(story["ended_at"])
            if ended is None:
                continue
            happened.setdefault(story["outcome"], []).append(ended)
            if story["outcome"] in _TIMED and story["seconds"] is not None:
                place = next((at for at, (end, _) in enumerate(WAITED) if story["seconds"] <= end), len(WAITED))
                waited[place] += 1
        end = now()
        line = figures.timeline(STRETCHES, end - 30 * _DAY, end, happened)
        return Counted(
            at=iso(end),
            runs=figures.runs.count,
            sessions=len(figures.sessions),
            start="" if line is None else line.start,
            stretch=0.0 if line is None else line.seconds,
            calls=[] if line is None else line.calls,
            events=_rows({" ".join(filter(None, key)): calls for key, calls in figures.by_event.items()}),
            plugins=_rows({f"{plugin} {hook}": calls for (plugin, hook), calls in figures.by_plugin.items()}),
            outcomes={} if line is None else dict(sorted(line.rows.items())),
            waited=waited,
        )


def _rows(found: dict[str, Calls]) -> list[Row]:
    rows = [Row(name, calls.count, calls.failed, Times.of(calls.ms)) for name, calls in found.items()]
    return sorted(rows, key=lambda row: -row.calls)
