"""Finds optional methods that an author has misspelt, so that nobody would ever call them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["misspelt_methods", "overrides"]

_ALIKE = 0.7


def _public(part: type) -> set[str]:
    return {name for name in dir(part) if not name.startswith("_") and callable(getattr(part, name))}


def overrides(value: object, base: type, name: str) -> bool:
    """Whether an object's class has a method of its own in the place of the base class's."""
    return getattr(type(value), name, None) is not getattr(base, name)


def misspelt_methods(value: object, required: type, optional: Iterable[type]) -> list[str]:
    """Return what is wrong with an object's optional methods, one fault each; nothing if all is well.

    ``required`` is the protocol or base class that the object fulfils, ``optional`` are the protocols that it may. A
    fault is a method whose name is much like one of theirs and none of them, and a protocol of which only a part is
    there.
    """
    optional = list(optional)
    names, known = _public(type(value)), _public(required).union(*map(_public, optional))
    missing = known - names
    if required in type(value).__mro__:
        missing |= {name for name in _public(required) if not overrides(value, required, name)}
    faults = []
    for name in sorted(names - known):
        alike = difflib.get_close_matches(name, missing, n=1, cutoff=_ALIKE)
        if alike:
            faults.append(f"{name}() is never called; {alike[0]}() is meant?")
    for part in optional:
        absent = _public(part) - names
        if absent and absent != _public(part):
            faults.append(f"{part.__name__} wants {', '.join(f'{each}()' for each in sorted(absent))} too")
    return faults
