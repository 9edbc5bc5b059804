"""The process of the page: a web server on the router's socket, which ends with the router, or once nobody looks."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING

from hookrouter._page.app import make_app
from hookrouter._serving.http_server import Ending, HttpServer, allow_many_files
from hookrouter._serving.page_tls import check_files
from hookrouter.util.process_log import take_over_logging

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette

    from hookrouter.cli.application import Application
    from hookrouter.config import PageConfig

__all__ = ["run"]

WATCH_SECONDS = 1.0
"""Seconds between two looks at the router and at the connections."""

IDLE_SECONDS = 600.0
"""Seconds after which a page that nobody has open ends; the router begins it anew when somebody connects."""

END_SECONDS = 2
"""Seconds that requests have to end, once the page is to."""


def run(make: Callable[[], Application], router: int, listener: int) -> int:
    """Serve on the listening socket ``listener`` until the process ``router`` is not the parent any more.

    Returns the exit code. Raises HomeError, OSError and TlsError if it cannot serve.
    """
    os.set_inheritable(listener, False)
    take_over_logging()
    allow_many_files()
    page = make().config.page
    if page.certificate:
        # The server would ask the terminal for the password of a key that has one.
        check_files(page)
    with socket.socket(fileno=listener) as connection:
        asyncio.run(_serve(make_app(make), page, router, connection))
    return 0


async def _serve(app: Starlette, page: PageConfig, router: int, listener: socket.socket) -> None:
    files = os.path.expanduser(page.certificate), os.path.expanduser(page.private_key)
    server = HttpServer(
        "page", app, listener, lifespan=True, certificate=files if page.certificate else None, end_seconds=END_SECONDS
    )
    ending = Ending(router)
    idle, answered = 0.0, 0
    while not ending.is_due and not server.has_ended and idle < IDLE_SECONDS:
        await ending.wait(WATCH_SECONDS)
        # A probe is over between two looks; it is to find a page that runs, and not wait for one each ten minutes.
        seen, answered = answered, server.answered
        idle = 0.0 if server.connections or answered != seen else idle + WATCH_SECONDS
    app.state.page.live.end()
    await server.end()
