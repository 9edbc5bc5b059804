"""Texts against patterns with ``*``, ``?`` and ``[…]``, without importing :mod:`fnmatch` where it is not needed."""

from __future__ import annotations

__all__ = ["fits_glob", "has_wildcard", "literal_prefix", "may_fit_glob"]


def has_wildcard(pattern: str) -> bool:
    """Whether a pattern stands for more than itself. A bracket that nothing closes is itself."""
    return "*" in pattern or "?" in pattern or "]" in pattern.partition("[")[2]


def fits_glob(text: str, pattern: str) -> bool:
    """Whether a text is one of a pattern's, with ``*``, ``?`` and ``[…]``, as :func:`fnmatch.fnmatchcase` says."""
    if not has_wildcard(pattern):
        return text == pattern
    beginning = literal_prefix(pattern)
    if not text.startswith(beginning) or pattern[len(beginning) :] == "*":
        return text.startswith(beginning)
    if "?" not in pattern and "[" not in pattern:
        return _fits_stars(text, pattern.split("*"))
    # A module that is slow to import, for most rules in vain.
    from fnmatch import fnmatchcase

    return fnmatchcase(text, pattern)


def _fits_stars(text: str, pieces: list[str]) -> bool:
    """Whether a text is made of these pieces, in order, with anything between them."""
    at, end = len(pieces[0]), len(text) - len(pieces[-1])
    for piece in pieces[1:-1]:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end and text.startswith(pieces[0]) and text.endswith(pieces[-1])


def literal_prefix(pattern: str) -> str:
    """Return what stands before the first wildcard."""
    end = next((at for at, character in enumerate(pattern) if character in "*?["), len(pattern))
    return pattern[:end]


def may_fit_glob(pattern: str, prefix: str, suffix: str = "") -> bool:
    """Whether a text of which no more is known than how it begins and ends may be one of a pattern's."""
    if not has_wildcard(pattern):
        return pattern.startswith(prefix) and pattern.endswith(suffix)
    beginning = literal_prefix(pattern)
    # What stands behind a bracket may be a part of it.
    ending = "" if "[" in pattern else literal_prefix(pattern[::-1])[::-1]
    return _agree(beginning, prefix) and _agree(ending[::-1], suffix[::-1])


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
