"""How many columns text takes on a terminal, as tmux 3.3a draws it, and a text cut to so many."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["column_widths", "shortened", "text_width"]

_JOINER = "\u200d"


def column_widths(line: str) -> Iterator[int]:
    """Yield the columns of each character of one line: 0, 1 or 2.

    What a zero-width joiner joins, as in an emoji of a family, stands in the columns of the first character.
    tmux leaves out what is too much for one cell, so that in a captured line a blank may follow the joiner.
    """
    joined = False
    for character in line:
        yield 0 if joined and not character.isascii() else _width(character)
        joined = character == _JOINER


def text_width(line: str) -> int:
    """Return the columns of one line."""
    if line.isascii():
        return len(line)
    return sum(column_widths(line) if _JOINER in line else map(_width, line))


def shortened(text: str, columns: int) -> str:
    """Return a printable text cut so that it takes at most so many columns; ``…`` shows where it was cut."""
    widths = list(column_widths(text))
    if sum(widths) <= columns:
        return text
    used = 0
    for index, needed in enumerate(widths):
        used += needed
        if used >= columns:
            return f"{text[:index]}…"
    return text


@lru_cache(maxsize=4096)
def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
