"""Makes spans of the journal's records: one trace for each question, from the hook that saw it to the proof.

Their ids are those of :mod:`hookrouter.messaging.trace_context`, so an agent that was handed one on has its spans in
the same trace. A span has names, kinds, outcomes and times, and never a text of Claude, of an agent or of a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs.stories.following import Ended, Following
from hookrouter.messaging.trace_context import HEADER, TraceContext, parsed, span_id, trace_id
from hookrouter.util.clock import seconds
from hookrouter.util.fields import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["QUESTION", "SpanRow", "Spans"]

QUESTION = "question"
"""The name of a trace's first span, which lasts as long as the question."""

_GOOD = ("verified", "answered_by_person", "chat", "delivered", "asked")

_TRIED = ("delivered", "kept", "given_up")
"""Outcomes of a message that some gateway was asked to take."""


class SpanRow(NamedTuple):
    """One span; times in nanoseconds since 1970."""

    trace: str
    """The trace's id in hexadecimal digits."""
    span: str
    """The span's id."""
    parent: str
    """The id of the span above; empty for the first one."""
    name: str
    """What it is."""
    start: int
    """When it began."""
    end: int
    """When it ended."""
    attributes: dict[str, str | float]
    """What is known of it."""
    is_error: bool = False
    """Whether it is a failure."""
    link: TraceContext | None = None
    """The span of another trace that it came from."""


class Spans:
    """The spans of one journal, in the order of its records."""

    def __init__(self, machine: str, document: object = None) -> None:
        """``machine`` is what this machine is called; go on from what :meth:`document` has returned."""
        self._machine = machine
        self._questions = Following(document)

    def document(self) -> list[list[str]]:
        """Return the questions that are open, as JSON values."""
        return self._questions.document()

    def take(self, record: Mapping[str, Any]) -> Iterator[SpanRow]:
        """Yield the spans that a record tells of. Raises nothing."""
        news = list(self._questions.take(record))
        is_about_question = bool(news) or text(record, "outcome") in ("asked", "verified", "mismatch")
        event, at, ms = text(record, "event"), seconds(text(record, "at")), _number(record, "ms")
        if at is not None and text(record, "tool_use_id"):
            if event == "delivery" and "wake" in record:
                if text(record, "outcome") not in _TRIED:
                    return
                yield self._message(record, at, ms)
            elif event == "answer":
                yield self._answer(record, at, ms)
            elif is_about_question and event and "pid" in record:
                yield self._row(record, f"hook {event}", at, ms, f"{event} {record.get('at')} {record.get('pid')}")
        for one in news:
            if isinstance(one, Ended):
                yield from self._whole(one)

    def _whole(self, ended: Ended) -> Iterator[SpanRow]:
        asked = ended.asked
        began, over = seconds(asked.at), seconds(ended.at)
        if began is None or over is None:
            # One that was asked before anybody followed: its spans stand under an id that is not there.
            return
        trace = trace_id(asked.session_id, asked.tool_use_id)
        attributes: dict[str, str | float] = {
            "hookrouter.kind": asked.kind,
            "hookrouter.outcome": ended.outcome,
            "hookrouter.session_id": asked.session_id,
            "hookrouter.tool_use_id": asked.tool_use_id,
            "hookrouter.machine": self._machine,
        }
        times = _nanoseconds(began), _nanoseconds(max(began, over))
        yield SpanRow(trace, span_id(trace, QUESTION), "", QUESTION, *times, attributes, ended.outcome not in _GOOD)

    def _message(self, record: Mapping[str, Any], at: float, ms: float) -> SpanRow:
        """Return the span of a message: the delivered one's has the id that its agent was handed."""
        wake, outcome = text(record, "wake"), text(record, "outcome")
        name = wake if outcome == "delivered" else f"{wake} {record.get('at')}"
        return self._row(record, f"message {text(record, 'kind')}".strip(), at, ms, name)

    def _answer(self, record: Mapping[str, Any], at: float, ms: float) -> SpanRow:
        row = self._row(record, "answer", at, ms, f"answer {record.get('at')} {text(record, 'outcome')}")
        given = parsed(text(record, HEADER))
        if given is None:
            return row
        if given.trace == row.trace:
            return row._replace(parent=given.span)
        return row._replace(link=given)

    def _row(self, record: Mapping[str, Any], name: str, at: float, ms: float, own: str) -> SpanRow:
        trace = trace_id(text(record, "session_id"), text(record, "tool_use_id"))
        attributes: dict[str, str | float] = {
            f"hookrouter.{key}": text(record, key)
            for key in ("outcome", "channel", "gateway", "agent", "by", "session", "wake")
            if text(record, key)
        }
        attributes["hookrouter.machine"] = self._machine
        start = _nanoseconds(at - ms / 1000)
        is_error = text(record, "level") == "error" or text(record, "outcome") in ("mismatch", "kept", "given_up")
        parent = span_id(trace, QUESTION)
        return SpanRow(trace, span_id(trace, own), parent, name, start, _nanoseconds(at), attributes, is_error)


def _number(record: Mapping[str, Any], key: str) -> float:
    value = record.get(key)
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e12 else 0.0


def _nanoseconds(at: float) -> int:
    return max(0, int(at * 1_000_000)) * 1000
