"""The process of the page: a web server on the router's socket, which ends with the router, or once nobody looks."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from hookrouter._page.app import make_app
from hookrouter._serving.page_tls import check_files
from hookrouter.util.process_log import take_over_logging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    page = make().config.page
    if page.certificate:
        # The server would ask the terminal for the password of a key that has one.
        check_files(page)
    with socket.socket(fileno=listener) as connection:
        asyncio.run(_serve(make_app(make), page, router, connection))
    return 0


async def _serve(app: Starlette, page: PageConfig, router: int, listener: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=END_SECONDS,
        ssl_certfile=os.path.expanduser(page.certificate) or None,
        ssl_keyfile=os.path.expanduser(page.private_key) or None,
    )
    server = _Server(config)
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, ending.set)
    serving = asyncio.create_task(server.serve([listener]))
    idle, answered = 0.0, 0
    while not ending.is_set() and os.getppid() == router and not serving.done() and idle < IDLE_SECONDS:
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), WATCH_SECONDS)
        # A probe is over between two looks; it is to find a page that runs, and not wait for one each ten minutes.
        seen, answered = answered, server.server_state.total_requests
        idle = 0.0 if server.server_state.connections or answered != seen else idle + WATCH_SECONDS
    app.state.page.live.end()
    server.should_exit = True
    await serving


class _Server(uvicorn.Server):
    """A server that leaves signals to the page."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield
