"""Takes out of a terminal what was typed for a program that ends before it has read it.

What was sent a moment before stands in the terminal's own queue, and the shell that started the program would read it.
A program that is killed takes some milliseconds to give back its memory, and only then does its shell hear of it: time
to empty the queue. Linux tells that a program is ending; elsewhere nothing is done.
"""

from __future__ import annotations

import contextlib
import os
import termios
import threading
import time

from hookrouter.util.system import process_status

__all__ = ["InputFlusher", "foreground"]

_POLL_SECONDS = 0.001
_AFTER_SECONDS = 0.02
"""For what the terminal's server has taken to write before the end."""
_LONGEST_SECONDS = 1.0
"""For a process that ends slowly, as one that writes its core does."""
_EXITING = 0x4
"""The kernel's flag of a process that runs no code of its own any more."""
_FLAGS = 6
"""Where the kernel's flags stand in a process's line, behind its name."""


def foreground(pid: int) -> int:
    """Return the process that leads the foreground group of a process's terminal; 0 where the system does not say."""
    status = process_status(pid)
    return 0 if status is None else max(0, status.foreground)


class InputFlusher(threading.Thread):
    """Empties the input of a terminal as soon as a process ends, until :meth:`stop`."""

    def __init__(self, path: str, pid: int) -> None:
        """``path`` is the terminal's device."""
        super().__init__(daemon=True)
        self._path, self._pid = path, pid
        self._over = threading.Event()

    def stop(self) -> None:
        """Empty it no more once this returns; the end of a process is awaited no longer, but one that has begun is."""
        self._over.set()
        if self.is_alive():
            # Or the first key for the next program would be taken, too.
            self.join()

    def run(self) -> None:
        """Watch the process."""
        with contextlib.suppress(OSError, termios.error), contextlib.ExitStack() as stack:
            process = os.open(f"/proc/{self._pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, process)
            terminal = os.open(self._path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            stack.callback(os.close, terminal)
            while (said := _said(process)) and not _is_ending(said):
                if self._over.wait(_POLL_SECONDS):
                    return
            begun = time.monotonic()
            while (age := time.monotonic() - begun) < _AFTER_SECONDS or (
                age < _LONGEST_SECONDS
                and _said(process)[:1] not in ([], [b"Z"], [b"X"])
                and not self._over.wait(_POLL_SECONDS)
            ):
                termios.tcflush(terminal, termios.TCIFLUSH)


def _said(process: int) -> list[bytes]:
    """Return what the system says of a process, from its state on; nothing of one that is gone."""
    try:
        return os.pread(process, 1024, 0).rpartition(b")")[2].split()
    except ProcessLookupError:
        return []


def _is_ending(said: list[bytes]) -> bool:
    return said[0] in (b"Z", b"X") or bool(int(said[_FLAGS]) & _EXITING)
