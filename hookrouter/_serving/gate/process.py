"""The process of the gate: its sockets, its HTTP servers, and its end, which is the router's end.

Once the router ends, or has this process end (SIGTERM), no new connection is taken. Calls of the own socket are ended:
their clients ask the next gate. Nobody asks again for an http hook, so those that wait go on, and if another gate takes
this one's place, a connection that a client keeps is closed with its next answer, or by the client: were it closed
here, a request that is on its way would be lost.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter import __version__
from hookrouter._serving import address
from hookrouter._serving.caller import bring
from hookrouter._serving.gate.calls import Calls
from hookrouter._serving.gate.hook_api import HookApi
from hookrouter._serving.gate.own_api import OwnApi
from hookrouter._serving.gate.prompts import Mods
from hookrouter._serving.home_config import load_config
from hookrouter._serving.token import made_token
from hookrouter.serving.log import say
from hookrouter.storage.home import Home, ensure
from hookrouter.util import unix_socket
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from hookrouter._serving.caller import BroughtCall, Outcome
    from hookrouter.serving.asgi import Ending, HttpServer

__all__ = ["main"]

WATCH_SECONDS = 1.0
"""Seconds between two looks at the router, at the socket's file and at forgotten calls."""

LINGER = 0.2
"""Seconds that connections of the own socket which were taken last have to say what they want, and between two looks at
those of http hooks."""


def main(router: int, listeners: Sequence[socket.socket | None]) -> int:
    """Run the gate of the process ``router``; return its exit code.

    The listeners are that of the address for http hooks, if there is one, and the own one. Raises HomeError and OSError
    if it cannot serve.
    """
    home = Home.from_environ(os.environ)
    ensure(home.router)
    *others, own = listeners
    if own is None:
        return 1
    asyncio.run(_Gate(home, router, own, others[0] if others else None).run())
    return 0


class _Gate:
    """The servers of one home."""

    def __init__(self, home: Home, router: int, own: socket.socket, tcp: socket.socket | None) -> None:
        self._own = own
        self._tcp = tcp
        self._home = home
        self._router = router
        self._folder = home.router
        self._boot = os.urandom(8).hex()
        self._calls = Calls(self._bring)
        self._mods = Mods()
        self._http = load_config(home).serve.http
        self._hooks: HookApi | None = None
        self._problem = ""
        """Why http hooks are not served."""

    async def run(self) -> None:
        """Serve until the router ends. Raises OSError if the socket cannot be made."""
        from hookrouter.serving.asgi import Ending, HttpServer, allow_many_files

        allow_many_files()
        ending = Ending(self._router)
        file = unix_socket.file_identity(self._folder, address.HTTP)
        own = HttpServer("gate", OwnApi(self._calls, self._mods, self._health), self._own)
        if self._tcp is None and self._http:
            self._note_problem(f"{self._http} cannot be had")
        others = [] if self._tcp is None else [HttpServer("gate", self._hook_api(), self._tcp)]
        servers = [own, *others]
        while not ending.is_due and not any(one.has_ended for one in servers):
            self._calls.sweep()
            self._mods.sweep()
            if unix_socket.file_identity(self._folder, address.HTTP) != file:
                # Somebody has removed it, or another gate has taken its place.
                break
            await ending.wait(WATCH_SECONDS)
        if not ending.has_router and unix_socket.file_identity(self._folder, address.HTTP) == file:
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, address.HTTP))
        for server in servers:
            server.accept_no_more()
        await asyncio.gather(self._end_own(own), *(self._end_hooks(one, ending) for one in others))

    async def _end_own(self, server: HttpServer) -> None:
        await asyncio.sleep(LINGER)
        self._mods.end_all()
        ending = asyncio.create_task(server.end())
        await self._calls.end_all()
        await ending

    async def _end_hooks(self, server: HttpServer, ending: Ending) -> None:
        if self._hooks is not None:
            self._hooks.end_connections()
        # The server itself closes those that are idle for longer than it keeps them.
        while server.connections and ending.has_router and not server.has_ended:
            await asyncio.sleep(LINGER)
        await server.end()

    def _health(self) -> dict[str, object]:
        return {
            "name": "hookrouter",
            "version": __version__,
            "boot": self._boot,
            "home": self._home.root,
            "running": len(self._calls) + (0 if self._hooks is None else len(self._hooks)),
            "http": self._http,
            "problem": self._problem,
        }

    def _hook_api(self) -> HookApi:
        """Return what answers http hooks."""
        try:
            token = made_token(self._home)
        except OSError as error:
            self._note_problem(describe_error(error))
            # The socket is the router's, too: whoever connects must get a refusal, not wait for one.
            token = secrets.token_urlsafe()
        self._hooks = HookApi(self._http, token, os.environ, self._bring)
        return self._hooks

    def _note_problem(self, problem: str) -> None:
        if problem != self._problem:
            say(f"gate: {problem}", event="gate")
        self._problem = problem

    async def _bring(self, call: BroughtCall) -> Outcome:
        return await bring(self._folder, call)
