"""How surely something is what a rule is about."""

from __future__ import annotations

__all__ = ["MAYBE", "NO", "YES", "fits_glob", "folded", "has_wildcard"]

NO, MAYBE, YES = 0, 1, 2
"""Whether a rule is about something, for all that is known of it: the surer, the greater."""


def has_wildcard(pattern: str) -> bool:
    """Whether a pattern stands for more than itself."""
    return "*" in pattern or "?" in pattern or "[" in pattern


def fits_glob(text: str, pattern: str) -> bool:
    """Whether a text is one of a pattern's, with ``*``, ``?`` and ``[…]``, as :func:`fnmatch.fnmatchcase` says."""
    if not has_wildcard(pattern):
        return text == pattern
    # A module that is slow to import, for most rules in vain.
    from fnmatch import fnmatchcase

    return fnmatchcase(text, pattern)


def folded(text: str) -> str:
    """Return a text as a file system compares it that takes no account of case and Unicode form, as macOS's does."""
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
