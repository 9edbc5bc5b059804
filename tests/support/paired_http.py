"""HTTP without a network: a connection of ``requests`` is one end of a socket pair, a server in a thread has the other.

What goes over it is HTTP as it is sent anywhere; only addresses, names and certificates are not real. Needs the fixture
or block :func:`paired_http`.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import pytest
from urllib3.util import connection

__all__ = ["PairedServer", "paired_http"]

_LOOPBACK = "127.0.0.1"

_ports = count(40_000)
_listening: dict[int, PairedServer] = {}


class PairedServer(ThreadingHTTPServer):
    """Stands for ThreadingHTTPServer: listens at a port of 127.0.0.1 that nobody but :func:`paired_http` knows."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler, bind_and_activate=False)
        self.socket.close()
        self.server_address = (address[0], address[1] or next(_ports))
        self._over = threading.Event()
        _listening[self.port] = self

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        """Wait for :meth:`shutdown`: each connection is served from the moment that it is made."""
        self._over.wait()

    def shutdown(self) -> None:
        """Have :meth:`serve_forever` return."""
        self._over.set()

    def server_close(self) -> None:
        """Listen no more."""
        _listening.pop(self.port, None)
        super().server_close()


def _connect(address: tuple[str, int], timeout: Any = None, **_options: Any) -> socket.socket:
    host, port = address
    if host != _LOOPBACK:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    if port not in _listening:
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
    ours, theirs = socket.socketpair()
    if isinstance(timeout, int | float):
        ours.settimeout(timeout)
    _listening[port].process_request(theirs, (_LOOPBACK, 0))
    return ours


@contextmanager
def paired_http() -> Iterator[None]:
    """Have all connections of ``requests`` lead to servers of this module, or nowhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "create_connection", _connect)
        yield
