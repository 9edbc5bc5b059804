"""The monitor's process, as the router sees it: begun where config.toml gives it an address, and anew when it ends.

Its socket is the router's. What the monitor tells is in :mod:`hookrouter._monitor`, which no router loads.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from hookrouter._serving.home_config import load_config
from hookrouter._serving.kept_process import GrowingPause, KeptProcess
from hookrouter._serving.log import say
from hookrouter._serving.page_process import listen_at
from hookrouter.config import MonitorConfig
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from hookrouter.storage.home import Home

__all__ = ["EXTRA_MISSING", "INHERIT_VARIABLE", "MonitorProcess"]

INHERIT_VARIABLE = "HOOKROUTER_SERVE_INHERIT_MONITOR"
"""Names the listening descriptor that a router hands to the one that takes its place, and its address."""

EXTRA_MISSING = "the monitor needs the extra: pip install 'hookrouter[serve]'"

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds before a monitor that has failed begins again, or an address is tried again: twice as many each time."""

WELL = 60.0
"""Seconds that a monitor must have run for its end to be taken as the first one."""


class MonitorProcess:
    """The monitor of one home; its parent is the process that makes this."""

    def __init__(self, home: Home, environ: MutableMapping[str, str]) -> None:
        """Take over the socket that a former router has handed over; that variable is taken out of ``environ``."""
        self._home = home
        self._config = MonitorConfig()
        number, _, self._place = environ.pop(INHERIT_VARIABLE, "").partition(",")
        self._listener: socket.socket | None = None
        if number:
            os.set_inheritable(int(number), False)
            self._listener = socket.socket(fileno=int(number))
        self._process = KeptProcess()
        self._problem = ""
        """Why nobody is told anything; empty if nothing is known to be wrong."""
        self._pause = GrowingPause(FIRST_PAUSE, LONGEST_PAUSE)
        self._began = self._not_before = 0.0
        self._is_there = importlib.util.find_spec("uvicorn") is not None

    def tend(self) -> None:
        """Have it run where config.toml says, or nowhere. What is wrong is said once, on stderr. Raises nothing."""
        config = load_config(self._home).monitor
        if config != self._config:
            self.stop()
            if config.address != self._place:
                self.let_go()
            self._config, self._problem, self._not_before = config, "", 0.0
            self._pause.reset()
        if not config.address or self._process.pid or time.monotonic() < self._not_before:
            return
        if not self._is_there:
            self._failed(EXTRA_MISSING)
            return
        try:
            if self._listener is None:
                self._listener, self._place = listen_at(config.address), config.address
            self._begin(self._listener)
        except OSError as error:
            self._failed(f"{config.address}: {describe_error(error)}")

    def next_due(self) -> float:
        """Return in how many seconds :meth:`tend` has something to do; infinity for nothing."""
        if self._process.pid or not self._config.address:
            return float("inf")
        return max(0.0, self._not_before - time.monotonic())

    def ended(self, pid: int, exit_code: int) -> bool:
        """Note that a child has ended; return whether it was the monitor."""
        if not self._process.has_ended(pid):
            return False
        if time.monotonic() - self._began >= WELL:
            self._pause.reset()
        self._failed(f"it has ended: exit code {exit_code}")
        return True

    def stop(self) -> None:
        """Have it end, and forget it."""
        self._process.stop()

    def hand_over(self) -> dict[str, str]:
        """Let the program that takes the place of this one have the socket; return the variable that tells it."""
        if self._listener is None:
            return {}
        self._listener.set_inheritable(True)
        return {INHERIT_VARIABLE: f"{self._listener.fileno()},{self._place}"}

    def let_go(self) -> None:
        """Close the socket in this process."""
        if self._listener is not None:
            self._listener.close()
        self._listener = None

    def status(self) -> dict[str, Any] | None:
        """Return what the router's status says of it; None if none is asked for."""
        if not self._config.address:
            return None
        return {"pid": self._process.pid, "address": self._config.address, "problem": self._problem}

    def _begin(self, listener: socket.socket) -> None:
        try:
            listener.set_inheritable(True)
            self._process.begin("--monitor", str(os.getpid()), str(listener.fileno()))
            self._began, self._problem = time.monotonic(), ""
        finally:
            listener.set_inheritable(False)

    def _failed(self, problem: str) -> None:
        if problem != self._problem:
            say(f"no monitor: {problem}", event="monitor")
        self._problem = problem
        self._not_before = time.monotonic() + self._pause.take()
