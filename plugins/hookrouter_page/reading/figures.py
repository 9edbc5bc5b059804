"""The figures of *Statistics*, counted in a thread: nobody waits for a large journal to be read."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.diagnostics import Figures, Times
from hookrouter.dialogs.stories.story import UNKNOWN
from hookrouter.storage.history_counts import (
    DAY,
    ENDED,
    PLUGINS,
    RUNS,
    SESSIONS,
    TIMED,
    WAITED,
    day_of,
    timing,
    wait_class,
)
from hookrouter.storage.journal import parsed
from hookrouter.storage.journal_query import Tail
from hookrouter.util.clock import iso, now, seconds
from hookrouter_page.reading.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter.context import Services
    from hookrouter.diagnostics import Calls
    from hookrouter.storage.history import Count
    from hookrouter_page.reading.kept import KeptHistory
    from hookrouter_page.reading.stories import StoryIndex

__all__ = ["Counted", "Counting"]

FRESH_SECONDS = 30.0
STRETCHES = 30
"""Stretches of time into which the plots are divided."""


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
    """How many answers came within each of :data:`hookrouter.storage.history_counts.WAITED`, and after all of them."""
    machines: int = 1
    """Of how many machines."""
    problem: str = ""
    """Why only this machine was counted, if others share an engine with it; empty if they do not, or were."""


class Counting:
    """Counts what the journal tells, and goes on with what is new."""

    def __init__(self, stories: StoryIndex, kept: KeptHistory) -> None:
        """Nothing is counted yet."""
        self._stories = stories
        self._kept = kept
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
            problem = ""
            try:
                if (history := self._kept.of(services)) is not None:
                    self.counted = _counted(history.counts(day_of(now()) - STRETCHES + 1), len(history.machines()))
                    return
            except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
                problem = str(self._kept.failed(error))
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
            self.counted = self._told(self._figures)._replace(problem=problem)
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
            happened.setdefault(story["outcome"] or UNKNOWN, []).append(ended)
            if story["outcome"] in TIMED and story["seconds"] is not None:
                waited[wait_class(story["seconds"])] += 1
        end = now()
        line = figures.timeline(STRETCHES, end - STRETCHES * DAY, end, happened)
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


def _counted(counts: Iterable[Count], machines: int) -> Counted:
    """Return the figures of what an engine has counted of the last days, on all machines."""
    end = now()
    first = day_of(end) - STRETCHES + 1
    by_subject: dict[str, dict[str, list[Count]]] = {}
    for count in counts:
        name = " ".join(filter(None, (count.name, count.part)))
        by_subject.setdefault(count.subject, {}).setdefault(name, []).append(count)

    def of(subject: str) -> dict[str, list[Count]]:
        return by_subject.get(subject, {})

    runs = [count for found in of(RUNS).values() for count in found]
    outcomes = {name: _by_day(found, first) for name, found in sorted(of(ENDED).items())}
    waited = [0] * (len(WAITED) + 1)
    for found in of(ENDED).values():
        for count in found:
            if 0 <= count.bucket < len(waited):
                waited[count.bucket] += count.calls
    return Counted(
        at=iso(end),
        runs=sum(count.calls for count in runs),
        sessions=sum(count.calls for found in of(SESSIONS).values() for count in found),
        start=iso(first * DAY),
        stretch=DAY,
        calls=_by_day(runs, first),
        events=_timed(of(RUNS)),
        plugins=_timed(of(PLUGINS)),
        outcomes=outcomes,
        waited=waited,
        machines=machines,
    )


def _by_day(counts: Iterable[Count], first: int) -> list[int]:
    found = [0] * STRETCHES
    for count in counts:
        if 0 <= count.day - first < STRETCHES:
            found[count.day - first] += count.calls
    return found


def _timed(found: dict[str, list[Count]]) -> list[Row]:
    rows = [
        Row(name, told.calls, told.failed, Times(told.median, told.p95, told.longest))
        for name, told in ((name, timing(counts)) for name, counts in found.items())
    ]
    return sorted(rows, key=lambda row: -row.calls)


def _rows(found: dict[str, Calls]) -> list[Row]:
    rows = [Row(name, calls.count, calls.failed, Times.of(calls.ms)) for name, calls in found.items()]
    return sorted(rows, key=lambda row: -row.calls)
