"""A process beside the router, of the same program: begun, ended, and begun anew after pauses that grow."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

__all__ = ["GrowingPause", "KeptProcess"]


class KeptProcess:
    """One process at a time; its parent is the process that makes this."""

    def __init__(self) -> None:
        """None runs."""
        self.pid = 0
        """0 while none runs."""

    def begin(self, *words: str) -> None:
        """Start ``hookrouter serve WORDS``, with this process's environment. Raises OSError."""
        self.pid = os.posix_spawn(
            sys.executable, [sys.executable, "-P", "-m", "hookrouter", "serve", *words], os.environ
        )

    def has_ended(self, pid: int) -> bool:
        """Return whether the child that has ended was this one, which is forgotten then."""
        if not pid or pid != self.pid:
            return False
        self.pid = 0
        return True

    def stop(self) -> None:
        """Send it SIGTERM, and forget it."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        self.pid = 0


class GrowingPause:
    """How long to wait before something is tried again: twice as long after each time."""

    def __init__(self, first: float, longest: float) -> None:
        """Both in seconds."""
        self._first = first
        self._longest = longest
        self._seconds = first

    @property
    def has_grown(self) -> bool:
        """Whether the next pause is not the first one."""
        return self._seconds > self._first

    def reset(self) -> None:
        """Begin with the first one again."""
        self._seconds = self._first

    def take(self) -> float:
        """Return the next pause in seconds."""
        seconds = self._seconds
        self._seconds = min(2 * seconds, self._longest)
        return seconds
