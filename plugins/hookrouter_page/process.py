"""The process of the page: a web server on the router's socket, which ends with the router, or once nobody looks."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hookrouter.cli.application import Application
from hookrouter.serving.asgi import serve_asgi
from hookrouter_page.app import make_app
from hookrouter_page.security.certificate import check_files
from hookrouter_page.settings import PageSettings

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

__all__ = ["main"]

IDLE_SECONDS = 600.0
"""Seconds after which a page that nobody has open ends; the router begins it anew when somebody connects."""

END_SECONDS = 2
"""Seconds that requests have to end, once the page is to."""


def main(router: int, listeners: Sequence[socket.socket]) -> int:
    """Serve on the one listener until the process ``router`` is not the parent any more, or nobody looks.

    Returns the exit code. Raises HookrouterError and OSError if it cannot serve.
    """
    page = Application.from_environ().checked_settings(PageSettings)
    if page.certificate:
        # The server would ask the terminal for the password of a key that has one.
        check_files(page.certificate, page.private_key)
    files = os.path.expanduser(page.certificate), os.path.expanduser(page.private_key)
    app = make_app(Application.from_environ)
    asyncio.run(
        serve_asgi(
            "page",
            app,
            listeners[0],
            router,
            lifespan=True,
            certificate=files if page.certificate else None,
            end_seconds=END_SECONDS,
            idle_seconds=IDLE_SECONDS,
            at_end=app.state.page.live.end,
        )
    )
    return 0
