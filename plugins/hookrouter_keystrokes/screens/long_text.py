"""Reads a question page whose options are all scrolled away by a long typed text."""

from __future__ import annotations

import re

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.model import LongTextPage, Row, RowKind

__all__ = ["SUBMIT_ROW", "long_text_page"]


SUBMIT_ROW = re.compile(rf"([{grammar.CURSOR} ]) +({grammar.SUBMIT}|{grammar.NEXT})")


def long_text_page(lines: list[str], cursors: list[Row]) -> LongTextPage | None:
    """Read a page of which only the end of a long typed text is visible."""
    if not lines:
        return None
    cursor = cursors[0].kind if cursors else None
    submit = SUBMIT_ROW.fullmatch(lines[-1])
    if submit is not None:
        lines = lines[:-1]
        if submit[1] == grammar.CURSOR:
            cursor = RowKind.SUBMIT
    indent = 9 if submit else 5
    if not lines or any(line[:indent].strip() for line in lines):
        return None
    return LongTextPage("\n".join(line[indent:] for line in lines), submit is not None, cursor)
