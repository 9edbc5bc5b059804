"""Which process holds something, so that another one can tell whether it still runs."""

from __future__ import annotations

import os
import socket

import attrs

from hookrouter.util.claude_process import is_gone
from hookrouter.util.system import boot_id, process_status

__all__ = ["Process", "this_process"]


@attrs.frozen
class Process:
    """A process of some machine."""

    host: str
    """The machine's name, for people."""
    place: str
    """Which start of which machine, and which container, its number counts in; empty if the system does not say."""
    pid: int
    started: str
    """When it began, in the system's own count; empty if the system does not say."""

    def is_here(self) -> bool:
        """Whether this process can tell whether that one runs."""
        return bool(self.place) and self.place == _place()

    def has_ended(self) -> bool:
        """Whether a process that :meth:`is_here` has certainly ended."""
        if is_gone(self.pid):
            return True
        started = _started(self.pid)
        # Another process has got its number.
        return bool(started and self.started) and started != self.started


def this_process() -> Process:
    """Return the process that asks."""
    return Process(socket.gethostname(), _place(), os.getpid(), _started(os.getpid()))


def _place() -> str:
    boot = boot_id()
    try:
        return f"{boot} {os.readlink('/proc/self/ns/pid')}" if boot else ""
    except OSError:
        # Where there are no containers of that kind.
        return boot


def _started(pid: int) -> str:
    status = process_status(pid)
    return "" if status is None else status.started
