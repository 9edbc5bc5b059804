"""Figures of what the journal's records tell: how often hooks ran, how long that took, what became of questions.

Records are taken one at a time, and of each only a few numbers are kept, so that journals of any size can be counted.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.breaker import FAILURES
from hookrouter.clock import iso, seconds
from hookrouter.journal_reading import calls, is_hook_run, number, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Calls", "Figures", "Timeline", "Times"]

QUESTION_OUTCOMES = ("verified", "mismatch", "unverified", "answered_by_person", "chat", "unanswered")
"""How a question may have ended, as the journal has it; the first ones were answered."""

NOT_CALLED = ("not needed", "switched off")
"""Outcomes of calls that were not made."""


_LATEST = 253402300799.0
"""Seconds since 1970 at the end of the year 9999."""


class Times(NamedTuple):
    """How long something took, in milliseconds or seconds; None where nothing was measured."""

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
    """The median of the hook runs' milliseconds; None where there was none."""
    verified: list[int]
    """Questions whose answer was recorded as it was meant."""
    mismatch: list[int]
    """Questions whose answer was recorded differently."""


class Figures:
    """The figures of the records that were added."""

    def __init__(self, plugin: str | None = None) -> None:
        """Count everything; ``plugin`` leaves out the calls of other plugins."""
        self._plugin = plugin
        self.runs = Calls()
        """All hook runs; a run's outcome is ``failed`` where its level is error, else what the journal says."""
        self.by_event: dict[tuple[str, str], Calls] = defaultdict(Calls)
        """Hook runs by event and tool; the tool is empty where there is none."""
        self.by_plugin: dict[tuple[str, str], Calls] = defaultdict(Calls)
        """The calls of each plugin by plugin and hook."""
        self.sessions: set[str] = set()
        self._moments = array("d")
        self._durations = array("d")
        self._asked: dict[tuple[str, str], float] = {}
        self._ended: dict[tuple[str, str], tuple[str, float]] = {}
        self._swept: dict[tuple[str, str], tuple[str, float]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one record. What is no figure in it is passed over; raises nothing."""
        at = seconds(record.get("at"))
        if at is None or not 0 <= at < _LATEST:
            return
        self._add_question(record, at)
        if not is_hook_run(record):
            return
        ms = number(record, "ms")
        outcome = "failed" if text(record, "level") == "error" else text(record, "outcome") or "unknown"
        self.runs.add(outcome, ms)
        self.by_event[text(record, "event"), text(record, "tool")].add(outcome, ms)
        self._moments.append(at)
        self._durations.append(math.nan if ms is None else ms)
        if session := text(record, "session_id"):
            self.sessions.add(session)
        for call in calls(record):
            plugin, came = text(call, "plugin"), text(call, "outcome")
            if plugin and came not in NOT_CALLED and self._plugin in (None, plugin):
                self.by_plugin[plugin, text(call, "hook")].add(came, number(call, "ms"))

    def questions(self) -> dict[str, Any]:
        """Return what became of Claude's questions: how many were asked, how they ended, and how long that took.

        ``open`` are those of which no record tells the end. ``seconds`` are from the question to its end, of those that
        were answered by whomever.
        """
        ended = {**self._swept, **self._ended}
        counts = Counter(outcome for outcome, _ in ended.values())
        waited = [
            at - self._asked[key]
            for key, (outcome, at) in ended.items()
            if key in self._asked and at >= self._asked[key] and outcome not in ("chat", "unanswered")
        ]
        return {
            "asked": len(self._asked.keys() | ended.keys()),
            **{outcome: counts[outcome] for outcome in QUESTION_OUTCOMES},
            "open": len(self._asked.keys() - ended.keys()),
            "seconds": Times.of(waited)._asdict(),
        }

    def timeline(self, stretches: int, start: float | None = None, end: float | None = None) -> Timeline | None:
        """Return what happened from ``start`` to ``end``, in that many stretches of time; None where nothing did.

        Both are seconds since 1970, by default those of the first and the last record.
        """
        ended = [(outcome, at) for outcome, at in self._ended.values() if outcome in ("verified", "mismatch")]
        moments = [*self._moments, *(at for _, at in ended)]
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
        kinds = {"verified": [0] * stretches, "mismatch": [0] * stretches}
        for outcome, at in ended:
            kinds[outcome][place(at)] += 1
        return Timeline(iso(first), round(length, 3), counts, [Times.of(one).median for one in durations], **kinds)

    def _add_question(self, record: Mapping[str, Any], at: float) -> None:
        outcome, key = text(record, "outcome"), _key(record)
        event = record.get("event")
        if event == "PreToolUse" and outcome == "asked":
            self._asked[key] = at
        elif (event == "PostToolUse" and outcome in QUESTION_OUTCOMES) or (
            event == "answer" and outcome == "chat" and record.get("closed") is True
        ):
            self._ended[key] = outcome, at
        swept = record.get("swept")
        for entry in swept if isinstance(swept, list) else ():
            if isinstance(entry, dict) and entry.get("outcome") != "left":
                how = text(entry, "outcome")
                self._swept[_key(entry)] = how if how in QUESTION_OUTCOMES else "unanswered", at


def _key(record: Mapping[str, Any]) -> tuple[str, str]:
    return text(record, "session_id"), text(record, "tool_use_id")
