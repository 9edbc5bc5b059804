"""The process of the gate: its sockets, its HTTP servers, and its end, which is the router's end.

Once the router ends, or has this process end (SIGTERM), no new connection is taken. Calls of the own socket are ended:
their clients ask the next gate. Nobody asks again for an http hook, so those that wait go on, and if another gate takes
this one's place, a connection that a client keeps is closed with its next answer, or by the client: were it closed
here, a request that is on its way would be lost.
"""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookrouter import __version__
from hookrouter._serving import address
from hookrouter._serving.caller import bring
from hookrouter._serving.gate.calls import Calls
from hookrouter._serving.gate.hook_api import HookApi
from hookrouter._serving.gate.own_api import OwnApi
from hookrouter._serving.gate.prompts import Mods
from hookrouter._serving.gate_process import NO_UVICORN
from hookrouter._serving.gate_sockets import NONE
from hookrouter._serving.home_config import load_config
from hookrouter._serving.log import say
from hookrouter._serving.token import made_token
from hookrouter.storage.home import Home, HomeError, ensure
from hookrouter.util import unix_socket
from hookrouter.util.process_log import begin, take_over_logging
from hookrouter.util.text import describe_error

try:
    import uvicorn
except ImportError:
    uvicorn = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter._serving.caller import BroughtCall, Outcome

__all__ = ["main"]

WATCH_SECONDS = 1.0
"""Seconds between two looks at the router, at the socket's file and at forgotten calls."""

KEEP_ALIVE = 90
"""Seconds that an idle connection is kept: longer than any client keeps one, so that it is the client who closes it."""

MAX_HEAD = 64 * 1024
"""Bytes of the longest head of a request."""

LINGER = 0.2
"""Seconds that connections of the own socket which were taken last have to say what they want, and between two looks at
those of http hooks."""

_QUICKLY = getattr(socket, "TCP_QUICKACK", None)
"""Linux's option that has what comes next acknowledged at once; it holds for a moment only."""


def main(argv: Sequence[str]) -> int:
    """Run the gate: ``argv`` is the router's process id, then the descriptors of its listening sockets.

    Those are the own one and that of the address for http hooks (:mod:`hookrouter._serving.gate_sockets`). Returns the
    exit code.
    """
    begin("gate")
    take_over_logging()
    if uvicorn is None:
        say("gate: uvicorn is missing; install hookrouter[serve]", event="gate", level="error")
        return NO_UVICORN
    try:
        home = Home.from_environ(os.environ)
        ensure(home.router)
        _allow_many_files()
        router, own, tcp = (int(number) for number in argv)
        asyncio.run(_Gate(home, router, _listener(own), None if tcp == NONE else _listener(tcp)).run())
    except (HomeError, OSError) as error:
        say(f"gate: cannot serve: {error}", event="gate", level="error")
        return 1
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
        self._ending = asyncio.Event()
        self._calls = Calls(self._bring)
        self._mods = Mods()
        self._http = load_config(home).serve.http
        self._hooks: HookApi | None = None
        self._problem = ""
        """Why http hooks are not served."""

    async def run(self) -> None:
        """Serve until the router ends. Raises OSError if the socket cannot be made."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._ending.set)
        file = unix_socket.file_identity(self._folder, address.HTTP)
        servers = [_serve(OwnApi(self._calls, self._mods, self._health), self._own)]
        if (hooks := self._serve_hooks()) is not None:
            servers.append(hooks)
        while not self._ending.is_set() and self._has_router() and not any(task.done() for _, task in servers):
            self._calls.sweep()
            self._mods.sweep()
            if unix_socket.file_identity(self._folder, address.HTTP) != file:
                # Somebody has removed it, or another gate has taken its place.
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), WATCH_SECONDS)
        if not self._has_router() and unix_socket.file_identity(self._folder, address.HTTP) == file:
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, address.HTTP))
        for server, _ in servers:
            server.accept_no_more()
        own, *others = servers
        await asyncio.gather(self._end_own(*own), *(self._end_hooks(*one) for one in others))

    async def _end_own(self, server: _Server, serving: asyncio.Task[None]) -> None:
        await asyncio.sleep(LINGER)
        server.should_exit = True
        self._mods.end_all()
        await self._calls.end_all()
        await serving

    async def _end_hooks(self, server: _Server, serving: asyncio.Task[None]) -> None:
        if self._hooks is not None:
            self._hooks.end_connections()
        # The server itself closes those that are idle for longer than it keeps them.
        while server.server_state.connections and self._has_router() and not serving.done():
            await asyncio.sleep(LINGER)
        server.should_exit = True
        await serving

    def _has_router(self) -> bool:
        return os.getppid() == self._router

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

    def _serve_hooks(self) -> tuple[_Server, asyncio.Task[None]] | None:
        """Begin to serve http hooks, if there is a socket for them."""
        if self._tcp is None:
            if self._http:
                self._note_problem(f"{self._http} cannot be had")
            return None
        try:
            token = made_token(self._home)
        except OSError as error:
            self._note_problem(describe_error(error))
            # The socket is the router's, too: whoever connects must get a refusal, not wait for one.
            token = secrets.token_urlsafe()
        self._hooks = HookApi(self._http, token, os.environ, self._bring)
        return _serve(self._hooks, self._tcp)

    def _note_problem(self, problem: str) -> None:
        if problem != self._problem:
            say(f"gate: {problem}", event="gate")
        self._problem = problem

    async def _bring(self, call: BroughtCall) -> Outcome:
        return await bring(self._folder, call)


def _serve(app: Any, listener: socket.socket) -> tuple[_Server, asyncio.Task[None]]:
    """Begin to serve an application at a listening socket."""
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        loop="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        backlog=address.BACKLOG,
    )
    server = _Server(config)
    return server, asyncio.create_task(server.serve([listener]))


if uvicorn is not None:
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        class _Base(HttpToolsProtocol):
            """HTTP as httptools reads it, in a third of the time that h11 takes; with a limit, which h11 has itself."""

            _unread = 0
            """Bytes since something was understood whole: a head, or a piece of a body."""

            def data_received(self, data: bytes) -> None:
                """Take in a piece."""
                self._unread += len(data)
                super().data_received(data)
                if self._unread > MAX_HEAD and not self.transport.is_closing():
                    self.send_400_response("Too long a head.")

            def on_headers_complete(self) -> None:
                """Take in the head."""
                self._unread = 0
                super().on_headers_complete()

            def on_body(self, body: bytes) -> None:
                """Take in a piece of the body."""
                self._unread = 0
                super().on_body(body)
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as _Base  # type: ignore[assignment]

    class _Protocol(_Base):
        """HTTP on one connection, whose pieces are acknowledged as they come.

        A client that sends a request's head and body apart may wait with the body until the head is acknowledged,
        which the system delays by 40 ms on a connection that is kept.
        """

        def data_received(self, data: bytes) -> None:
            """Take in a piece."""
            connection = self.transport.get_extra_info("socket")
            if _QUICKLY is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
                connection.setsockopt(socket.IPPROTO_TCP, _QUICKLY, 1)
            super().data_received(data)

    class _Server(uvicorn.Server):
        """A server that leaves signals to the gate."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Take none."""
            yield

        def accept_no_more(self) -> None:
            """Leave those who connect from now on to the next gate; connections that are there stay."""
            for one in getattr(self, "servers", ()):
                one.close()


def _listener(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)
    return socket.socket(fileno=descriptor)


def _allow_many_files() -> None:
    """Have as many descriptors as the system allows: each call that waits has some."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS allows no more than it says elsewhere, though it says that there is no limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else 10240, hard))
