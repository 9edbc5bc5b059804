"""How resident processes serve HTTP: by uvicorn, on a socket of the router's, within one set of limits for all.

:func:`serve_asgi` is all that a process with one socket needs; the gate, which ends its sockets apart, is made of the
parts.

Every user of the machine, and often every machine, reaches these sockets without a login. So whoever connects has to
say in time what they want, connections are limited in number, and what they do wrong costs no more than a line of the
log now and then. Needs uvicorn, of the extra ``hookrouter[serve]``.

asyncio itself, by which uvicorn takes connections, takes as many as come, and logs a traceback for each place of the
backlog, each second, once the process has no descriptor left (seen with Python 3.11).
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import uvicorn

from hookrouter.serving.log import say
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

__all__ = ["MOST_CONNECTIONS", "REQUEST_SECONDS", "Ending", "HttpServer", "allow_many_files", "serve_asgi"]

WATCH_SECONDS = 1.0
"""Seconds between two looks at the router, and at the connections."""

REQUEST_SECONDS = 10.0
"""Seconds within which the head of a request must have come: of the first one from the connection on, of each other one
from its first byte on."""

BODY_SECONDS = 30.0
"""Seconds for a whole request, counted alike: a phone may be slow to send a body."""

KEEP_ALIVE = 90
"""Seconds that an idle connection is kept: longer than clients and proxies keep one, so that they are who closes it."""

MOST_CONNECTIONS = 2000
"""Connections that one socket has at a time; fewer if the process may have fewer than four descriptors for each.

One more takes the place of the one that has been silent for longest. If all have a request that is being answered, it
waits in the socket's backlog."""

MAX_HEAD = 64 * 1024
"""Bytes of the longest head of a request."""

_AT_ONCE = 32
"""Connections that are taken before those that are there get their turn."""

_LOOK_SECONDS = 1.0
"""Seconds between two looks for connections that owe a request."""

_SAID_SECONDS = 60.0
"""Seconds in which one and the same trouble is said once."""

_QUICKLY = getattr(socket, "TCP_QUICKACK", None)
"""Linux's option that has what comes next acknowledged at once; it holds for a moment only."""


async def serve_asgi(
    name: str,
    app: Any,
    listener: socket.socket,
    parent: int,
    *,
    lifespan: bool = False,
    certificate: tuple[str, str] | None = None,
    end_seconds: int = 1,
    idle_seconds: float = 0.0,
    at_end: Callable[[], object] | None = None,
) -> None:
    """Serve an ASGI application at a listening socket until a signal comes, or ``parent`` is not the parent any more.

    ``name``, ``lifespan`` and ``certificate`` are as :class:`HttpServer` has them. Requests that are being answered at
    the end have ``end_seconds``; ``at_end`` is called before, to end what waits by itself. With ``idle_seconds`` it
    also ends once nobody has been connected for so long. Closes the listener.
    """
    allow_many_files()
    with listener:
        server = HttpServer(name, app, listener, lifespan=lifespan, certificate=certificate, end_seconds=end_seconds)
        ending = Ending(parent)
        idle, answered = 0.0, 0
        while not ending.is_due and not server.has_ended and not 0 < idle_seconds <= idle:
            await ending.wait(WATCH_SECONDS)
            # A request may have come and gone between two looks.
            seen, answered = answered, server.answered
            idle = 0.0 if server.connections or answered != seen else idle + WATCH_SECONDS
        if at_end is not None:
            at_end()
        await server.end()


class HttpServer:
    """Serves one application at one listening socket."""

    def __init__(
        self,
        name: str,
        app: Any,
        listener: socket.socket,
        *,
        lifespan: bool = False,
        certificate: tuple[str, str] | None = None,
        end_seconds: int | None = None,
    ) -> None:
        """``name`` stands before what is said of it, on stderr.

        ``lifespan``: the application is told of the server's begin and end. ``certificate`` is the files of certificate
        and key, for TLS. ``end_seconds``: how long requests may go on at the end; None for as long as they take.
        """
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            loop="none",
            interface="asgi3",
            lifespan="on" if lifespan else "off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=end_seconds,
            h11_max_incomplete_event_size=MAX_HEAD,
            ssl_certfile=certificate[0] if certificate else None,
            ssl_keyfile=certificate[1] if certificate else None,
        )
        _log_lines(name)
        self._server = _Server(config, name)
        self._task = asyncio.create_task(self._server.serve([listener]))

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self._server.server_state.connections)

    @property
    def answered(self) -> int:
        """How many requests were answered."""
        return self._server.server_state.total_requests

    @property
    def has_ended(self) -> bool:
        """Whether it does not serve any more, for whatever reason."""
        return self._task.done()

    def accept_no_more(self) -> None:
        """Leave those who connect from now on to whoever listens next; connections that are there stay."""
        self._server.accept_no_more()

    async def end(self) -> None:
        """End it: connections that are idle are closed, requests go on for as long as they may."""
        self._server.should_exit = True
        await self._task


