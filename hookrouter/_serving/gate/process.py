"""The process of the gate: its sockets, its HTTP servers, and its end, which is the router's end.

Once the router ends, or has this process end (SIGTERM), no new connection is taken; calls of the socket are ended,
whose clients ask the next gate, and http hooks that wait go on, because nobody asks again for them.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookrouter import __version__
from hookrouter._serving import address
from hookrouter._serving.caller import bring
from hookrouter._serving.gate.calls import Calls
from hookrouter._serving.gate.hook_api import HookApi
from hookrouter._serving.gate.own_api import OwnApi
from hookrouter._serving.gate_process import NO_UVICORN
from hookrouter._serving.home_config import load_config
from hookrouter._serving.token import made_token
from hookrouter.storage.home import Home, HomeError, ensure
from hookrouter.util import unix_socket
from hookrouter.util.clock import iso
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

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 15.0
"""Seconds before an address is tried again that another process has: twice as many after each time, up to this."""

_BACKLOG = 512


def main(argv: Sequence[str]) -> int:
    """Run the gate: ``argv`` is the router's process id. Returns the exit code."""
    if uvicorn is None:
        _say("uvicorn is missing; install hookrouter[serve]")
        return NO_UVICORN
    try:
        home = Home.from_environ(os.environ)
        ensure(home.router)
        _allow_many_files()
        asyncio.run(_Gate(home, int(argv[0])).run())
    except (HomeError, OSError) as error:
        _say(f"cannot serve: {error}")
        return 1
    return 0


class _Gate:
    """The servers of one home."""

    def __init__(self, home: Home, router: int) -> None:
        self._home = home
        self._router = router
        self._folder = home.router
        self._boot = os.urandom(8).hex()
        self._ending = asyncio.Event()
        self._calls = Calls(self._bring)
        self._http = load_config(home).serve.http
        self._hooks: HookApi | None = None
        self._problem = ""
        """Why http hooks are not served."""

    async def run(self) -> None:
        """Serve until the router ends. Raises OSError if the socket cannot be made."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._ending.set)
        app = OwnApi(self._calls, self._health)
        server, serving = _serve(app, unix_socket.listen(self._folder, address.HTTP, _BACKLOG))
        file = unix_socket.file_identity(self._folder, address.HTTP)
        hooks = asyncio.create_task(self._serve_hooks())
        while not self._ending.is_set() and os.getppid() == self._router and not serving.done():
            self._calls.sweep()
            if unix_socket.file_identity(self._folder, address.HTTP) != file:
                # Somebody has removed it, or another gate has taken its place.
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), WATCH_SECONDS)
        self._ending.set()
        if unix_socket.file_identity(self._folder, address.HTTP) == file:
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, address.HTTP))
        server.should_exit = True
        await self._calls.end_all()
        await serving
        await hooks

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

    async def _serve_hooks(self) -> None:
        """Serve http hooks, if an address is set for them, until the gate ends and nobody waits any more."""
        if not self._http:
            return
        pause = FIRST_PAUSE
        while not self._ending.is_set():
            try:
                listener = _tcp(self._http)
                break
            except OSError as error:
                # The gate before this one may have it still.
                self._note_problem(f"{self._http}: {describe_error(error)}")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        else:
            return
        try:
            token = made_token(self._home)
        except OSError as error:
            listener.close()
            self._note_problem(describe_error(error))
            return
        self._problem = ""
        self._hooks = HookApi(self._http, token, os.environ, self._bring)
        server, serving = _serve(self._hooks, listener)
        await self._ending.wait()
        server.should_exit = True
        await serving

    def _note_problem(self, problem: str) -> None:
        if problem != self._problem:
            _say(problem)
        self._problem = problem

    async def _bring(self, call: BroughtCall) -> Outcome:
        return await bring(self._folder, call)


def _serve(app: Any, listener: socket.socket) -> tuple[uvicorn.Server, asyncio.Task[None]]:
    """Begin to serve an application at a listening socket."""
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
        timeout_keep_alive=KEEP_ALIVE,
        backlog=_BACKLOG,
    )
    server = _Server(config)
    return server, asyncio.create_task(server.serve([listener]))


if uvicorn is not None:

    class _Server(uvicorn.Server):
        """A server that leaves signals to the gate."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Take none."""
            yield


def _tcp(place: str) -> socket.socket:
    """Return a listening socket at a loopback address, ``HOST:PORT``. Raises OSError."""
    host, _, port = place.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1" if host == "localhost" else host.strip("[]"), int(port)))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _allow_many_files() -> None:
    """Have as many descriptors as the system allows: each call that waits has some."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS allows no more than it says elsewhere, though it says that there is no limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else 10240, hard))


def _say(text: str) -> None:
    sys.stderr.write(f"{iso()} hookrouter serve: gate: {text}\n")
    sys.stderr.flush()
