"""Finds optional methods that an author has misspelt, so that nobody would ever call them."""

from __future__ import annotations

import difflib

__all__ = ["misspelt_methods", "overrides"]

_ALIKE = 0.7


def _public(part: type) -> set[str]:
    return {name for name in dir(part) if not name.startswith("_") and callable(getattr(part, name))}


def overrides(value: object, base: type, name: str) -> bool:
    """Whether an object's class has a method of its own in the place of the base class's."""
    return getattr(type(value), name, None) is not getattr(base, name)


def misspelt_methods(value: object, base: type) -> list[str]:
    """Return which methods of an object are much like one that its base class has, one line each; nothing if none."""
    known = _public(base)
    missing = {name for name in known if not overrides(value, base, name)}
    return [
        f"{name}() is never called; {alike[0]}() is meant?"
        for name in sorted(_public(type(value)) - known)
        if (alike := difflib.get_close_matches(name, missing, n=1, cutoff=_ALIKE))
    ]
