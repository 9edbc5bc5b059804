"""Charts as numbers for the template ``charts.html``, which draws them as SVG. Each has its figures as a table, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Bar", "Chart", "columns", "rows"]

WIDTH, HEIGHT = 600, 200
"""Units of a chart's drawing; it is as wide as the page lets it be."""

LEFT, BOTTOM, TOP = 44, 26, 10
ROW = 30
MOST_ROWS = 20
_LABELS = 5
"""So many columns have their name under them, so that names do not meet on a phone."""


class Bar(NamedTuple):
    """One rectangle."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    """Which series it is of: a class of the style sheet."""
    title: str
    """What it says to whoever points at it."""


class Label(NamedTuple):
    """A text in the drawing."""

    x: float
    y: float
    text: str
    anchor: str


class Chart(NamedTuple):
    """What is drawn, and the table beside it."""

    title: str
    width: int
    height: int
    bars: list[Bar]
    labels: list[Label]
    head: list[str]
    table: list[list[str]]


def columns(title: str, names: Sequence[str], series: Mapping[str, Sequence[int]], what: str) -> Chart:
    """Return columns, one for each name, in which the series stand on each other. ``what`` names the columns."""
    count = max(len(names), 1)
    sums = [sum(values[at] for values in series.values()) for at in range(len(names))]
    most = max(sums, default=0) or 1
    step = (WIDTH - LEFT) / count
    high = HEIGHT - BOTTOM - TOP
    bars = []
    for at, name in enumerate(names):
        y = float(HEIGHT - BOTTOM)
        for kind, values in series.items():
            if values[at]:
                tall = high * values[at] / most
                y -= tall
                bars.append(Bar(_r(LEFT + at * step), _r(y), _r(step * 0.8), _r(tall), kind, f"{name}: {values[at]}"))
    every = max(1, -(-len(names) // _LABELS))
    labels = [
        Label(_r(LEFT + (at + 0.4) * step), HEIGHT - 8, name, "middle")
        for at, name in enumerate(names)
        if at % every == every // 2
    ]
    labels += [Label(LEFT - 6, HEIGHT - BOTTOM, "0", "end"), Label(LEFT - 6, TOP + 8, f"{most}", "end")]
    table = [[name, *(str(values[at]) for values in series.values())] for at, name in enumerate(names) if sums[at]]
    return Chart(title, WIDTH, HEIGHT, bars, labels, [what, *series], table)


def rows(title: str, values: Sequence[tuple[str, float]], unit: str, what: str) -> Chart:
    """Return one bar for each name and value, from above; of very many the first ones."""
    shown = values[:MOST_ROWS]
    most = max((value for _, value in shown), default=0.0) or 1.0
    bars, labels = [], []
    for at, (name, value) in enumerate(shown):
        y = at * ROW
        bars.append(Bar(0, y + 15, _r(max(1.0, WIDTH * value / most)), 10, "calls", f"{name}: {value:g} {unit}"))
        labels.append(Label(0, y + 11, name[:60], "start"))
        labels.append(Label(WIDTH, y + 11, f"{value:g} {unit}", "end"))
    table = [[name, f"{value:g} {unit}"] for name, value in values]
    return Chart(title, WIDTH, max(ROW * len(shown), 1), bars, labels, [what, unit], table)


def _r(value: float) -> float:
    return round(value, 1)
