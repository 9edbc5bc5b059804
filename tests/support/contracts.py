"""Contracts of which the quick layers run one part, and the integration tests the other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

__all__ = ["only", "without"]

T = TypeVar("T")


def without(names: Collection[str]) -> Callable[[type[T]], type[T]]:
    """Leave tests of a contract out of the class that is decorated: they stand in another layer."""

    def decorated(kind: type[T]) -> type[T]:
        for name in names:
            assert hasattr(kind, name), f"{kind.__name__}: there is no {name}"
            setattr(kind, name, None)
        return kind

    return decorated


def only(names: Collection[str]) -> Callable[[type[T]], type[T]]:
    """Leave all tests but these out of the class that is decorated."""

    def decorated(kind: type[T]) -> type[T]:
        others = {name for name in dir(kind) if name.startswith("test_")}.difference(names)
        return without(others)(kind)

    return decorated
