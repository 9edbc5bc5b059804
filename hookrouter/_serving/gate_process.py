"""The gate's process, as the router sees it: begun where the configuration asks for one, and anew when it ends.

Its sockets are the router's: whoever connects while a gate begins waits for it, unless gates end as soon as they begin.
What the gate does is in :mod:`hookrouter._serving.gate`, which the router does not load.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from hookrouter._serving.home_config import load_config
from hookrouter._serving.kept_process import GrowingPause, KeptProcess
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from hookrouter._serving.gate_sockets import GateSockets
    from hookrouter.storage.home import Home

__all__ = ["NO_UVICORN", "GateProcess"]

NO_UVICORN = 3
"""The exit code of a gate without the library it needs."""

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds before a gate that has ended is begun anew: twice as many after each time, up to this."""

ADDRESS_PAUSE = 0.2
LONGEST_ADDRESS_PAUSE = 15.0
"""Seconds before an address is tried again that cannot be had, in the same way."""

WELL = 60.0
"""Seconds that a gate must have run for its end to be taken as the first one."""


class GateProcess:
    """The gate of one home; its parent is the process that makes this."""

    def __init__(self, home: Home, sockets: GateSockets) -> None:
        """Take the home, and the sockets for the gate; nothing is started."""
        self._home = home
        self._sockets = sockets
        self._process = KeptProcess()
        self._settings: tuple[str, bool] | None = None
        self._began = 0.0
        self._not_before = 0.0
        self._pause = GrowingPause(FIRST_PAUSE, LONGEST_PAUSE)
        self._ended = ""
        self._problem = ""
        """Why nothing listens at the address for http hooks."""
        self._address_pause = GrowingPause(ADDRESS_PAUSE, LONGEST_ADDRESS_PAUSE)

    def tend(self) -> None:
        """Begin it if it is due, and end one that the configuration no longer asks for. Raises nothing."""
        config = load_config(self._home).serve
        settings = (config.http, config.mod)
        if settings != self._settings:
            self.stop()
            self._settings, self._not_before, self._problem = settings, 0.0, ""
            self._pause.reset()
            self._address_pause.reset()
            if not any(settings):
                self._sockets.remove()
        if not any(settings) or time.monotonic() < self._not_before:
            return
        if not self._process.pid:
            self._begin()
        elif self._problem:
            self._try_address()

    def next_due(self) -> float:
        """Return in how many seconds :meth:`tend` has something to do; infinity for nothing."""
        if (self._process.pid and not self._problem) or not self._settings or not any(self._settings):
            return float("inf")
        return max(0.0, self._not_before - time.monotonic())

    def ended(self, pid: int, exit_code: int) -> bool:
        """Note that a child has ended; return whether it was the gate."""
        if not self._process.has_ended(pid):
            return False
        if exit_code == NO_UVICORN:
            self._retry("the extra hookrouter[serve] is not installed")
            self._sockets.remove()
        else:
            self._retry(f"exit code {exit_code}")
        return True

    def stop(self) -> None:
        """Have it take no new connection, and end once nobody waits by it; forget it."""
        self._process.stop()

    def status(self) -> dict[str, Any] | None:
        """Return what the router's status says of it; None if none is asked for."""
        if not self._settings or not any(self._settings):
            return None
        http, mod = self._settings
        return {"pid": self._process.pid, "http": http, "mod": mod, "ended": self._ended, "problem": self._problem}

    @property
    def _http(self) -> str:
        """The address for http hooks; empty for none."""
        return self._settings[0] if self._settings else ""

    def _begin(self) -> None:
        """Start it. What is wrong with the address for http hooks keeps no mod away."""
        self._began = time.monotonic()
        try:
            self._note_address(self._sockets.make(self._http))
            with self._sockets.inheritable() as descriptors:
                self._process.begin("--gate", str(os.getpid()), *map(str, descriptors))
        except OSError as error:
            self._retry(describe_error(error))

    def _try_address(self) -> None:
        """See whether the address can be had by now; a gate is given its sockets when it begins."""
        try:
            self._note_address(self._sockets.make(self._http))
        except OSError as error:
            self._note_address(describe_error(error))
        if not self._problem:
            self.stop()
            self._begin()

    def _note_address(self, problem: str) -> None:
        self._problem = problem
        if problem:
            self._not_before = time.monotonic() + self._address_pause.take()
        else:
            self._address_pause.reset()

    def _retry(self, how: str) -> None:
        """Note how it ended, and when it may begin again."""
        now = time.monotonic()
        if now - self._began >= WELL:
            self._pause.reset()
        self._ended = how
        if self._pause.has_grown:
            # It does not come up. Better refused than kept waiting.
            self._sockets.remove()
        self._not_before = now + self._pause.take()
