"""The router's children: some wait for a call, so that no call waits for a fork.

One that has served a call ends, or says that it is free for another one: then it is warm, and gets the next call.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import TYPE_CHECKING, Any

from hookrouter._serving.child import Channel, rehearse, serve_calls
from hookrouter._serving.copied_pages import CopiedPages, Written
from hookrouter.util import fastjson
from hookrouter.util.system import fork

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter._serving.child import Served

__all__ = ["SPARES", "Child", "Children", "reset_signals"]

SPARES = 4
"""How many children wait for a call: further calls at the same moment wait for a fork each, which takes 1 to 2 ms."""

MOST_FREE = 16
"""How many wait at most that have served a call: as many calls at one moment need no fork."""

_CHUNK = 1 << 16


class Child:
    """A child, as the router knows it."""

    def __init__(self, pid: int, end: socket.socket) -> None:
        """``end`` is the router's end of the channel."""
        self.pid = pid
        self.end = end
        self.connection: socket.socket | None = None
        """The caller's connection, while the call is not over: what became of a child that dies is told there."""
        self.event = ""
        """The word of the event that it serves; empty before it is known."""
        self.since = 0.0
        """When it got its call, by the monotonic clock."""
        self.is_silent = False
        """Whether it will tell nothing more."""
        self._heard = bytearray()

    def messages(self) -> list[dict[str, Any]]:
        """Return what the child has told since the last call."""
        try:
            while data := self.end.recv(_CHUNK, socket.MSG_DONTWAIT):
                self._heard += data
            self.is_silent = True
        except BlockingIOError:
            pass
        except ConnectionError:
            self.is_silent = True
        *lines, rest = bytes(self._heard).split(b"\n")
        self._heard = bytearray(rest)
        return [message for line in lines if isinstance(message := fastjson.loads(line), dict)]

    def forget_connection(self) -> None:
        """Let go of the caller's connection: the child has said all that there is to say."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def close(self) -> None:
        """Close what the router holds of it."""
        self.end.close()
        self.forget_connection()


class Children:
    """All children that the router has forked itself and that have not ended."""

    def __init__(self, served: Served, at_fork: Callable[[], None]) -> None:
        """``at_fork`` is called in each child: it lets go of what is the router's alone."""
        self._served = served
        self._at_fork = at_fork
        self._spares: list[Child] = []
        self._free: list[Child] = []
        """Those that have served a call and wait for another one; the last one is the warmest."""
        self.pages = CopiedPages()
        """What calls write to: told by them, and copied by those that wait."""
        self.busy: dict[int, Child] = {}
        """Those that serve a call, by process id."""

    @property
    def waiting(self) -> int:
        """How many wait for a call."""
        return len(self._spares) + len(self._free)

    @property
    def warm(self) -> int:
        """How many of those that wait have served a call before."""
        return len(self._free)

    def refill(self, count: int = SPARES) -> None:
        """Fork until so many wait. Raises OSError if the system makes no process."""
        while self.waiting < count:
            self._spares.append(self._fork(is_spare=True))

    def give(self, connection: socket.socket) -> Child:
        """Have a child serve the call that comes by a connection. Raises OSError if there is none and none is made."""
        while self._free or self._spares:
            child = self._free.pop() if self._free else self._spares.pop(0)
            try:
                socket.send_fds(child.end, [b"c"], [connection.fileno()])
            except OSError:
                # It has ended: somebody killed it.
                child.close()
                continue
            break
        else:
            child = self._fork(is_spare=False)
            socket.send_fds(child.end, [b"c"], [connection.fileno()])
        child.connection, child.since = connection, time.monotonic()
        self.busy[child.pid] = child
        return child

    def ended(self, pid: int) -> Child | None:
        """Forget the child that has ended; return it if it had a call. What it has told can still be read."""
        for group in (self._spares, self._free):
            for child in group:
                if child.pid == pid:
                    group.remove(child)
                    child.close()
                    return None
        return self.busy.pop(pid, None)

    def free(self, child: Child) -> None:
        """Keep a child that has served its call for another one, or have it end if there are enough."""
        if self.busy.pop(child.pid, None) is None:
            return
        child.forget_connection()
        child.since, child.event = time.monotonic(), ""
        if len(self._free) < MOST_FREE:
            self._free.append(child)
        else:
            child.close()

    def thin_out(self, seconds: float) -> None:
        """Have those end that are free for longer than this, but for as many as wait at any time."""
        limit = time.monotonic() - seconds
        while self.waiting > SPARES and self._free and self._free[0].since < limit:
            self._free.pop(0).close()

    def dismiss(self) -> None:
        """Have those end that have no call."""
        for child in (*self._spares, *self._free):
            child.close()
        self._spares.clear()
        self._free.clear()

    def _fork(self, *, is_spare: bool) -> Child:
        is_learning = is_spare and self.pages.is_learning()
        ours, theirs = socket.socketpair()
        try:
            pid = fork()
        except OSError:
            ours.close()
            theirs.close()
            raise
        if pid:
            theirs.close()
            return Child(pid, ours)
        try:
            ours.close()
            for child in (*self._spares, *self._free, *self.busy.values()):
                child.close()
            self._at_fork()
            channel = Channel(theirs)
            if is_spare:
                rehearse(self._served, self.pages.runs)
            written = Written() if is_learning else None
            serve_calls(channel, self._served, written)
        except BaseException:  # noqa: BLE001 - nothing of the router's may go on in its child
            import traceback

            traceback.print_exc()
            os._exit(1)
        finally:
            os._exit(1)


def reset_signals() -> None:
    """Bring a child's signals to what a program starts with."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
