"""The sockets of one resident process. The router makes them and keeps them, so that they outlast the process.

While one process ends and the next one begins, and while the router restarts, whoever connects waits in their backlog.
"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hookrouter._serving import address
from hookrouter.serving.resident import NOT_THERE
from hookrouter.util import unix_socket
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["KeptSockets", "is_address"]


def is_address(place: str) -> bool:
    """Whether a place is a ``HOST:PORT``, and no name of a unix socket."""
    return ":" in place


class KeptSockets:
    """Listening sockets by their places: ``HOST:PORT``, or the name of a unix socket in the router's folder."""

    def __init__(self, folder: str, inherited: Mapping[str, int]) -> None:
        """``inherited``: the descriptors of those that a former router has handed over, by their places."""
        self._folder = folder
        self._there: dict[str, socket.socket] = {}
        for place, number in inherited.items():
            os.set_inheritable(number, False)
            self._there[place] = socket.socket(fileno=number)
        self._files = {place: self._file(place) for place in self._there if not is_address(place)}

    @property
    def places(self) -> tuple[str, ...]:
        """Where somebody can connect."""
        return tuple(self._there)

    def make(self, places: Sequence[str]) -> list[str]:
        """Have a socket at each of these places and at no other one; return what cannot be had, one line each."""
        for place in self._there.keys() - set(places):
            self._remove(place)
        problems = []
        for place in places:
            try:
                self._make(place)
            except (OSError, ValueError) as error:
                problems.append(f"{place}: {describe_error(error)}")
        return problems

    def descriptors(self) -> list[int]:
        """Return those of all that are there."""
        return [one.fileno() for one in self._there.values()]

    @contextmanager
    def inheritable(self, places: Sequence[str]) -> Iterator[list[str]]:
        """Let a program that is started in this block have them; yield their numbers in the order of ``places``."""
        try:
            self._set_inheritable(True)
            there = self._there
            yield [str(there[place].fileno()) if place in there else NOT_THERE for place in places]
        finally:
            self._set_inheritable(False)

    def hand_over(self) -> dict[str, int]:
        """Let the program that takes the place of this one have them; return their numbers by their places."""
        self._set_inheritable(True)
        return {place: one.fileno() for place, one in self._there.items()}

    def close(self) -> None:
        """Close them in this process alone."""
        for one in self._there.values():
            one.close()
        self._there = {}

    def remove(self) -> None:
        """Close them, so that whoever connects is refused, and remove the files of unix sockets that are still ours."""
        for place in list(self._there):
            self._remove(place)

    def _make(self, place: str) -> None:
        former = self._there.get(place)
        if is_address(place):
            if former is None:
                self._there[place] = _listen_tcp(place)
        elif former is None or self._file(place) != self._files[place]:
            self._there[place] = unix_socket.listen(self._folder, place, address.BACKLOG)
            self._files[place] = self._file(place)
            if former is not None:
                former.close()

    def _remove(self, place: str) -> None:
        if not is_address(place) and self._file(place) == self._files[place]:
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, place))
        self._there.pop(place).close()

    def _file(self, place: str) -> tuple[int, int] | None:
        return unix_socket.file_identity(self._folder, place)

    def _set_inheritable(self, value: bool) -> None:
        for one in self._there.values():
            one.set_inheritable(value)


def _listen_tcp(place: str) -> socket.socket:
    """Return a listening socket at an address, ``HOST:PORT``. Raises OSError and ValueError."""
    host, _, port = place.rpartition(":")
    name = "127.0.0.1" if host == "localhost" else host.strip("[]")
    if not 0 < int(port) < 1 << 16:
        raise ValueError("there is no such port")
    family, kind, protocol, _, where = socket.getaddrinfo(name, int(port), type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(address.BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
