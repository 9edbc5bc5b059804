"""The process of the monitor: a web server on the router's socket, which ends with the router. Imports no typer."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING

from hookrouter._serving import control
from hookrouter._serving.log import say
from hookrouter.cli.application import Application
from hookrouter.storage.home import Home, HomeError
from hookrouter.util.process_log import begin, take_over_logging

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

WATCH_SECONDS = 1.0
"""Seconds between two looks at the router."""


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
    from hookrouter._monitor.app import MonitorApp
    from hookrouter._serving.http_server import Ending, HttpServer, allow_many_files

    allow_many_files()
    app = MonitorApp(lambda: Application.from_environ(share=False), await asyncio.to_thread(_boot, home))
    server, ending = HttpServer("monitor", app, listener, end_seconds=1), Ending(router)
    while not ending.is_due and not server.has_ended:
        await ending.wait(WATCH_SECONDS)
    await server.end()


def _boot(home: Home) -> str:
    """Return the router's boot; empty if it does not answer."""
    try:
        return str(control.ask(home.router).get("boot", ""))
    except control.NotServedError:
        return ""
