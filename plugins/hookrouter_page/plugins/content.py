"""Checks what a plugin's page or panel returns, before it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.pages import ContentError, Facts, Heading, Link, Preformatted, Table, Text
from hookrouter.util.text import describe_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter.pages import Block, Cell

__all__ = ["MOST", "Drawn", "read_content"]

MOST = 1_000_000
"""Characters of a page or panel at most; each block and each cell counts as ten more."""

_EACH = 10
_KINDS = {Facts: "facts", Heading: "heading", Link: "link", Preformatted: "preformatted", Table: "table", Text: "text"}


class Drawn(NamedTuple):
    """One block for the template."""

    kind: str
    """Its class's name in small letters."""
    block: Block


def read_content(given: object) -> list[Drawn]:
    """Return the blocks that a function of a plugin has returned. Raises ContentError, and what ``given`` raises.

    ``given`` may be anything; an iterator is read to its end, or until it is too much.
    """
    if given is None:
        return []
    found, size = [], 0
    for block in _items(given):
        kind = _KINDS.get(type(block))
        if kind is None:
            raise ContentError(f"blocks of hookrouter.pages are needed, not {describe_value(block)}")
        size += _size(block)
        if size > MOST:
            raise ContentError(f"more than {MOST} characters are not shown")
        found.append(Drawn(kind, block))
    return found


def _items(given: object) -> Iterator[Block]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise ContentError(f"a list of blocks is needed, not {describe_value(given)}")
    yield from given


def _size(block: Block) -> int:
    match block:
        case Table(header=header, rows=rows):
            return _EACH + sum(map(_length, header)) + sum(_length(cell) for row in rows for cell in row)
        case Facts(items=items):
            return _EACH + sum(_length(name) + _length(value) for name, value in items)
        case Link(title=text) | Text(text=text) | Preformatted(text=text) | Heading(text=text):
            return _EACH + len(text)


def _length(cell: Cell) -> int:
    return _EACH + len(cell.title if isinstance(cell, Link) else cell)
