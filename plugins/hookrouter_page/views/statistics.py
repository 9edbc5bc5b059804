"""*Statistics*: calls, times per plugin, answers and their outcome, waiting times; plots drawn on the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from hookrouter.storage.history_counts import WAITED
from hookrouter.util.clock import iso, local, seconds
from hookrouter_page.charts import columns, rows
from hookrouter_page.state import state_of
from hookrouter_page.views.access import seeing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from hookrouter_page.charts import Chart
    from hookrouter_page.reading.figures import Counted

__all__ = ["ROUTES"]


@seeing
async def _show(request: Request) -> Response:
    state = state_of(request)
    state.counting.look(state.services)
    counted = state.counting.counted
    charts = [] if counted is None else list(_charts(counted))
    return state.draw(request, "statistics.html", counted=counted, charts=charts)


def _charts(counted: Counted) -> Iterator[Chart]:
    start = seconds(counted.start) or 0.0
    names = [local(iso(start + at * counted.stretch))[:10] for at in range(len(counted.calls))]
    yield columns("Answers by their outcome, 30 days", names if counted.outcomes else [], counted.outcomes, "day")
    ends = [f"up to {name}" for _, name in WAITED]
    yield columns("How long questions waited", [*ends, "longer"], {"calls": counted.waited}, "time")
    yield columns("Hook runs, 30 days", names, {"calls": counted.calls}, "day")
    for title, found, what in (
        ("Hook runs: median time", counted.events, "event"),
        ("Plugins: median time of a call", counted.plugins, "plugin and hook"),
    ):
        timed = [(row.name, row.times.median) for row in found if row.times.median is not None]
        yield rows(title, sorted(timed, key=lambda one: -one[1]), "ms", what)


ROUTES = [Route("/statistics", _show)]
