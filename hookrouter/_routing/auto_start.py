"""``[serve] auto``: a cold hook run that finds no router starts one, after its reply, and does not wait for it.

Imported by no hook run unless that is set. That no more than one router serves a home is the router's own lock; what is
here keeps twenty hooks at once from starting twenty processes of which nineteen leave.
"""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING

from hookrouter.storage.home import ensure
from hookrouter.storage.logs import LOG_FLAGS, prepare_log
from hookrouter.util.detached import spawn_detached
from hookrouter.util.unix_socket import connect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.home import Home

__all__ = ["LOG", "RETRY", "claim_start", "start"]

LOG = "serve.log"
"""The log, beside the journal, of a router that was started so."""

RETRY = 30.0
"""Seconds after a start in which no other one is tried, so that a router which cannot run costs little."""

_STARTED = "started"
"""The file in the router's folder whose time is that of the last start."""

_SOCKETS = ("control", "calls")
"""A router listens on both. On the second alone, systemd or launchd does, and starts the router by itself."""


def claim_start(home: Home, *, asked: bool = False) -> bool:
    """Return whether this process is to start a router: none is there, and none was started just now.

    With ``asked``, for a person who waits for it, also if one was. Raises OSError if that cannot be noted.
    """
    if any(_is_listened_to(home.router, name) for name in _SOCKETS):
        return False
    ensure(home.router)
    descriptor = os.open(os.path.join(home.router, _STARTED), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        # An empty file is one that was just made. A time to come was noted before the clock was set back.
        if not asked and status.st_size and 0 <= time.time() - status.st_mtime < RETRY:
            return False
        os.pwrite(descriptor, b"\n", 0)
        os.utime(descriptor)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def start(environ: Mapping[str, str], home: Home, idle: float) -> int:
    """Start a router that ends after ``idle`` seconds without a call, and return its pid. Raises OSError."""
    log = prepare_log(home, LOG)
    os.close(os.open(log, LOG_FLAGS, 0o600))
    return spawn_detached(["serve", "--resident", f"{idle:g}"], environ, log, LOG_FLAGS)


def _is_listened_to(folder: str, name: str) -> bool:
    try:
        connect(folder, name, 0).close()
    except BlockingIOError:
        # Its backlog is full: it is there, and hangs.
        return True
    except OSError:
        return False
    return True
