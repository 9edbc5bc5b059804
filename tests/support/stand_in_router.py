"""The router's side of the protocol, played by a test: it accepts one caller after the other and does as it is told."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from hookrouter._serving import address, protocol
from hookrouter.util import unix_socket

__all__ = ["Part", "StandInRouter", "taken"]

Part = Callable[[socket.socket], Any]
"""What is done with one caller's connection."""

_SECONDS = 60.0
_LOOK = 0.05
"""Seconds between two looks whether the block has ended."""


class StandInRouter:
    """Listens in a folder, for one ``with`` block, and plays one part for each caller in turn."""

    def __init__(self, folder: str, *parts: Part) -> None:
        """``parts`` are played in this order; callers beyond them are left in the backlog."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._listener = unix_socket.listen(folder, address.CALLS, 8)
        self._listener.settimeout(_LOOK)
        self._is_over = threading.Event()
        self._parts = parts
        self.results: list[Any] = []
        """What the parts returned, or the exception that one raised."""
        self._thread = threading.Thread(target=self._play)

    def __enter__(self) -> StandInRouter:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening; a part that still waits for a caller ends."""
        self._is_over.set()
        self._thread.join(_SECONDS)
        self._listener.close()

    def _play(self) -> None:
        for part in self._parts:
            connection = self._accepted()
            if connection is None:
                return
            with connection:
                connection.settimeout(_SECONDS)
                try:
                    self.results.append(part(connection))
                except Exception as error:  # noqa: BLE001 - the test sees it in the results
                    self.results.append(error)

    def _accepted(self) -> socket.socket | None:
        """Return the next caller's connection; None once the block has ended."""
        while not self._is_over.is_set():
            try:
                return self._listener.accept()[0]
            except TimeoutError:
                continue
        return None


def taken(connection: socket.socket) -> tuple[protocol.Hello, Sequence[int]]:
    """Take a call: return its hello and the descriptors that were given."""
    hello = protocol.receive_hello(connection)
    connection.sendall(protocol.READY)
    message, descriptors, _flags, _address = socket.recv_fds(connection, 1, protocol.GIVEN)
    assert message == protocol.GO, message
    return hello, descriptors
