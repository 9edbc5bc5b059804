"""The page as an ASGI application."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from hookrouter.util.text import describe_error
from hookrouter_page.machines import SeveralMachinesError
from hookrouter_page.security.guard import Guard
from hookrouter_page.security.logins import PATH
from hookrouter_page.state import PageState, state_of
from hookrouter_page.views import events, health, history, links, login, plugins, probes, sessions, statistics, waiting
from hookrouter_page.views.access import root_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from hookrouter.cli.application import Application

__all__ = ["make_app"]

_STATIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")

_ROUTES = (login, waiting, links, sessions, history, statistics, health, plugins, events, probes)


def make_app(make: Callable[[], Application]) -> Starlette:
    """Return the application; ``make`` reads the home's config and plugins as they are now."""
    state = PageState(make)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        state.live.start()
        state.stories.read_ahead()
        try:
            yield
        finally:
            state.live.end()

    routes = [route for module in _ROUTES for route in module.ROUTES]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=_STATIC))],
        middleware=[Middleware(Guard, page=state.page, root=lambda: state.logins.root)],
        lifespan=lifespan,
        exception_handlers={
            HTTPException: _refused,
            SeveralMachinesError: _not_guessed,
            ClientDisconnect: _gone,
            Exception: _failed,
        },
    )
    app.state.page = state
    return app


async def _refused(request: Request, error: Exception) -> Response:
    """Say that an address is no page's, or takes nothing."""
    status = error.status_code if isinstance(error, HTTPException) else 400
    if status == 404 and request.url.path.startswith(PATH) and not root_of(request):
        # The path of a former secret: whoever has it bookmarked has to log in anew.
        return state_of(request).draw(request, "no_login.html", 401)
    what = "There is no such page." if status == 404 else "This cannot be done here."
    return state_of(request).draw(request, "problem.html", status, what=what, why="")


async def _not_guessed(request: Request, error: Exception) -> Response:
    """Say that an address without a machine means several things."""
    return state_of(request).draw(
        request, "problem.html", 409, what="It is not known which machine is meant.", why=f"{error}."
    )


async def _gone(_request: Request, _error: Exception) -> Response:
    """Answer a request that did not come whole: nobody reads it, and nothing has failed."""
    return Response(status_code=400)


async def _failed(request: Request, error: Exception) -> Response:
    """Say that something of the page is broken; the journal has what."""
    state = state_of(request)
    state.former_services.warn(f"page {request.url.path.removeprefix(root_of(request))}: {describe_error(error)}")
    why = "The journal says more: hookrouter logs --level warning"
    return state.draw(request, "problem.html", 500, what="The page has failed.", why=why)
