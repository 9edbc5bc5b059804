"""The sockets on which the gate listens. The router makes them and keeps them, so that they outlast a gate.

While one gate ends and the next one begins, and while the router begins anew, whoever connects waits in their backlog.
"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hookrouter._serving import address
from hookrouter.util import unix_socket
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

__all__ = ["INHERIT_VARIABLE", "NONE", "GateSockets"]

INHERIT_VARIABLE = "HOOKROUTER_SERVE_INHERIT_GATE"
"""Names the descriptors that a router hands to the one that takes its place: own socket and address."""

NONE = -1
"""Stands for a descriptor that is not there."""


class GateSockets:
    """The socket of this user alone, and the one of the loopback address for http hooks, as far as they are there."""

    def __init__(self, folder: str, environ: MutableMapping[str, str]) -> None:
        """Take over what a former router has handed over; that variable is taken out of ``environ``."""
        own, tcp, place = environ.pop(INHERIT_VARIABLE, f"{NONE},{NONE},").split(",", 2)
        self._folder = folder
        self._own, self._tcp = _inherited(own), _inherited(tcp)
        self._place = place
        self._file = unix_socket.file_identity(folder, address.HTTP)

    def make(self, place: str) -> str:
        """Make what is missing or not in its place: ``place`` is the ``HOST:PORT`` for http hooks, empty for none.

        Return why there is no socket at that address; empty if there is one, or none is wanted. Raises OSError if the
        own socket cannot be made.
        """
        if self._own is None or unix_socket.file_identity(self._folder, address.HTTP) != self._file:
            former, self._own = self._own, unix_socket.listen(self._folder, address.HTTP, address.BACKLOG)
            self._file = unix_socket.file_identity(self._folder, address.HTTP)
            if former is not None:
                former.close()
        if self._tcp is not None and place != self._place:
            self._tcp.close()
            self._tcp = None
        self._place = place
        if place and self._tcp is None:
            try:
                self._tcp = _listen_tcp(place)
            except OSError as error:
                return f"{place}: {describe_error(error)}"
        return ""

    @contextmanager
    def inheritable(self) -> Iterator[list[int]]:
        """Let a program that is started in this block have them; yield their descriptors, own socket and address."""
        try:
            yield self._handed()
        finally:
            for one in self._there():
                one.set_inheritable(False)

    def hand_over(self) -> dict[str, str]:
        """Let the program that takes the place of this one have them; return the variables that tell it."""
        return {INHERIT_VARIABLE: ",".join([*map(str, self._handed()), self._place])}

    def close(self) -> None:
        """Close them in this process alone."""
        for one in self._there():
            one.close()
        self._own = self._tcp = None

    def remove(self) -> None:
        """Close them, so that whoever connects is refused, and remove the own socket's file, if it is still ours."""
        if self._own is not None and unix_socket.file_identity(self._folder, address.HTTP) == self._file:
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, address.HTTP))
        self.close()

    def _there(self) -> list[socket.socket]:
        return [one for one in (self._own, self._tcp) if one is not None]

    def _handed(self) -> list[int]:
        """Return the descriptors, which a program that is started now inherits."""
        for one in self._there():
            one.set_inheritable(True)
        return [NONE if one is None else one.fileno() for one in (self._own, self._tcp)]


def _inherited(number: str) -> socket.socket | None:
    if int(number) == NONE:
        return None
    os.set_inheritable(int(number), False)
    return socket.socket(fileno=int(number))


def _listen_tcp(place: str) -> socket.socket:
    """Return a listening socket at a loopback address, ``HOST:PORT``. Raises OSError."""
    host, _, port = place.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1" if host == "localhost" else host.strip("[]"), int(port)))
        listener.listen(address.BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
