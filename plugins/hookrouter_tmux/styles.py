"""Reads the escape sequences with which ``capture-pane -e`` says how text is drawn.

tmux writes SGR sequences only, each with what changes, and does not end a style at a line's end. With hyperlinks, other
sequences may come (OSC 8, and shifts to the line drawing set); they say nothing of the style and are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter.terminals import StyledText

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["styled_rows"]

_SEQUENCE = re.compile(
    r"\x1b\[([0-9;:]*)m"  # how what follows is drawn
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # an operating system command, such as a link
    r"|\x1b\[[0-?]*[ -/]*[@-~]|[\x0e\x0f]|\x1b[()].|\x1b."
)
_COLOURS = (38, 48, 58)
"""What begins a colour: ``5;n``, or ``2;r;g;b``, follows."""
_COLOUR_NUMBERS = {"5": 1, "2": 3}


def styled_rows(lines: Iterable[str]) -> tuple[tuple[StyledText, ...], ...]:
    """Return each line's parts, without sequences and without the blanks at its end."""
    rows = []
    is_dim = is_reversed = False
    for line in lines:
        parts: list[StyledText] = []
        at = 0
        for found in _SEQUENCE.finditer(line):
            _add(parts, line[at : found.start()], is_dim, is_reversed)
            at = found.end()
            if found[1] is not None:
                is_dim, is_reversed = _changed(found[1], is_dim, is_reversed)
        _add(parts, line[at:], is_dim, is_reversed)
        while parts and not (kept := parts[-1].text.rstrip(" ")):
            parts.pop()
        if parts:
            parts[-1] = parts[-1]._replace(text=kept)
        rows.append(tuple(parts))
    return tuple(rows)


def _add(parts: list[StyledText], text: str, is_dim: bool, is_reversed: bool) -> None:
    if not text:
        return
    if parts and parts[-1][1:] == (is_dim, is_reversed):
        parts[-1] = parts[-1]._replace(text=parts[-1].text + text)
    else:
        parts.append(StyledText(text, is_dim, is_reversed))


def _changed(said: str, is_dim: bool, is_reversed: bool) -> tuple[bool, bool]:
    """Return the style after an SGR sequence."""
    numbers = said.split(";")
    at = 0
    while at < len(numbers):
        # Numbers with colons are one value with its parts, such as 4:3 for a curly underline.
        number = numbers[at]
        at += 1
        if number in ("", "0"):
            is_dim = is_reversed = False
        elif number == "2":
            is_dim = True
        elif number == "22":
            is_dim = False
        elif number == "7":
            is_reversed = True
        elif number == "27":
            is_reversed = False
        elif number in map(str, _COLOURS) and at < len(numbers):
            at += 1 + _COLOUR_NUMBERS.get(numbers[at], 0)
    return is_dim, is_reversed
