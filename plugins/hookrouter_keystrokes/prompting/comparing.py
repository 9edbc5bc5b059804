"""Compares what stands in the prompt box with what was to be typed.

The client wraps a text at blanks, or anywhere in a long word, and leaves blanks out where it wraps; blanks at a line's
end cannot be seen. Terminals and clients draw emoji and combining marks in different ways, so these are not compared.
All else must be the same, character by character.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from hookrouter_keystrokes.prompting import facts
from hookrouter_keystrokes.screens.text import key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter_keystrokes.prompting.area import PromptArea

__all__ = ["is_part", "shows", "shows_end", "without_chips"]


def shows(area: PromptArea, text: str) -> bool:
    """Whether the box holds exactly this text, as far as that is visible: its end, if rows are above it."""
    return shows_end(area.rows, text, whole=not area.is_cut)


def shows_end(rows: Sequence[str], text: str, *, whole: bool) -> bool:
    """Whether these rows are the end of ``text``, or all of it if ``whole``."""
    wanted = _drawn(text)
    at = len(wanted)
    wrapped = False
    """Whether blanks were left out between the row below and this one."""
    for number in range(len(rows) - 1, -1, -1):
        row = _drawn(rows[number])
        is_blank = not rows[number].strip()
        if is_blank and number < len(rows) - 1 and not (wrapped or wanted[at : at + 1] == "\n"):
            return False
        if not wanted[:at].endswith(row):
            return False
        at -= len(row)
        if number == 0:
            break
        before = wanted[:at]
        if before.endswith("\n"):
            at -= 1
            wrapped = False
        else:
            at = len(before.rstrip(" "))
            wrapped = at < len(before)
            if not wrapped and is_blank:
                return False
    # Nothing to compare, such as emoji alone, proves nothing: they must at least stand there.
    if not wanted.strip() and text.strip():
        return "".join(rows).strip() != ""
    return at == 0 if whole else bool(rows)


def is_part(area: PromptArea, text: str) -> bool:
    """Whether all that is visible in the box can be a part of this text that was typed from its beginning."""
    shown = key("".join(area.rows))
    if not shown:
        # Emoji and empty lines alone.
        return not key(text.partition("\n")[0])
    wanted = key(text)
    return shown in wanted if area.is_cut else wanted.startswith(shown)


def without_chips(area: PromptArea) -> PromptArea:
    """Return the area as it would be without what stands for a long paste."""
    return area._replace(rows=tuple(re.sub(facts.CHIP, "", row) for row in area.rows))


@lru_cache(maxsize=64)
def _drawn(text: str) -> str:
    """Return what of a text can be compared: letters, blanks and line breaks, without blanks at a line's end."""
    kept = "".join(
        " " if character.isspace() and character != "\n" else character
        for character in unicodedata.normalize("NFD", text)
        if character.isspace() or key(character)
    )
    return re.sub(r" +(?=\n|\Z)", "", kept)
