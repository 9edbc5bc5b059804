"""How Claude Code writes an option's label: on screen, and in the answer that it records.

Measured on Claude Code 2.1.330 with labels of some 200 different characters: what PreToolUse shows as the label is not
what PostToolUse records. Typed text is recorded verbatim and is no business of this module.

Questions and descriptions are drawn cut in the same way as labels, but a question is recorded whole.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["cut", "recorded_label"]

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