class Ending:
    """Why a process of the router ends: a signal, or the router's own end."""

    def __init__(self, router: int) -> None:
        """``router`` is the process that must be the parent. Takes the signals, in the event loop that runs."""
        self._router = router
        self._event = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._event.set)

    @property
    def has_router(self) -> bool:
        """Whether the router is there."""
        return os.getppid() == self._router

    @property
    def is_due(self) -> bool:
        """Whether the process is to end."""
        return self._event.is_set() or not self.has_router

    async def wait(self, seconds: float) -> None:
        """Wait for a signal, or so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)


def allow_many_files() -> None:
    """Have as many descriptors as the system allows: each connection, and each call that waits, has some."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS allows no more than it says elsewhere, though it says that there is no limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else 10240, hard))


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
    """HTTP on one connection, with the time that it owes.

    Its pieces are acknowledged as they come: a client that sends a request's head and body apart may wait with the body
    until the head is acknowledged, which the system delays by 40 ms on a connection that is kept.
    """

    has_asked = False
    """Whether a request was answered."""
    silent_since = 0.0
    """Since when it has no request that is being answered; of no meaning while it has one."""
    _owing_since: float | None = None
    """Since when a request is awaited of which something, or nothing yet, has come; None if none is owed."""
    _taken: object = None
    """The last request that has come whole."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin: a request is owed."""
        super().connection_made(transport)
        self.silent_since = self._owing_since = time.monotonic()

    def data_received(self, data: bytes) -> None:
        """Take in a piece."""
        connection = self.transport.get_extra_info("socket")
        if _QUICKLY is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, _QUICKLY, 1)
        if self._owing_since is None and not self.is_answering:
            self._owing_since = time.monotonic()
        super().data_received(data)
        self._look_at_request()

    def on_response_complete(self) -> None:
        """Note that the client has had its answer."""
        self.has_asked = True
        self.silent_since = time.monotonic()
        super().on_response_complete()
        # Another request may have come behind this one.
        self._look_at_request()

    @property
    def is_answering(self) -> bool:
        """Whether a request has come, at least its head, that is not answered yet."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def is_late(self, now: float) -> bool:
        """Whether a request is owed for too long."""
        if self._owing_since is None:
            return False
        return now - self._owing_since > (BODY_SECONDS if self.is_answering else REQUEST_SECONDS)

    def _look_at_request(self) -> None:
        if not self.is_answering or self.cycle is self._taken:
            return
        if not self.cycle.more_body:
            self._taken, self._owing_since = self.cycle, None
        elif self._owing_since is None:
            self._owing_since = time.monotonic()


class _Server(uvicorn.Server):
    """A server that leaves signals to its process, and takes connections itself."""

    def __init__(self, config: uvicorn.Config, name: str) -> None:
        super().__init__(config)
        self._name = name
        self._doors: list[_Door] = []

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections, as the server of uvicorn does, which is told of no socket."""
        await super().startup(sockets=[])
        loop = asyncio.get_running_loop()

        def protocol() -> _Protocol:
            state = self.lifespan.state
            return _Protocol(config=self.config, server_state=self.server_state, app_state=state, _loop=loop)

        connections: Any = self.server_state.connections
        self._doors = [_Door(self._name, one, protocol, connections, self.config.ssl) for one in sockets or ()]
        # What uvicorn closes and waits for.
        self.servers = self._doors  # type: ignore[assignment]

    def accept_no_more(self) -> None:
        """Close the doors."""
        for one in self._doors:
            one.close()


