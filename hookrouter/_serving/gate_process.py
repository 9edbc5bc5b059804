"""The gate's process, as the router sees it: begun where the configuration asks for one, and anew when it ends.

What the gate does is in :mod:`hookrouter._serving.gate`, which the router does not load.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookrouter._serving.home_config import load_config
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from hookrouter.storage.home import Home

__all__ = ["NO_UVICORN", "GateProcess"]

NO_UVICORN = 3
"""The exit code of a gate without the library it needs."""

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds before a gate that has ended is begun anew: twice as many after each time, up to this."""

WELL = 60.0
"""Seconds that a gate must have run for its end to be taken as the first one."""


class GateProcess:
    """The gate of one home; its parent is the process that makes this."""

    def __init__(self, home: Home) -> None:
        """Take the home; nothing is started."""
        self._home = home
        self._pid = 0
        self._settings: tuple[str, bool] | None = None
        self._began = 0.0
        self._not_before = 0.0
        self._pause = FIRST_PAUSE
        self._ended = ""

    def tend(self) -> None:
        """Begin it if it is due, and end one that the configuration no longer asks for. Raises nothing."""
        config = load_config(self._home).serve
        settings = (config.http, config.mod)
        if settings != self._settings:
            self.stop()
            self._settings, self._not_before, self._pause = settings, 0.0, FIRST_PAUSE
        if not self._pid and any(settings) and time.monotonic() >= self._not_before:
            self._begin()

    def next_due(self) -> float:
        """Return in how many seconds :meth:`tend` has something to begin; infinity for nothing."""
        if self._pid or not self._settings or not any(self._settings):
            return float("inf")
        return max(0.0, self._not_before - time.monotonic())

    def ended(self, pid: int, exit_code: int) -> bool:
        """Note that a child has ended; return whether it was the gate."""
        if not pid or pid != self._pid:
            return False
        self._pid = 0
        how = "the extra hookrouter[serve] is not installed" if exit_code == NO_UVICORN else f"exit code {exit_code}"
        self._retry(how)
        return True

    def stop(self) -> None:
        """Have it take no new connection, and end once nobody waits by it; forget it."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)
        self._pid = 0

    def status(self) -> dict[str, Any] | None:
        """Return what the router's status says of it; None if none is asked for."""
        if not self._settings or not any(self._settings):
            return None
        http, mod = self._settings
        return {"pid": self._pid, "http": http, "mod": mod, "ended": self._ended}

    def _begin(self) -> None:
        words = [sys.executable, "-P", "-m", "hookrouter", "serve", "--gate", str(os.getpid())]
        self._began = time.monotonic()
        try:
            self._pid = os.posix_spawn(sys.executable, words, os.environ)
        except OSError as error:
            self._retry(describe_error(error))

    def _retry(self, how: str) -> None:
        """Note how it ended, and when it may begin again."""
        now = time.monotonic()
        if now - self._began >= WELL:
            self._pause = FIRST_PAUSE
        self._ended = how
        self._not_before = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
