"""What is counted of the history of machines, day by day, so that figures cost the same however long it is.

Times are counted in classes, of which each ends 19 % above where it begins: a median is right within 10 %.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.storage.history import Count
from hookrouter.util.clock import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.storage.hook_runs import Run

__all__ = ["DAY", "ENDED", "PLUGINS", "RUNS", "SESSIONS", "TIMED", "WAITED", "Counts", "Timing", "day_of", "timing"]

DAY = 86400.0

RUNS, PLUGINS, ENDED, SESSIONS = "run", "plugin", "ended", "session"
"""What is counted: hook runs by event and tool; calls by plugin and hook; questions by how they ended, in the classes
of :data:`WAITED`; and sessions, on the day on which each was first seen."""

WAITED = ((10, "10 s"), (30, "30 s"), (60, "1 min"), (300, "5 min"), (1800, "30 min"), (7200, "2 h"), (86400, "1 d"))
"""Upper ends of the classes of waiting times, in seconds, with their names; one more holds all longer ones."""

TIMED = ("verified", "mismatch", "unverified", "answered_by_person")
"""The outcomes whose waiting times count."""

_UNTIMED = -1
_CLASSES = 4
"""How many classes there are until a time is twice as long."""
_SHORTEST, _LONGEST = 0.01, 1e9
"""Milliseconds of the shortest and the longest time that is told from others."""
_FIRST = math.floor(_CLASSES * math.log2(_SHORTEST))
"""Subtracted, so that no class has a number below 0."""
_LAST_DAY = 2_932_896
"""Days from 1970 to the end of the year 9999."""


def day_of(moment: float) -> int:
    """Return the day of a time in seconds since 1970, counted from then."""
    return min(max(int(moment // DAY), 0), _LAST_DAY)


def _class_of(ms: float | None) -> int:
    if ms is None or not ms >= 0:
        return _UNTIMED
    return math.floor(_CLASSES * math.log2(min(max(ms, _SHORTEST), _LONGEST))) - _FIRST


def _middle_of(bucket: int) -> float:
    return float(2.0 ** ((bucket + _FIRST + 0.5) / _CLASSES))


class Counts:
    """What is counted of some records and stories."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._found: dict[tuple[int, str, str, str, int], list[float]] = defaultdict(lambda: [0, 0, 0.0])

    def add_run(self, at: object, run: Run, failures: Iterable[str]) -> None:
        """Count a hook run at a time (ISO 8601), and the calls in it; one without a time is passed over."""
        if (moment := seconds(at)) is None:
            return
        day = day_of(moment)
        self._add(day, RUNS, run.event, run.tool, run.ms, failed=run.outcome in failures)
        for call in run.calls:
            if not call.is_wait:
                self._add(day, PLUGINS, call.plugin, call.hook, call.ms, failed=call.outcome in failures)

    def add_session(self, moment: float) -> None:
        """Count a session that was first seen then."""
        self._found[day_of(moment), SESSIONS, "", "", _UNTIMED][0] += 1

    def add_story(self, former: Mapping[str, Any] | None, present: Mapping[str, Any]) -> None:
        """Count how a question has ended now, and no longer how it seemed to have ended before."""
        for story, step in ((former, -1), (present, 1)):
            if story is not None and (ended := seconds(story["ended_at"])) is not None:
                self._found[day_of(ended), ENDED, story["outcome"], "", _wait_class(story)][0] += step

    def rows(self) -> list[Count]:
        """Return what was counted."""
        return [
            Count(*place, int(calls), int(failed), longest)
            for place, (calls, failed, longest) in sorted(self._found.items())
            if calls
        ]

    def _add(self, day: int, subject: str, name: str, part: str, ms: float | None, *, failed: bool) -> None:
        found = self._found[day, subject, name, part, _class_of(ms)]
        found[0] += 1
        found[1] += failed
        found[2] = max(found[2], ms or 0.0)


def _wait_class(story: Mapping[str, Any]) -> int:
    waited = story["seconds"]
    if story["outcome"] not in TIMED or waited is None:
        return _UNTIMED
    return next((at for at, (end, _) in enumerate(WAITED) if waited <= end), len(WAITED))


class Timing(NamedTuple):
    """How long something took, in milliseconds, within 10 %; None if no time was counted."""

    calls: int
    """How often it was counted."""
    failed: int
    """How often it failed."""
    median: float | None
    """Half of the calls took no longer."""
    p95: float | None
    """95 of 100 took no longer."""
    longest: float | None
    """How long the longest one took, exactly."""


def timing(counts: Iterable[Count]) -> Timing:
    """Return the figures of what was counted of one thing."""
    by_class: dict[int, int] = defaultdict(int)
    calls = failed = 0
    longest = 0.0
    for count in counts:
        calls += count.calls
        failed += count.failed
        longest = max(longest, count.longest)
        if count.bucket != _UNTIMED:
            by_class[count.bucket] += count.calls
    total = sum(by_class.values())
    if total <= 0:
        return Timing(calls, failed, None, None, None)
    return Timing(calls, failed, _share(by_class, total, 0.5), _share(by_class, total, 0.95), round(longest, 2))


def _share(by_class: Mapping[int, int], total: int, share: float) -> float:
    left = math.ceil(share * total)
    for bucket in sorted(by_class):
        left -= by_class[bucket]
        if left <= 0:
            return round(_middle_of(bucket), 3)
    return round(_middle_of(max(by_class)), 3)
