"""The process of the monitor: a web server on the router's socket, which ends with the router. Imports no typer."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hookrouter.cli.application import Application
from hookrouter.serving import control
from hookrouter.serving.asgi import serve_asgi
from hookrouter.storage.home import Home
from hookrouter_monitor.app import MonitorApp

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

__all__ = ["main"]


def main(router: int, listeners: Sequence[socket.socket]) -> int:
    """Serve on the one listener until the process ``router`` is not the parent any more; return the exit code.

    Raises HookrouterError and OSError if it cannot serve.
    """
    home = Home.from_environ(os.environ)
    app = MonitorApp(lambda: Application.from_environ(share=False), _boot(home))
    asyncio.run(serve_asgi("monitor", app, listeners[0], router))
    return 0


def _boot(home: Home) -> str:
    """Return the router's boot; empty if it does not answer."""
    try:
        return str(control.ask(home.router).get("boot", ""))
    except control.NotServedError:
        return ""
