"""How Claude Code writes an option's label, on screen and in the answer that it records, and several of them in one.

Measured on Claude Code 2.1.330 with labels of some 200 different characters: what PreToolUse shows as the label is not
what PostToolUse records. Typed text is recorded verbatim and is no business of this module.

Questions and descriptions are drawn cut in the same way as labels, but a question is recorded whole.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PLAIN", "QUOTED", "STYLES", "cut", "joined_items", "recorded_label"]

QUOTED = "quoted"
"""How 2.1.238 and later write several items: those that hold ", " or a double quote are JSON strings."""
PLAIN = "plain"
"""How 2.1.234 and earlier write them: as they are."""
STYLES = (QUOTED, PLAIN)

_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)} | {
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0C: "\\f",
    0x0D: "\\r",
    0x22: '\\"',
    0x5C: "\\\\",
}

_LONGEST = 2000

_REMOVED = re.compile("[\ufe0e\ufe0f]")
_BLANKS = re.compile("[\t\u0020\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_KEPT = frozenset("\t\u180e\u200c\u200d\u200e\u200f")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2065\u3164\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]")


def recorded_label(label: str) -> str:
    """Return a label as it is drawn and recorded.

    Text and emoji variation selectors are removed; control and format characters, line breaks and other characters
    that show nothing become U+FFFD each, but for the joiners and direction marks that scripts need; a run of blanks
    becomes one space, and blanks at the ends are cut. A label that is too long is cut first, see :func:`cut`.
    """
    label = cut(label)
    if label.isascii() and label.isprintable() and "  " not in label:
        return label.strip()
    shown = "".join("\ufffd" if _is_replaced(character) else character for character in _REMOVED.sub("", label))
    return _BLANKS.sub(" ", shown).strip(" ")


def joined_items(items: Sequence[str], style: str = QUOTED) -> str:
    """Return the one answer as which several items are recorded, in a style of STYLES."""
    return ", ".join(_quoted(item) if style == QUOTED else item for item in items)


def _quoted(item: str) -> str:
    """Write an item as JavaScript's ``JSON.stringify`` does, if the client does so."""
    return f'"{item.translate(_JSON_ESCAPES)}"' if ", " in item or '"' in item else item


def cut(text: str) -> str:
    """Return a question, label or description as the client cuts it: after 2,000 UTF-16 units, with an ellipsis."""
    if len(text) <= _LONGEST // 2:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * _LONGEST:
        return text
    return units[: 2 * _LONGEST].decode("utf-16-le", "replace") + "…"


def _is_replaced(character: str) -> bool:
    if character in _KEPT:
        return False
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") or _UNSEEN.match(character) is not None
