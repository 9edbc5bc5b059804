"""Watches: the server's messages say when a look is worth it, and a look every second finds what they have missed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

import redis

if TYPE_CHECKING:
    from types import TracebackType

    from hookrouter_redis.server import Server

__all__ = ["Watch"]

_LOOK = 1.0
"""Seconds between two looks if nothing is heard."""
_AGAIN = 0.1
"""Seconds until the next try to hear, if the connection was lost."""


class Watch:
    """A watch for one ``with`` block, on a document or, without ``name``, on a kind."""

    def __init__(self, server: Server, place: bytes, name: bytes | None) -> None:
        self._server = server
        self._place = place
        self._name = name
        self._heard: Any = None
        self._seen: bytes | None = None

    def __enter__(self) -> Self:
        with self._server.client() as client:
            self._heard = client.pubsub()
            try:
                self._heard.subscribe(self._server.key("body", self._place))
                self._seen = self._server.mark(self._place, self._name)
            except BaseException:
                self.__exit__(None, None, None)
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        heard, self._heard = self._heard, None
        if heard is not None:
            heard.close()

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for a change; say whether there was one."""
        deadline = time.monotonic() + timeout
        self._hear(0)
        while True:
            mark = self._server.mark(self._place, self._name)
            if mark != self._seen:
                self._seen = mark
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._hear(min(left, _LOOK))

    def fileno(self) -> int:
        """Return the socket on which changes are told, or -1: :meth:`wait` leaves nothing unread that came by it."""
        # redis-py has no public name for it.
        socket = getattr(self._heard and self._heard.connection, "_sock", None)
        return -1 if socket is None else int(socket.fileno())

    def _hear(self, seconds: float) -> None:
        """Wait until something is told, and read all of it."""
        try:
            told = self._heard.get_message(timeout=seconds)
            while told is not None:
                told = self._heard.get_message()
        except redis.RedisError:
            # It is connected anew by the next call; the look that follows says if the server is away.
            time.sleep(min(seconds, _AGAIN))
