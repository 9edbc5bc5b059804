"""Says how a text is typed: whether it can be at all, what is put behind it, and in which pieces."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from hookrouter.util.text_width import text_width
from hookrouter_keystrokes.prompting import facts
from hookrouter_keystrokes.prompting.hidden import dropped
from hookrouter_keystrokes.screens.text import key

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GUARD", "guarded", "pieces", "untypable"]

GUARD = " "
"""Behind a text that Enter would not submit as it is. The client takes it off the prompt's end again (2.1.150 and
newer), or leaves it there (2.0.76)."""

_LONGEST_GAP = 60
_REFERENCES = re.compile(facts.REFERENCES)
_ESCAPED = re.compile(facts.ESCAPED)
_NO_CHARACTER = re.compile(
    "[\ufdd0-\ufdef" + "".join(chr((plane << 16) + low) for plane in range(17) for low in (0xFFFE, 0xFFFF)) + "]"
)
"""Unicode's noncharacters: terminals and clients leave them out, or draw something else."""


def untypable(text: str) -> str:
    """Return why the client would not take this text as it is; empty if it does."""
    if len(text) > facts.LONGEST:
        return f"it has {len(text)} characters; {facts.LONGEST} are typed at most: give a file's name in its place"
    if "\t" in text:
        return "it holds a tab, which the client turns into four blanks"
    if unicodedata.normalize("NFC", text) != text:
        return "it holds characters that the client normalizes (it is not in Unicode's form NFC)"
    if found := _NO_CHARACTER.search(text):
        return f"it holds U+{ord(found[0]):04X}, which is not a character"
    if hidden := dropped(text):
        return f"it holds the invisible character U+{ord(hidden):04X}, which newer clients drop"
    if found := _ESCAPED.search(text):
        return f"newer clients put a backslash into {found[0]!r}"
    if found := _REFERENCES.search(text):
        return f"the client would take {found[0]!r} for what was pasted in this session before"
    if re.search(rf" {{{_LONGEST_GAP},}}|\n{{{_LONGEST_GAP},}}", text):
        return f"it holds more than {_LONGEST_GAP} blanks or empty lines in a row, which cannot be read back"
    return ""


def guarded(text: str) -> str:
    """Return what is typed for a text: with a blank behind it if Enter would do something else than submit it.

    Behind a backslash Enter makes a new line, and a last word with ``@`` in it, or one that begins with ``/``, may have
    a menu open.
    """
    last = text.rsplit(None, 1)[-1]
    is_menu = "@" in last or (last.startswith("/") and last != text)
    return text + GUARD if is_menu or text.endswith("\\") else text


def pieces(text: str, columns: int, rows: int) -> Iterator[str]:
    """Yield the parts in which a text is pasted, each of which fits ``rows`` rows of so many columns.

    Each ends in something that can be seen, and not within what is drawn as one character. Each leaves the last row
    filled otherwise than the one before, so that the box is seen to change also if the text repeats itself.
    """
    at = 0
    last = ""
    while at < len(text):
        end = _end(text, at, columns, rows)
        while end > at + 1 and end < len(text) and _last_row(text[:end], columns) == last:
            end -= 1
        yield text[at:end]
        at, last = end, _last_row(text[:end], columns)


def _last_row(text: str, columns: int) -> str:
    """Return about what the last row shows."""
    line = text.rpartition("\n")[2]
    return line[len(line) - len(line) % columns :]


def _end(text: str, start: int, columns: int, rows: int) -> int:
    used, newlines, taken_rows = 0, 0, 1
    end = start
    while end < len(text) and end - start < facts.PASTE_CHARACTERS:
        if text[end] == "\n":
            newlines, taken_rows, used = newlines + 1, taken_rows + 1, 0
        else:
            used += text_width(text[end])
            if used > columns:
                taken_rows, used = taken_rows + 1, text_width(text[end])
        if newlines >= facts.PASTE_LINES or taken_rows > rows or (taken_rows == rows and used > columns // 3):
            break
        end += 1
    if end == len(text):
        return end
    best = end
    while best > start + 1 and (not key(text[best - 1]) or _continues(text[best])):
        best -= 1
    return best if best > start + 1 else max(end, start + 1)


def _continues(character: str) -> bool:
    """Whether a character may belong to the one before it."""
    return not character.isspace() and not key(character)
