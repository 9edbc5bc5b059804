"""Finds the dialog's footer, which is the last thing on a screen that shows the dialog, and what stands below it."""

from __future__ import annotations

import re
from typing import NamedTuple

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.text import key

__all__ = ["MORE_ABOVE", "Body", "above_footer", "without_notices", "without_queued"]


class Body(NamedTuple):
    """A screen that ends in the dialog's footer, without that."""

    lines: list[str]
    """The lines above the footer."""
    hidden: int
    editing: bool
    """Whether the footer offers an editor, which it does while a text field has the focus."""


MORE_ABOVE = re.compile(grammar.MORE_ABOVE)
_FOOTER_LINES = 4
_NOTICE_INDENT = 12
_NOTICE_LINES = 2
_EDITOR = key(grammar.FOOTER_EDITOR)
_START, _END, _INSERT = key(grammar.FOOTER_START), key(grammar.FOOTER_END), key(grammar.FOOTER_INSERT.text)
_EDITOR_NAME = 40
"""The longest name of an editor, in characters of its key."""
_FOOTER = re.compile(
    f"{re.escape(_START)}.*{re.escape(_END)}|{re.escape(_INSERT + _START)}.*{re.escape(_EDITOR)}.{{1,{_EDITOR_NAME}}}"
)
_QUEUED = tuple(seen.text for seen in grammar.QUEUED)
_QUEUED_LINES = 12
_QUEUED_INDENT = " " * 4


def without_queued(lines: list[str]) -> list[str]:
    """Cut off the prompts that wait for the end of Claude's turn, if they stand below all else."""
    while lines:
        at = len(lines) - 1
        while at and len(lines) - at < _QUEUED_LINES and lines[at].startswith(_QUEUED_INDENT):
            at -= 1
        if not lines[at].startswith(_QUEUED):
            break
        lines = lines[:at]
        while lines and not lines[-1]:
            lines = lines[:-1]
    return lines


def without_notices(lines: list[str]) -> int:
    """Return where a notice of the client begins, such as a countdown, which stands at the right below all else."""
    end = len(lines)
    while end and len(lines) - end < _NOTICE_LINES and lines[end - 1].startswith(" " * _NOTICE_INDENT):
        end -= 1
    return end


def above_footer(lines: list[str]) -> Body | None:
    """Cut off the dialog's footer, which may be wrapped; None if the screen does not end in one."""
    end = without_notices(lines)
    if end == 0:
        return None
    for start in range(end - 1, max(end - 1 - _FOOTER_LINES, 0), -1):
        footer = key("".join(lines[start:end]))
        if _FOOTER.fullmatch(footer):
            above = lines[:start]
            hidden = 0
            more = MORE_ABOVE.fullmatch(above[-1])
            if more:
                hidden = int(more[1])
                above.pop()
            while above and not above[-1]:
                above.pop()
            return Body(above, hidden, _EDITOR in footer)
    return None