class _Door:
    """Takes connections at a listening socket, as many as there is room for; has the interface of asyncio's server."""

    def __init__(
        self,
        name: str,
        listener: socket.socket,
        protocol: Callable[[], _Protocol],
        connections: set[_Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._name = name
        self._listener = listener
        self._protocol = protocol
        self._connections = connections
        self._tls = tls
        self._most = most_connections()
        self._entering: dict[asyncio.Task[None], float] = {}
        """Those that were taken, and are no connections yet, and since when: TLS has to be agreed on."""
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        listener.setblocking(False)
        self._loop.add_reader(listener, self._accept)
        self._looking = self._loop.call_later(_LOOK_SECONDS, self._look)

    def close(self) -> None:
        """Take no more."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._listener)
            self._listener.close()

    async def wait_closed(self) -> None:
        """End what is left: connections are over, or go on without the server."""
        self.close()
        self._looking.cancel()
        for one in self._entering:
            one.cancel()

    def _look(self) -> None:
        now = time.monotonic()
        late = [one for one in self._connections if one.is_late(now)]
        for one in late:
            one.transport.abort()
        if late:
            _say_once(self._name, f"{len(late)} connections were closed that sent no whole request in time")
        if self._is_open:
            # It was taken away if there was no room.
            self._loop.add_reader(self._listener, self._accept)
        self._looking = self._loop.call_later(_LOOK_SECONDS, self._look)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            if not self._has_room():
                self._loop.remove_reader(self._listener)
                _say_once(self._name, f"{self._most} requests are being answered: who connects now has to wait")
                return
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # No descriptor, or no memory: whoever is silent gives way, and the others are awaited.
                if not self._turn_out():
                    self._loop.remove_reader(self._listener)
                _say_once(self._name, f"no connection can be taken: {describe_error(error)}")
                return
            connection.setblocking(False)
            task = self._loop.create_task(self._enter(connection))
            self._entering[task] = time.monotonic()
            task.add_done_callback(lambda one: self._entering.pop(one, None))

    async def _enter(self, connection: socket.socket) -> None:
        # Whoever speaks no TLS, or has left, is let go of by asyncio.
        with suppress(OSError):
            await self._loop.connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=REQUEST_SECONDS if self._tls else None,
            )

    def _has_room(self) -> bool:
        if len(self._connections) + len(self._entering) < self._most:
            return True
        _say_once(self._name, f"more than {self._most} connections: those that have been silent for longest are closed")
        return self._turn_out()

    def _turn_out(self) -> bool:
        """Close the connection that has been silent for longest; return whether there was one.

        One that never asked anything goes before those that are kept for a next request.
        """
        silent: list[tuple[bool, float, Callable[[], object]]] = [
            (False, since, task.cancel) for task, since in self._entering.items() if not task.cancelling()
        ]
        for one in self._connections:
            if not (one.is_answering or one.transport.is_closing()):
                silent.append((one.has_asked, one.silent_since, one.transport.abort))
        if not silent:
            return False
        *_, close = min(silent, key=lambda one: one[:2])
        close()
        return True


def most_connections() -> int:
    """Return how many connections a socket may have, so that calls and answers have descriptors, too."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if allowed == resource.RLIM_INFINITY else max(8, min(MOST_CONNECTIONS, allowed // 4))


_MOST_LINES = 20
"""Lines that are said in that time."""

_said: dict[tuple[str, str], float] = {}


def _say_once(name: str, text: str, level: str = "warning") -> None:
    """Say something, unless the same was said a moment ago. Figures are no difference."""
    key = name, "".join(character for character in text if not character.isdigit())
    now = time.monotonic()
    for known in [one for one, at in _said.items() if now - at >= _SAID_SECONDS]:
        del _said[known]
    if key not in _said and len(_said) < _MOST_LINES:
        _said[key] = now
        say(f"{name}: {text}", event=name, level=level)


def _log_lines(name: str) -> None:
    """Have what uvicorn and asyncio log told in lines of this process: what strangers do wrong is in no traceback."""

    class _Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage().strip().partition("\n")[0]
            error = record.exc_info[1] if record.exc_info else None
            told = f"{text}: {describe_error(error)}{_place_of(error)}" if error is not None else text
            _say_once(name, told, record.levelname.lower())

    for library in ("uvicorn", "asyncio"):
        logger = logging.getLogger(library)
        logger.handlers = [_Lines(logging.WARNING)]
        logger.propagate = False


def _place_of(error: BaseException) -> str:
    """Return where an error was raised, for whoever looks for it; empty if that is not known."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
