"""A text that a person types, and the place of the caret in it: what keys do to it."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

__all__ = ["Line"]


class Line(NamedTuple):
    """A typed text and the caret, counted in characters from the beginning."""

    text: str = ""
    caret: int = 0

    def typed(self, text: str, *, is_single: bool = False) -> Line:
        """Return this with a text put in at the caret, without control characters; ``is_single`` also keeps no break.

        A paste may hold anything: what a terminal would act on never gets into an answer.
        """
        taken = text.replace("\r\n", "\n").replace("\r", "\n")
        if is_single:
            taken = taken.replace("\n", " ").replace("\t", " ")
        taken = "".join(one for one in taken if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs"))
        return Line(self.text[: self.caret] + taken + self.text[self.caret :], self.caret + len(taken))

    def pressed(self, key: str) -> Line:
        """Return this after an editing key; a key that edits nothing changes nothing."""
        text, caret = self
        if key == "left":
            return Line(text, _before(text, caret))
        if key == "right":
            return Line(text, _after(text, caret))
        if key == "home":
            return Line(text, 0)
        if key == "end":
            return Line(text, len(text))
        if key == "clear":
            return Line()
        if key == "backspace":
            start = _before(text, caret)
            return Line(text[:start] + text[caret:], start)
        if key == "delete":
            return Line(text[:caret] + text[_after(text, caret) :], caret)
        return self


def _before(text: str, caret: int) -> int:
    """Return where the character before the caret begins, with the marks that are drawn upon it."""
    caret -= caret > 0
    while caret > 0 and unicodedata.combining(text[caret]):
        caret -= 1
    return caret


def _after(text: str, caret: int) -> int:
    caret += caret < len(text)
    while caret < len(text) and unicodedata.combining(text[caret]):
        caret += 1
    return caret
