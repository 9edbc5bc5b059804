"""What became of Claude's questions, counted for ``hookrouter stats``."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.documents import FORM
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.stories.story import OPEN, OUTCOMES, UNKNOWN, shown_id
from hookrouter.util.clock import seconds
from hookrouter.util.fields import text
from hookrouter.util.text import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Services
    from hookrouter.dialogs.columns import Story

__all__ = ["DialogStatistics"]

_PLOTTED = ("verified", "mismatch")


class DialogStatistics:
    """The figures of the questions that the journal's records tell of. See
    :class:`hookrouter.hookspecs.commands.StatisticsSection`.
    """

    name = "questions"

    def __init__(self) -> None:
        """Begin with none."""
        self._told: list[Story] = []
        self._seen: set[tuple[str, str]] = set()

    def add(self, record: Mapping[str, Any]) -> None:
        """Note which question a record is about; what became of it is read later, all at once."""
        if record.get("tool") == "AskUserQuestion" or record.get("dialog"):
            self._seen.add((text(record, "session_id"), shown_id(text(record, "tool_use_id"))))

    def read(self, services: Services, *, since: float | None, session: str | None, plugin: str | None) -> None:
        """Count what ``hookrouter history`` tells. See :class:`hookrouter.hookspecs.commands.ReadingSection`.

        Of one ``plugin`` alone, only the questions in whose hook runs it was called.
        """
        for story in history(services.journal, services.store, since=since):
            is_of_session = session in (None, story["session"]) or story["session_id"].startswith(session or "")
            if is_of_session and (plugin is None or (story["session_id"], story["tool_use_id"]) in self._seen):
                self._told.append(story)

    def document(self) -> dict[str, Any]:
        """Return how many were asked, how they ended, and how long that took.

        ``kinds`` counts the dialogs of each kind. ``open`` are those that wait for an answer, ``unknown`` those of
        which nothing tells the end. ``seconds`` are from the question to its end, of those that were answered by
        whomever.
        """
        told = self._told
        counts = Counter(story["outcome"] for story in told)
        waited = sorted(
            story["seconds"]
            for story in told
            if story["seconds"] is not None and story["outcome"] not in ("chat", "unanswered")
        )
        return {
            "asked": len(told),
            "kinds": dict(sorted(Counter(story["kind"] for story in told).items())),
            **{outcome: counts[outcome] for outcome in OUTCOMES},
            "open": counts[OPEN],
            "unknown": counts[UNKNOWN],
            "seconds": _times(waited),
        }

    def lines(self) -> list[str]:
        """Return the figures in words."""
        counts = self.document()
        if not counts["asked"]:
            return []
        ended = [f"{counts[how]} {how.replace('_', ' ')}" for how in (*OUTCOMES, OPEN, UNKNOWN) if counts[how]]
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts["kinds"].items())
        of_kinds = f" ({kinds})" if set(counts["kinds"]) != {FORM} else ""
        lines = [f"questions: {counts['asked']}{of_kinds}; {', '.join(ended)}"]
        median, p95, longest = counts["seconds"].values()
        if median is not None:
            times = f"median {duration(median)}, 95 % within {duration(p95)}, longest {duration(longest)}"
            lines.append(f"time to answer: {times}")
        return lines

    def moments(self) -> dict[str, list[float]]:
        """Return when answers were verified, and when others were recorded than were meant."""
        found: dict[str, list[float]] = {outcome: [] for outcome in _PLOTTED}
        for story in self._told:
            at = seconds(story["ended_at"])
            if at is not None and story["outcome"] in found:
                found[story["outcome"]].append(at)
        return found


def _times(ordered: list[float]) -> dict[str, float | None]:
    """Return median, 95th percentile and maximum of some times in order; None each if there are none."""
    if not ordered:
        return {"median": None, "p95": None, "longest": None}
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return {"median": round(median, 2), "p95": round(p95, 2), "longest": round(ordered[-1], 2)}
