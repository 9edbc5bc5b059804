"""Plots of a few characters for terminals. Libraries that do more weigh more than all of hookrouter's dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bar_chart", "sparkline"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:|#"


def bar_chart(values: Sequence[float | None], height: int, *, blocks: bool) -> list[str]:
    """Return ``height`` rows, the highest first, in which each value is a column from the bottom.

    The largest value fills all rows, a value above 0 shows in any case, and None or 0 leaves its column empty.
    ``blocks``: with block elements, else in ASCII.
    """
    ramp = _BLOCKS if blocks else _ASCII
    steps = len(ramp) - 1
    most = max((value for value in values if value), default=0)
    filled = [max(1, round(value / most * height * steps)) if value and most else 0 for value in values]
    return ["".join(ramp[min(max(fill - row * steps, 0), steps)] for fill in filled) for row in reversed(range(height))]


def sparkline(values: Sequence[float | None], *, blocks: bool) -> str:
    """Return one row as :func:`bar_chart` does."""
    return bar_chart(values, 1, blocks=blocks)[0]
