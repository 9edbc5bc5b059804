"""Follows questions through the journal, record by record: which have been asked, and how each has ended, once.

Several records may tell of one end, and those of a question that was asked long ago come without its beginning. For who
counts or passes on what happens; the whole story of a question is :mod:`hookrouter.dialogs.stories.story`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs.documents import FORM
from hookrouter.dialogs.stories.story import OUTCOMES
from hookrouter.dialogs.verdicts import end_of_sweep
from hookrouter.util.fields import tables, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Asked", "Ended", "Following"]

_MOST = 10_000
"""How many questions are remembered, open and ended ones."""

_Key = tuple[str, str]


class Asked(NamedTuple):
    """A question that has opened."""

    session_id: str
    """Claude Code's id of the session."""
    tool_use_id: str
    """The id of the tool call that asks."""
    kind: str
    """The kind of dialog."""
    at: str
    """When (ISO 8601); empty if that is not known."""


class Ended(NamedTuple):
    """A question that has ended."""

    asked: Asked
    """Its beginning; without a time if that was not heard of."""
    outcome: str
    """One of :data:`hookrouter.dialogs.stories.story.OUTCOMES`."""
    at: str
    """When (ISO 8601)."""


class Following:
    """The questions of a journal, in the order of its records."""

    def __init__(self, document: object = None) -> None:
        """Go on from what :meth:`document` has returned; what cannot be read is nothing."""
        rows = document if isinstance(document, list) else []
        fields = len(Asked._fields)
        known = (
            Asked(*row)
            for row in rows
            if isinstance(row, list) and len(row) == fields and all(isinstance(part, str) for part in row)
        )
        self._open: OrderedDict[_Key, Asked] = OrderedDict((one[:2], one) for one in known)
        self._ended: OrderedDict[_Key, None] = OrderedDict()

    def document(self) -> list[list[str]]:
        """Return the open questions as JSON values."""
        return [list(one) for one in self._open.values()]

    def take(self, record: Mapping[str, Any]) -> Iterator[Asked | Ended]:
        """Yield what a record has that is news. Raises nothing."""
        event, outcome = text(record, "event"), text(record, "outcome")
        kind = text(record, "dialog") or FORM
        if event in ("PreToolUse", "dialog") and outcome == "asked" and record.get("repeated") is not True:
            asked = Asked(*_key(record), kind, text(record, "asked_at"))
            if asked[:2] not in self._open:
                _remember(self._open, asked[:2], asked)
                yield asked
        is_answer = event == "PostToolUse" and record.get("tool") == "AskUserQuestion"
        if (is_answer or "dialog" in record) and outcome in OUTCOMES:
            yield from self._end(_key(record), kind, outcome, record)
        if event == "answer" and record.get("closed") is True:
            yield from self._end(_key(record), kind, "chat" if outcome == "chat" else "unanswered", record)
        for entry in tables(record, "swept"):
            if text(entry, "outcome") != "left":
                ended, _by = end_of_sweep(text(entry, "outcome"), text(entry, "state"), text(entry, "by"))
                yield from self._end(_key(entry), FORM, ended, record)

    def _end(self, key: _Key, kind: str, outcome: str, record: Mapping[str, Any]) -> Iterator[Ended]:
        if key in self._ended:
            return
        _remember(self._ended, key, None)
        yield Ended(self._open.pop(key, Asked(*key, kind, "")), outcome, text(record, "at"))


def _key(record: Mapping[str, Any]) -> _Key:
    return text(record, "session_id"), text(record, "tool_use_id")


def _remember(known: OrderedDict[_Key, Any], key: _Key, value: object) -> None:
    known[key] = value
    if len(known) > _MOST:
        known.popitem(last=False)
