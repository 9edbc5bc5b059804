"""Counts what the journal's records tell, for ``/metrics``.

Hooks, answers and deliveries are processes that live for milliseconds, so nothing is counted in them: each writes its
record, and here they are counted, once. What was counted is kept with how far each file was read, in one file, so a
monitor that ends, in whatever way, loses no record and counts none twice.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from hookrouter.config import DIALOG_KINDS
from hookrouter.dialogs.stories.following import Asked, Following
from hookrouter.events import EVENT_CLASSES
from hookrouter.storage.journal import parsed
from hookrouter.storage.journal_query import Tail, calls, is_hook_run, number
from hookrouter.storage.own_file import read_own_json, write_own_json
from hookrouter.util.clock import seconds
from hookrouter.util.fields import text

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from hookrouter.storage.home import Home

__all__ = ["BUCKETS", "OTHER", "Counts", "Journalled"]

OTHER = "other"
"""The label of whatever is not among the known ones: no label grows with what sessions, plugins or people say."""

BUCKETS = {
    "hook": (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
    "question": (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0),
    "delivery": (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
}
"""Upper ends of the classes of each histogram, in seconds."""

_RUNS = (
    *("accept", "allow", "ask", "block", "cancel", "decline", "defer", "deny", "halt", "routed", "guarded", "handled"),
    "no listener",
    *("failed", "refused payload", "asked", "repeated", "verified", "mismatch", "answered_by_person", "unanswered"),
    *("unknown_question", "replied", "chat", "not needed", "stepped aside", "client gone"),
)
_CALLS = ("none", "replied", "wrapped", "loaded", "failed", "timed out", "died")
_ANSWERS = (
    *("delivered", "chat", "invalid", "interrupted", "not_confirmed", "unanswered", "answered_by_person"),
    *("verified", "mismatch", "not_delivered", "no_question", "already_answered"),
)
_DELIVERIES = ("delivered", "kept", "given_up", "dropped")
_QUEUES = ("sent", "failed", "dropped", "held", "resumed", "submitted", "not_now", "refused", "uncertain")
_LEVELS = ("warning", "error")

_VERSION = 1


class Counts:
    """Counters and histograms by name and labels; JSON holds them."""

    def __init__(self, document: Mapping[str, Any] | None = None) -> None:
        """Go on from what :meth:`document` has returned."""
        kept = document if document is not None else {}
        self.counters: dict[str, dict[tuple[str, ...], float]] = {
            name: {tuple(labels): value for labels, value in rows} for name, rows in kept.get("counters", {}).items()
        }
        """Name -> label values -> how many."""
        self.histograms: dict[str, dict[tuple[str, ...], tuple[list[int], float]]] = {
            name: {tuple(labels): (list(classes), total) for labels, classes, total in rows}
            for name, rows in kept.get("histograms", {}).items()
        }
        """Name -> label values -> how many fell into each class, the last one without an end, and the sum."""

    def count(self, name: str, *labels: str, by: float = 1) -> None:
        """Count something."""
        rows = self.counters.setdefault(name, {})
        rows[labels] = rows.get(labels, 0) + by

    def time(self, name: str, took: float, *labels: str) -> None:
        """Count a time in seconds."""
        bounds = BUCKETS[name]
        classes, total = self.histograms.setdefault(name, {}).get(labels, ([0] * (len(bounds) + 1), 0.0))
        classes[bisect_left(bounds, took)] += 1
        self.histograms[name][labels] = classes, total + took

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "counters": {name: [[list(key), n] for key, n in rows.items()] for name, rows in self.counters.items()},
            "histograms": {
                name: [[list(key), classes, total] for key, (classes, total) in rows.items()]
                for name, rows in self.histograms.items()
            },
        }


class Journalled:
    """What one home's journal tells. For one thread at a time."""

    def __init__(self, home: Home) -> None:
        """Go on where the last monitor has come to; the first one begins at the present end of the journal."""
        self._path = os.path.join(home.cache, "monitor.json")
        kept = _kept(self._path)
        self.counts = Counts(kept)
        self._tail = Tail(home.logs, places=kept.get("places"))
        self._boot = str(kept.get("boot", ""))
        self._questions = Following(kept.get("asked"))
        self._save()

    def began(self, boot: str) -> None:
        """Note which router this monitor is of: another boot is another start."""
        if boot and boot != self._boot:
            self._boot = boot
            self.counts.count("router_starts")
            self._save()

    def read_on(self, plugins: Container[str], gateways: Container[str], waits: Container[tuple[str, str]]) -> None:
        """Count what is new. Raises nothing.

        ``plugins`` and ``gateways`` are the names that may be labels; ``waits`` holds plugin and hook of
        implementations that wait for something outside, whose time is no part of a run's.
        """
        is_new = False
        for line in self._tail.each():
            record = parsed(line)
            if record is not None:
                self._add(record, plugins, gateways, waits)
            is_new = True
        if is_new:
            # Before anybody is told: what was told must not be forgotten.
            self._save()

    def _save(self) -> None:
        document = {
            "version": _VERSION,
            "boot": self._boot,
            "places": self._tail.places(),
            "asked": self._questions.document(),
            **self.counts.document(),
        }
        write_own_json(self._path, document)

    def _add(
        self,
        record: Mapping[str, Any],
        plugins: Container[str],
        gateways: Container[str],
        waits: Container[tuple[str, str]],
    ) -> None:
        event, outcome = text(record, "event"), text(record, "outcome")
        level = text(record, "level")
        if level in _LEVELS:
            self.counts.count("journal_records", level)
        if is_hook_run(record) and event not in ("answer", "queue"):
            self._add_run(record, plugins, waits)
        elif event == "answer":
            self.counts.count("answers", _known(outcome, _ANSWERS), _known(text(record, "by"), ("agent", "person")))
        elif event == "delivery" and "gateway" in record:
            gateway = _known(text(record, "gateway"), gateways)
            self.counts.count("messages", gateway, _known(outcome, _DELIVERIES))
            took = number(record, "ms")
            if outcome == "delivered" and took is not None:
                self.counts.time("delivery", took / 1000, gateway)
        elif event == "queue":
            self.counts.count("queue_events", _known(outcome, _QUEUES))
        self._add_question(record)

    def _add_run(self, record: Mapping[str, Any], plugins: Container[str], waits: Container[tuple[str, str]]) -> None:
        event = _known(text(record, "event"), EVENT_CLASSES)
        outcome = "failed" if text(record, "level") == "error" else text(record, "outcome")
        self.counts.count("hook_runs", event, _known(outcome, _RUNS))
        took = number(record, "ms")
        for call in calls(record):
            plugin, hook = text(call, "plugin"), text(call, "hook")
            came = text(call, "outcome")
            if came in _CALLS:
                self.counts.count("plugin_calls", _known(plugin, plugins), came)
            if took is not None and (plugin, hook) in waits:
                took -= number(call, "ms") or 0.0
        if took is not None:
            self.counts.time("hook", max(0.0, took) / 1000, event)

    def _add_question(self, record: Mapping[str, Any]) -> None:
        for news in self._questions.take(record):
            if isinstance(news, Asked):
                self.counts.count("questions_asked", _known(news.kind, DIALOG_KINDS))
                continue
            kind = _known(news.asked.kind, DIALOG_KINDS)
            self.counts.count("questions_ended", kind, news.outcome)
            began, ended = seconds(news.asked.at), seconds(news.at)
            if began is not None and ended is not None:
                self.counts.time("question", max(0.0, ended - began), kind)


def _known(value: str, allowed: Container[str]) -> str:
    return value if value in allowed else OTHER


def _kept(path: str) -> dict[str, Any]:
    """Return what was kept, if it is this version's and can be read."""
    document = read_own_json(path)
    if document.get("version") != _VERSION:
        return {}
    try:
        Counts(document)
        Tail("", places=document["places"])  # type: ignore[arg-type]
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
    return document
