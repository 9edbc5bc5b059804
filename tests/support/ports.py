"""A port of loopback for a server that a test starts."""

from __future__ import annotations

import os
import socket
from itertools import count

__all__ = ["LAST", "free_port"]

_FIRST, _EACH, _WORKERS = 10_000, 1_000, 20
LAST = _FIRST + _EACH * _WORKERS - 1
"""Below what systems give to a socket that names no port, from 32768 on: one that a server is to have is not taken by a
client's connection before the server listens."""

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
# Another run may be on at the same time.
_numbers = count(os.getpid())


def free_port() -> int:
    """Return a port of loopback that nobody listens on now, and no other worker of this run gets."""
    while True:
        port = _FIRST + _EACH * _worker + next(_numbers) % _EACH
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
