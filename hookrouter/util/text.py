"""Text for people: foreign text made safe to show, and words that were probably meant."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "TRIMMED", "closest", "describe_error", "describe_value", "did_you_mean", "duration", "printable",
    "version_numbers",
]  # fmt: skip

TRIMMED = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""What JavaScript's ``trim``, and so Claude Code, takes off the ends of a text (WhiteSpace and LineTerminator of
ECMAScript): not all that Python's ``strip`` does, and the mark of the byte order, too."""

_JOINERS = "\u200c\u200d"
"""They join emoji, and letters of some scripts, so one between two characters is left as it is."""

_PRESENTATION = "\ufe0e\ufe0f"
"""They choose how the character before them is drawn, so one after a character is left as it is."""

_INVISIBLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""What is drawn as nothing, first and last of each range: Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties
of Unicode 15), the separators that break lines and the marks of annotations. Tags and variation selectors among them
can carry a whole text that only a machine reads."""


def duration(seconds: float) -> str:
    """Return a number of seconds in words, for people: ``1.5 s``, ``45 s``, ``12 min``, ``2.5 h`` or ``3 d``."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{round(seconds, 1):.3g} s"


def printable(text: str, *, keep_newlines: bool = False) -> str:
    r"""Return text with nothing in it that could steer a terminal or hide from a reader.

    Control characters, lone surrogates and whatever is drawn as nothing become visible as ``\xNN``, ``\uNNNN`` or
    ``\UNNNNNNNN``. Newlines and tabs stay only with ``keep_newlines``. A single joiner between characters, and one
    presentation selector after a character, stay: emoji and some scripts need them. Everything else is left as it is.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    before = ""
    for character in text:
        if keep_newlines and character in "\n\t":
            shown.append(character)
        elif _is_hidden(character) and not _is_needed(character, before):
            shown.append(_escaped(ord(character)))
        else:
            shown.append(character)
        before = character
    return "".join(shown)


def _is_hidden(character: str) -> bool:
    code = ord(character)
    if code < 0x7F:
        return code < 0x20
    return code < 0xA0 or 0xD800 <= code < 0xE000 or any(first <= code <= last for first, last in _INVISIBLE)


def _is_needed(character: str, before: str) -> bool:
    """Whether a hidden character belongs to the visible one before it; never two of a kind in a row."""
    if character in _JOINERS:
        return bool(before) and (before in _PRESENTATION or not _is_hidden(before))
    return character in _PRESENTATION and bool(before) and not _is_hidden(before)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def version_numbers(text: object) -> tuple[int, ...] | None:
    """Return the numbers of a version such as ``2.1.330``; None for what is none."""
    parts = text.split(".") if isinstance(text, str) else [""]
    is_version = all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts)
    return tuple(int(part) for part in parts) if is_version else None


def closest(found: str, allowed: Iterable[str]) -> str:
    """Return the allowed word that was probably meant; empty if none is close. Case, ``-`` and ``_`` do not count."""
    from difflib import SequenceMatcher, get_close_matches

    plain: dict[str, list[str]] = {}
    for word in allowed:
        plain.setdefault(_plain(word), []).append(word)
    for close in get_close_matches(_plain(found), plain, n=1):
        # Words that differ in case and dashes alone: the one that is written like what was found.
        return max(plain[close], key=lambda word: SequenceMatcher(a=word, b=found).ratio())
    return ""


def _plain(word: str) -> str:
    return word.replace("-", "").replace("_", "").casefold()


def did_you_mean(found: str, allowed: Iterable[str], otherwise: str = "") -> str:
    """Return ``did you mean 'word'?`` with the allowed word that is close, or ``otherwise`` if none is."""
    word = closest(found, allowed)
    return f"did you mean {word!r}?" if word else otherwise


def describe_error(error: BaseException, limit: int = 500) -> str:
    """Return an exception's class and text in one printable line of at most ``limit`` characters. Never raises.

    An exception of somebody else's may raise whatever it likes when it is asked for its class or its text.
    """
    try:
        name = f"{type(error).__name__}: "[:limit]
    except BaseException:  # noqa: BLE001 - a class of somebody else's, sys.exit() included
        name = "Exception: "
    try:
        # Joined first: what str() returns may be a subclass of str.
        text = f"{name}{error}"[:limit]
    except BaseException:  # noqa: BLE001 - as above
        text = f"{name}its text cannot be shown"
    return printable(text)[:limit]


def describe_value(value: object, limit: int = 100) -> str:
    """Return the repr of a value in one printable line of about ``limit`` characters. Never raises."""
    try:
        shown = f"{value!r}"
        shown = "".join((shown[:limit], "…")) if len(shown) > limit else "".join((shown, ""))
        return printable(shown)
    except BaseException:  # noqa: BLE001 - the repr of an object of somebody else's, sys.exit() included
        return "an object that cannot be shown"
