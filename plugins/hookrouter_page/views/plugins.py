"""The pages of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from hookrouter_page.state import state_of
from hookrouter_page.views.access import seeing

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ROUTES"]


@seeing
async def _one(request: Request) -> Response:
    state, services = state_of(request), state_of(request).services
    found = state.plugin_pages.page("/plugins/{plugin}/{segment}".format_map(request.path_params))
    if found is None:
        return state.draw(request, "problem.html", 404, what="There is no such page.", why="")
    filled = await state.plugin_pages.fill_page(services, found, state.asked(request, services))
    return state.draw(request, "plugin_page.html", 500 if filled.problem else 200, filled=filled)


ROUTES = [Route("/plugins/{plugin}/{segment}", _one)]
