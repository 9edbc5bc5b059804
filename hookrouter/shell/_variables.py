"""Which variables hold numbers for certain: arithmetic evaluates what they hold, which may run commands."""

from __future__ import annotations

from contextlib import contextmanager

from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Variables"]

_STEPS = 2_000
"""How many variables are looked at in all, of those that come from each other."""
_DEPTH = 50


class _Assigned(Value):
    value: str | bool
    """Whether it is a number, or the variable that it comes from."""
    at: int
    region: tuple[int, ...]
    lasts: bool
    """Whether the variable keeps it: not for an assignment before the words of a command."""


class _Evaluated(Value):
    name: str
    at: int
    region: tuple[int, ...]
    start: int
    end: int


class Variables:
    """The variables of one text. A region is a part of it that may run any number of times, or in another process."""

    def __init__(self) -> None:
        self._assigned: dict[str, list[_Assigned]] = {}
        self._evaluated: list[_Evaluated] = []
        self._region: tuple[int, ...] = ()
        self._regions = 0
        self._arrays: set[str] = set()
        self._compound: list[tuple[str, int, int]] = []
        self._steps = _STEPS

    @contextmanager
    def region(self) -> Iterator[None]:
        """Be in a new region, within the one that it is in."""
        outer = self._region
        self._regions += 1
        self._region = (*outer, self._regions)
        try:
            yield
        finally:
            self._region = outer

    def assigned(self, name: str, value: str | bool, at: int, *, lasts: bool = True) -> None:
        """Note that a variable gets a value: whether it is a number for certain, or the name of another variable."""
        self._assigned.setdefault(name, []).append(_Assigned(value, at, self._region, lasts))

    def evaluated(self, name: str, at: int, start: int, end: int) -> None:
        """Note that a variable is evaluated as a number. ``start`` and ``end`` are where to say so."""
        self._evaluated.append(_Evaluated(name, at, self._region, start, end))

    def array(self, name: str) -> None:
        """Note that a variable is an array."""
        self._arrays.add(name)

    def compound(self, name: str, start: int, end: int) -> None:
        """Note that a variable gets a value that is read again if the variable is an array."""
        self._compound.append((name, start, end))

    def doubtful(self) -> Iterator[tuple[int, int]]:
        """Yield where a variable is evaluated that may hold something else than a number, or a text is read again."""
        for name, start, end in self._compound:
            if name in self._arrays:
                yield start, end
        for one in self._evaluated:
            if not self._is_number(one.name, one.at, one.region, set()):
                yield one.start, one.end

    def _is_number(self, name: str, at: int, region: tuple[int, ...], seen: set[str]) -> bool:
        """Whether all that the text assigns to a variable is a number, and something was assigned before."""
        if name in seen:
            # All that it takes part in is a number if the rest is.
            return True
        self._steps -= 1
        if self._steps < 0 or len(seen) > _DEPTH:
            return False
        values = self._assigned.get(name, [])
        is_set = any(one.lasts and one.at <= at and region[: len(one.region)] == one.region for one in values)
        seen = seen | {name}
        return is_set and all(
            one.value if isinstance(one.value, bool) else self._is_number(one.value, one.at, one.region, seen)
            for one in values
        )
