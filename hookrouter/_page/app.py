"""The page as an ASGI application."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from hookrouter._page.security.guard import Guard
from hookrouter._page.state import PageState
from hookrouter._page.views import events, health, history, links, login, sessions, statistics, waiting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from hookrouter.cli.application import Application

__all__ = ["make_app"]

_STATIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")

_ROUTES = (login, waiting, links, sessions, history, statistics, health, events)


def make_app(make: Callable[[], Application]) -> Starlette:
    """Return the application; ``make`` reads the home's config and plugins as they are now."""
    state = PageState(make)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        state.live.start()
        try:
            yield
        finally:
            state.live.end()

    routes = [route for module in _ROUTES for route in module.ROUTES]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=_STATIC))],
        middleware=[Middleware(Guard, page=state.page)],
        lifespan=lifespan,
    )
    app.state.page = state
    return app
