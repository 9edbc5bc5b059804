"""The columns of history: what it tells of each dialog, declared once.

A column with ``of_dialog`` is known as soon as a dialog is open. The journal's record of the opening keeps it, so does
the verdict when the dialog's own document goes, and every story has it. How the others come about, from the records of
what happens later, is in :mod:`hookrouter.dialogs.stories.story`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

from hookrouter.dialogs.documents import FORM, shown_form
from hookrouter.util import fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.dialogs.documents import Dialog

__all__ = ["COLUMNS", "Column", "Story", "begun", "fill", "of_dialog", "whole"]


class Story(TypedDict):
    """What ``history`` tells of one dialog: a value for each of :data:`COLUMNS`, which say what it means."""

    kind: str
    session: str
    session_id: str
    tool_use_id: str
    agent: str
    rule: str
    asked_at: str | None
    ended_at: str | None
    seconds: float | None
    outcome: str | None
    by: str | None
    who: str
    channel: str | None
    verified: bool | None
    reason: str
    missed: bool
    reminders: int
    escalated: bool
    questions: list[dict[str, Any]]
    chat: str | None
    attempts: list[dict[str, Any]]


class Column(NamedTuple):
    """One column."""

    name: str
    """Its key in the JSON of ``hookrouter history``, and in :class:`Story`."""
    default: object
    """What it is while nothing tells it."""
    meaning: str = ""
    """What the help of ``hookrouter history`` says of it; empty where the name says it."""
    of_dialog: Callable[[Dialog], object] | None = None
    """What an open dialog tells of it, as JSON; None, or nothing, if it is the default."""
    read: Callable[[Mapping[str, object], str], object] = fields.text
    """Returns what such a record tells under a key; what is not told, or not as expected, is false."""
    key: str = ""
    """The key in such a record, where it is another than the name."""


def _rule(dialog: Dialog) -> object:
    rule = fields.text(dialog.request, "rule")
    return {"tool": rule, "decide": "person" if dialog.is_reserved else "agent"} if rule else None


def _read_rule(record: Mapping[str, object], key: str) -> str:
    return fields.text(fields.table(record, key) or {}, "tool")


def _read_form(record: Mapping[str, object], key: str) -> list[dict[str, str]]:
    return [{name: fields.text(one, name) for name in ("header", "question")} for one in fields.tables(record, key)]


COLUMNS = (
    Column("kind", FORM, of_dialog=lambda dialog: "" if dialog.kind == FORM else dialog.kind, key="dialog"),
    Column("session", ""),
    Column("session_id", ""),
    Column("tool_use_id", ""),
    Column("agent", "", of_dialog=lambda dialog: dialog.agent),
    Column("rule", "", "that gave a permission to somebody; empty if none is known", _rule, _read_rule),
    Column("asked_at", None, of_dialog=lambda dialog: dialog.saved_at),
    Column("ended_at", None),
    Column("seconds", None),
    Column("outcome", None),
    Column("by", None),
    Column("who", "", "the login name of a person who used `hookrouter answer`"),
    Column("channel", None),
    Column("verified", None),
    Column("reason", ""),
    Column("missed", False, "asked during a pause", lambda dialog: dialog.missed, fields.flag),
    Column("reminders", 0),
    Column("escalated", False),
    Column(
        "questions",
        [],
        "header, question, intended, recorded, result, intended_notes, recorded_notes",
        lambda dialog: shown_form(dialog.questions),
        _read_form,
    ),
    Column("chat", None, "what was said instead"),
    Column("attempts", [], "at, outcome, channel, reason, steps"),
)


def of_dialog(dialog: Dialog) -> dict[str, object]:
    """Return what an open dialog tells of its columns, as a record of the journal and its verdict keep it."""
    told = {column.key or column.name: column.of_dialog(dialog) for column in COLUMNS if column.of_dialog is not None}
    return {key: value for key, value in told.items() if value}


def begun(session: str, session_id: str, tool_use_id: str) -> Story:
    """Return the story of a dialog of which nothing is known."""
    values = {one.name: list(one.default) if isinstance(one.default, list) else one.default for one in COLUMNS}
    return cast("Story", values | {"session": session, "session_id": session_id, "tool_use_id": tool_use_id})


def fill(story: Story, record: Mapping[str, object]) -> None:
    """Take what a record tells as :func:`of_dialog` has it, where the story does not tell it yet. Raises nothing."""
    values = cast("dict[str, object]", story)
    for column in COLUMNS:
        if column.of_dialog is not None and values[column.name] == column.default:
            values[column.name] = column.read(record, column.key or column.name) or values[column.name]


def whole(story: Mapping[str, object]) -> dict[str, object]:
    """Return a story of another machine with every column: what an older version has told lacks the newer ones."""
    return {**begun("", "", ""), **story}
