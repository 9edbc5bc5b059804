"""The process of the monitor: a web server on the router's socket, which ends with the router. Imports no typer."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hookrouter._serving import control
from hookrouter._serving.log import say
from hookrouter.cli.application import Application
from hookrouter.storage.home import Home, HomeError
from hookrouter.util.process_log import begin, take_over_logging

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]

WATCH_SECONDS = 1.0
"""Seconds between two looks at the router."""

MOST = 32
"""Requests at one moment; whoever comes on top of them is told so."""

_KEEP_ALIVE = 30


def main(argv: Sequence[str]) -> int:
    """Serve: ``argv`` is the router's process id and the listening descriptor. Returns the exit code."""
    begin("monitor")
    take_over_logging()
    router, listener = (int(number) for number in argv)
    os.set_inheritable(listener, False)
    try:
        home = Home.from_environ(os.environ)
        with socket.socket(fileno=listener) as connection:
            asyncio.run(_serve(home, router, connection))
    except (HomeError, OSError) as error:
        say(f"monitor: {error}", event="monitor", level="error")
        return 1
    return 0


async def _serve(home: Home, router: int, listener: socket.socket) -> None:
    import uvicorn

    from hookrouter._monitor.app import MonitorApp

    class _Server(uvicorn.Server):
        """A server that leaves signals to the monitor."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Take none."""
            yield

    app = MonitorApp(lambda: Application.from_environ(share=False), await asyncio.to_thread(_boot, home))
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,
    )
    server, ending = _Server(config), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, ending.set)
    serving = asyncio.create_task(server.serve([listener]))
    while not ending.is_set() and os.getppid() == router and not serving.done():
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), WATCH_SECONDS)
    server.should_exit = True
    await serving


def _boot(home: Home) -> str:
    """Return the router's boot; empty if it does not answer."""
    try:
        return str(control.ask(home.router).get("boot", ""))
    except control.NotServedError:
        return ""
