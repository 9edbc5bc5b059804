"""The process of the gate: its sockets, its HTTP servers, and its end, which is the router's end.

Once the router ends, or has this process end (SIGTERM), no new connection is taken; calls of the socket are ended,
whose clients ask the next gate, and http hooks that wait go on, because nobody asks again for them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookrouter import __version__
from hookrouter._config.cache import load
from hookrouter._serving import address
from hookrouter._serving.caller import bring
from hookrouter._serving.gate.calls import Calls
from hookrouter._serving.gate.own_api import OwnApi
from hookrouter._serving.gate_process import NO_UVICORN
from hookrouter.storage.home import Home, HomeError, ensure
from hookrouter.util.clock import iso

try:
    import uvicorn
except ImportError:
    uvicorn = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence

    from hookrouter._serving.caller import HookCall, Outcome

__all__ = ["main"]

WATCH_SECONDS = 1.0
"""Seconds between two looks at the router, at the socket's file and at forgotten calls."""

KEEP_ALIVE = 90
"""Seconds that an idle connection is kept: longer than any client keeps one, so that it is the client who closes it."""

_BACKLOG = 512


def main(argv: Sequence[str]) -> int:
    """Run the gate: ``argv`` is the router's process id. Returns the exit code."""
    if uvicorn is None:
        _say("uvicorn is missing; install hookrouter[serve]")
        return NO_UVICORN
    try:
        home = Home.from_environ(os.environ)
        ensure(address.router_folder(home))
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
        self._folder = address.router_folder(home)
        self._boot = os.urandom(8).hex()
        self._ending = asyncio.Event()
        self._calls = Calls(self._bring)
        self._config = load(home).serve

    async def run(self) -> None:
        """Serve until the router ends. Raises OSError if the socket cannot be made."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._ending.set)
        app = OwnApi(self._calls, self._health)
        server, serving = _serve(app, address.listen(self._folder, address.HTTP, _BACKLOG))
        path = os.path.join(self._folder, address.HTTP)
        file = _file(path)
        while not self._ending.is_set() and os.getppid() == self._router and not serving.done():
            self._calls.sweep()
            if _file(path) != file:
                # Somebody has removed it, or another gate has taken its place.
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), WATCH_SECONDS)
        if _file(path) == file:
            with suppress(OSError):
                os.unlink(path)
        server.should_exit = True
        await self._calls.end_all()
        await serving

    def _health(self) -> dict[str, object]:
        return {
            "name": "hookrouter",
            "version": __version__,
            "boot": self._boot,
            "home": self._home.root,
            "running": len(self._calls),
        }

    async def _bring(self, call: HookCall) -> Outcome:
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


def _file(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _say(text: str) -> None:
    sys.stderr.write(f"{iso()} hookrouter serve: gate: {text}\n")
    sys.stderr.flush()
