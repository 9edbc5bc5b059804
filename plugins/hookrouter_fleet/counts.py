"""Counts what a machine's journal tells, for :mod:`hookrouter.storage.history_counts`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from hookrouter.storage.history import Count
from hookrouter.storage.history_counts import (
    ENDED,
    PLUGINS,
    RUNS,
    SESSIONS,
    TIMED,
    UNTIMED,
    class_of,
    day_of,
    wait_class,
)
from hookrouter.util.clock import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.storage.hook_runs import Run

__all__ = ["Counts"]


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
        self._found[day_of(moment), SESSIONS, "", "", UNTIMED][0] += 1

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
        found = self._found[day, subject, name, part, class_of(ms)]
        found[0] += 1
        found[1] += failed
        found[2] = max(found[2], ms or 0.0)


def _wait_class(story: Mapping[str, Any]) -> int:
    waited = story["seconds"]
    return UNTIMED if story["outcome"] not in TIMED or waited is None else wait_class(waited)
