"""Items, holds and states of sessions in words, one line each, for a terminal and for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.util.clock import local, now, seconds
from hookrouter.util.text import duration, printable
from hookrouter.util.text_width import shortened

if TYPE_CHECKING:
    from hookrouter.queue.documents import Hold
    from hookrouter.queue.items import Item
    from hookrouter.queue.overview import SessionView

__all__ = ["first_line", "hold_line", "item_line", "state_words"]

_COLUMNS = 100
"""Columns of a text that is shown in one line."""


def first_line(text: str) -> str:
    """Return the first line of a text that holds something, safe to show, cut with ``…`` if there is more."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    shown = shortened(printable(lines[0]), _COLUMNS) if lines else ""
    return f"{shown} …" if len(lines) > 1 and not shown.endswith("…") else shown


def item_line(item: Item) -> str:
    """Return one line about an item."""
    by = f"person {item.who}" if item.who else item.by
    facts = [item.state, item.kind, f"by {by}"]
    facts += [f"{duration(age)} old" if (age := _age(item.queued_at)) is not None else ""]
    why = f"  ({printable(item.reason)})" if item.reason else ""
    return f"{item.id}  {printable(', '.join(filter(None, facts)))}: {first_line(item.text)}{why}"


def hold_line(hold: Hold) -> str:
    """Return one line that says what holds a queue."""
    until = f", until {local(hold.until)}" if hold.until else ""
    since = f" since {local(hold.at)}" if hold.at else ""
    return printable(f"held{since}{until} ({hold.cause}): {hold.reason or 'nobody has said why'}")


def state_words(view: SessionView) -> str:
    """Return what a session does, in words."""
    state = view.state
    words = [state.state]
    words += [f"for {state.waiting_for}"] if state.waiting_for else []
    words += [f"until {local(state.until)}"] if state.until else []
    words += [f"({view.error})"] if view.error else []
    age = _age(state.since)
    for_so_long = f", for {duration(age)}" if age is not None else ""
    return printable(f"{' '.join(words)}{for_so_long}")


def _age(when: str) -> float | None:
    then = seconds(when)
    return None if then is None else max(0.0, now() - then)
