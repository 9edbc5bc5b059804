"""Which invisible characters the client takes out of a prompt before it submits it, as data, and where it keeps them.

Seen on 2.1.330, which says "Removed 1 invisible character" below the box. It takes out what is in the ranges of HIDDEN,
but for what a word or an emoji needs. It knows more such places than stand here: those are refused, which is safe.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["HIDDEN", "dropped", "without_dropped"]

HIDDEN = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1107F, 0x1107F),
    (0x13430, 0x1343F),
    (0x16FE4, 0x16FE4),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""The first and last character of each range."""

_HIDDEN = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in HIDDEN) + "]")

_JOINER, _NON_JOINER = "\u200d", "\u200c"
_FORM_OF_EMOJI = "\ufe0e\ufe0f"
_SKIN = re.compile("[\U0001f3fb-\U0001f3ff]")
_KEYCAP = "\u20e3"
_INDIC = re.compile("[\u0900-\u0952\u0955-\u0dff]")
"""Scripts, Devanagari to Sinhala, whose letters with their marks may be followed by a joiner or non-joiner."""
_ARABIC = re.compile("[\u0621-\u063a\u0641-\u064a\u066e\u066f\u0671-\u06d3\u06d5]")
"""Letters behind which the same holds, without marks."""
_PICTOGRAPH = re.compile(
    "["
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9-\u21aa\u231a-\u231b\u2328\u23cf\u23e9-\u23f3"
    r"\u23f8-\u23fa\u24c2\u25aa-\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614-\u2615\u2618\u261d"
    r"\u2620\u2622-\u2623\u2626\u262a\u262e-\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f-\u2660\u2663"
    r"\u2665-\u2666\u2668\u267b\u267e-\u267f\u2692-\u2697\u2699\u269b-\u269c\u26a0-\u26a1\u26a7\u26aa-\u26ab"
    r"\u26b0-\u26b1\u26bd-\u26be\u26c4-\u26c5\u26c8\u26ce-\u26cf\u26d1\u26d3-\u26d4\u26e9-\u26ea\u26f0-\u26f5"
    r"\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733-\u2734\u2744"
    r"\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2764\u2795-\u2797\u27a1\u27b0\u27bf\u2934-\u2935\u2b05-\u2b07"
    r"\u2b1b-\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f02c-\U0001f02f\U0001f094-\U0001f09f"
    r"\U0001f0af-\U0001f0b0\U0001f0c0\U0001f0cf-\U0001f0d0\U0001f0f6-\U0001f0ff\U0001f170-\U0001f171"
    r"\U0001f17e-\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f1ae-\U0001f1e5\U0001f201-\U0001f20f\U0001f21a"
    r"\U0001f22f\U0001f232-\U0001f23a\U0001f23c-\U0001f23f\U0001f249-\U0001f25f\U0001f266-\U0001f321"
    r"\U0001f324-\U0001f393\U0001f396-\U0001f397\U0001f399-\U0001f39b\U0001f39e-\U0001f3f0\U0001f3f3-\U0001f3f5"
    r"\U0001f3f7-\U0001f3fa\U0001f400-\U0001f4fd\U0001f4ff-\U0001f53d\U0001f549-\U0001f54e\U0001f550-\U0001f567"
    r"\U0001f56f-\U0001f570\U0001f573-\U0001f57a\U0001f587\U0001f58a-\U0001f58d\U0001f590\U0001f595-\U0001f596"
    r"\U0001f5a4-\U0001f5a5\U0001f5a8\U0001f5b1-\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3"
    r"\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa-\U0001f64f"
    r"\U0001f680-\U0001f6c5\U0001f6cb-\U0001f6d2\U0001f6d5-\U0001f6e5\U0001f6e9\U0001f6eb-\U0001f6f0"
    r"\U0001f6f3-\U0001f6ff\U0001f7da-\U0001f7ff\U0001f80c-\U0001f80f\U0001f848-\U0001f84f\U0001f85a-\U0001f85f"
    r"\U0001f888-\U0001f88f\U0001f8ae-\U0001f8af\U0001f8bc-\U0001f8bf\U0001f8c2-\U0001f8cf\U0001f8d9-\U0001f8ff"
    r"\U0001f90c-\U0001f93a\U0001f93c-\U0001f945\U0001f947-\U0001f9ff\U0001fa58-\U0001fa5f\U0001fa6e-\U0001faff"
    r"\U0001fc00-\U0001fffd"
    "]"
)
"""Unicode's Extended_Pictographic, but for ASCII: what a joiner joins, and what may stand in two forms."""


def dropped(text: str) -> str:
    """Return the first character that the client would take out of a text; empty if it keeps all."""
    for found in _HIDDEN.finditer(text):
        if not _is_kept(text, found.start()):
            return found[0]
    return ""


def without_dropped(text: str) -> str:
    """Return a text without the characters that the client would take out of it."""
    return _HIDDEN.sub(lambda found: found[0] if _is_kept(text, found.start()) else "", text)


def _is_kept(text: str, at: int) -> bool:
    character, before, after = text[at], text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if character in _FORM_OF_EMOJI:
        is_keycap = before in tuple("0123456789#*") and after == _KEYCAP
        return is_keycap or _PICTOGRAPH.match(before) is not None
    if character == _JOINER and _PICTOGRAPH.match(after) and _follows_pictograph(text, at):
        return True
    return character in (_JOINER, _NON_JOINER) and _follows_letter(text, at)


def _follows_pictograph(text: str, at: int) -> bool:
    """Whether a pictograph stands before ``at``; between them may be its skin and its form."""
    for character in reversed(text[max(0, at - 3) : at]):
        if character not in _FORM_OF_EMOJI[1:] and not _SKIN.match(character):
            return _PICTOGRAPH.match(character) is not None
    return False


def _follows_letter(text: str, at: int) -> bool:
    """Whether a letter of a script that joins stands before ``at``; between them may be its marks."""
    if _ARABIC.match(text[max(0, at - 1) : at]):
        return True
    for character in reversed(text[max(0, at - 10) : at]):
        if not _INDIC.match(character):
            return False
        if not unicodedata.category(character).startswith("M"):
            return unicodedata.category(character).startswith("L")
    return False
