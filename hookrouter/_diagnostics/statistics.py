"""Figures of what the journal's records tell: how often hooks ran, and how long that took.

Records are taken one at a time, and of each only a few numbers are kept, so that journals of any size can be counted.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.storage.hook_runs import FAILURES, run_of
from hookrouter.util.clock import iso, seconds

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

__all__ = ["Calls", "Figures", "Timeline", "Times"]

_LATEST = 253402300799.0
"""Seconds since 1970 at the end of the year 9999."""


class Times(NamedTuple):
    """How long something took, in milliseconds or seconds; None if nothing was measured."""

    median: float | None
    p95: float | None
    """95 of 100 took no longer."""
    longest: float | None

    @classmethod
    def of(cls, values: Iterable[float]) -> Times:
        """Return the figures of some values."""
        ordered = sorted(values)
        if not ordered:
            return cls(None, None, None)
        middle = len(ordered) // 2
        median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
        p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
        return cls(round(median, 2), round(p95, 2), round(ordered[-1], 2))


class Calls:
    """The calls of one kind: of a hook run, or of a plugin's hook."""

    def __init__(self) -> None:
        """Begin with none."""
        self.outcomes: Counter[str] = Counter()
        self.ms = array("d")
        """How long those took that say so."""

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.outcomes.values())

    @property
    def failed(self) -> int:
        """How many failed, in whatever way."""
        return sum(self.outcomes[outcome] for outcome in FAILURES)

    def add(self, outcome: str, ms: float | None) -> None:
        """Count one."""
        self.outcomes[outcome] += 1
        if ms is not None:
            self.ms.append(ms)

    def document(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        times = Times.of(self.ms)
        return {
            "calls": self.count,
            "failed": self.failed,
            "outcomes": dict(self.outcomes.most_common()),
            "median_ms": times.median,
            "p95_ms": times.p95,
            "longest_ms": times.longest,
        }


class Timeline(NamedTuple):
    """What happened when: each list has an item for each stretch of time, oldest first."""

    start: str
    """The beginning of the first stretch (ISO 8601)."""
    seconds: float
    """How long each stretch is."""
    calls: list[int]
    """Hook runs."""
    median_ms: list[float | None]
    """The median of the hook runs' milliseconds; None if there was none."""
    rows: dict[str, list[int]]
    """How often each of the moments happened that a plugin's section tells of, by its name."""

    def document(self) -> dict[str, Any]:
        """Return this as JSON values, the rows beside the others."""
        own = self._asdict()
        rows = own.pop("rows")
        return {**own, **rows}


class Figures:
    """The figures of the records that were added."""

    def __init__(self, plugin: str | None = None, waiting: Container[tuple[str, str]] = ()) -> None:
        """Count everything; ``plugin`` leaves out the calls of other plugins.

        ``waiting`` holds plugin and hook of the implementations that wait for something outside, such as an answer:
        what they take is no part of a run's time.
        """
        self._plugin = plugin
        self._waiting = waiting
        self.runs = Calls()
        """All hook runs; a run's outcome is ``failed`` if its level is error, else what the journal says."""
        self.by_event: dict[tuple[str, str], Calls] = defaultdict(Calls)
        """Hook runs by event and tool; the tool is empty if there is none."""
        self.by_plugin: dict[tuple[str, str], Calls] = defaultdict(Calls)
        """The calls of each plugin by plugin and hook, but those that waited."""
        self.waits: dict[tuple[str, str], Calls] = defaultdict(Calls)
        """The calls that waited for something outside, by plugin and hook."""
        self.sessions: set[str] = set()
        self._moments = array("d")
        self._durations = array("d")

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one record. What is no figure in it is passed over; raises nothing."""
        at = seconds(record.get("at"))
        if at is None or not 0 <= at < _LATEST:
            return
        run = run_of(record, self._waiting)
        if run is None:
            return
        self.runs.add(run.outcome, run.ms)
        self.by_event[run.event, run.tool].add(run.outcome, run.ms)
        self._moments.append(at)
        self._durations.append(math.nan if run.ms is None else run.ms)
        if run.session_id:
            self.sessions.add(run.session_id)
        for call in run.calls:
            if self._plugin in (None, call.plugin):
                found = self.waits if call.is_wait else self.by_plugin
                found[call.plugin, call.hook].add(call.outcome, call.ms)

    def timeline(
        self,
        stretches: int,
        start: float | None = None,
        end: float | None = None,
        happened: Mapping[str, Sequence[float]] | None = None,
    ) -> Timeline | None:
        """Return what happened from ``start`` to ``end``, in that many stretches of time; None if nothing did.

        Both are seconds since 1970, by default those of the first and the last record. ``happened`` holds moments of
        other things, by name, which become rows.
        """
        others = {} if happened is None else happened
        moments = [*self._moments, *(at for found in others.values() for at in found)]
        if not moments:
            return None
        first = min(moments) if start is None else start
        last = max(max(moments) if end is None else end, first + stretches)
        length = (last - first) / stretches

        def place(at: float) -> int:
            return min(max(int((at - first) / length), 0), stretches - 1)

        durations: list[array[float]] = [array("d") for _ in range(stretches)]
        counts = [0] * stretches
        for at, ms in zip(self._moments, self._durations, strict=True):
            counts[place(at)] += 1
            if not math.isnan(ms):
                durations[place(at)].append(ms)
        rows = {name: [0] * stretches for name in others}
        for name, found in others.items():
            for at in found:
                rows[name][place(at)] += 1
        medians = [Times.of(one).median for one in durations]
        return Timeline(iso(first), round(length, 3), counts, medians, rows)
