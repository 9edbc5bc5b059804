"""What an engine's counts of history mean (:class:`hookrouter.storage.history.Count`), for whoever shows figures.

Counted is day by day, so that figures cost the same however long the history is. Times are counted in classes, of which
each ends 19 % above where it begins: a median is right within 10 %.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.storage.history import Count

__all__ = [
    "DAY",
    "ENDED",
    "PLUGINS",
    "RUNS",
    "SESSIONS",
    "TIMED",
    "UNTIMED",
    "WAITED",
    "Timing",
    "class_of",
    "day_of",
    "timing",
    "wait_class",
]

DAY = 86400.0
"""Seconds of a day."""

RUNS, PLUGINS, ENDED, SESSIONS = "run", "plugin", "ended", "session"
"""What is counted: hook runs by event and tool; calls by plugin and hook; questions by how they ended, in the classes
of :data:`WAITED`; and sessions, on the day on which each was first seen."""

WAITED = ((10, "10 s"), (30, "30 s"), (60, "1 min"), (300, "5 min"), (1800, "30 min"), (7200, "2 h"), (86400, "1 d"))
"""Upper ends of the classes of waiting times, in seconds, with their names; one more holds all longer ones."""

TIMED = ("verified", "mismatch", "unverified", "answered_by_person")
"""The outcomes whose waiting times count."""

UNTIMED = -1
"""The class of what has no time."""

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


def class_of(ms: float | None) -> int:
    """Return in which class a time in milliseconds is; UNTIMED for none."""
    if ms is None or not ms >= 0:
        return UNTIMED
    return math.floor(_CLASSES * math.log2(min(max(ms, _SHORTEST), _LONGEST))) - _FIRST


def _middle_of(bucket: int) -> float:
    return float(2.0 ** ((bucket + _FIRST + 0.5) / _CLASSES))


def wait_class(seconds: float) -> int:
    """Return in which class of :data:`WAITED` a waiting time is."""
    return next((at for at, (end, _) in enumerate(WAITED) if seconds <= end), len(WAITED))


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
        if count.bucket != UNTIMED:
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
