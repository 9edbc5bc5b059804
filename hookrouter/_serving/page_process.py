"""The page's process, as the router sees it: its socket is the router's, and it begins when somebody connects.

So a home whose page nobody opens costs a listening socket and nothing else, and whoever connects while a page ends or a
router begins anew waits in the backlog. What the page does is in :mod:`hookrouter._page`, which no router loads.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from hookrouter._serving import address
from hookrouter._serving.home_config import load_config
from hookrouter._serving.kept_process import GrowingPause, KeptProcess
from hookrouter._serving.log import say
from hookrouter._serving.page_tls import FileStamps, TlsError
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from hookrouter.config import PageConfig
    from hookrouter.storage.home import Home

__all__ = ["EXTRA_MISSING", "INHERIT_VARIABLE", "NEEDED", "PageProcess", "listen_at"]

INHERIT_VARIABLE = "HOOKROUTER_SERVE_INHERIT_PAGE"
"""Names the listening descriptor that a router hands to the one that takes its place, and its address."""

NEEDED = ("starlette", "uvicorn", "jinja2", "itsdangerous")
"""What the page is made with: the extra ``hookrouter[serve]``."""

EXTRA_MISSING = "the page needs the extra: pip install 'hookrouter[serve]'"

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds before a page that has failed may begin again: twice as many after each time, up to this."""

LOOK_PAUSE = 15.0
"""Seconds before an address is tried again that cannot be had."""


class PageProcess:
    """The page of one home; its parent is the process that makes this."""

    def __init__(self, home: Home, environ: MutableMapping[str, str]) -> None:
        """Take over the socket that a former router has handed over; that variable is taken out of ``environ``."""
        self._home = home
        number, _, place = environ.pop(INHERIT_VARIABLE, "").partition(",")
        self._listener: socket.socket | None = None
        if number:
            os.set_inheritable(int(number), False)
            self._listener = socket.socket(fileno=int(number))
        self._place = place
        self._process = KeptProcess()
        self._problem = ""
        """Why nobody gets a page; empty if nothing is known to be wrong."""
        self._tls = FileStamps()
        self._config: PageConfig | None = None
        self._pause = GrowingPause(FIRST_PAUSE, LONGEST_PAUSE)
        self._not_before = 0.0
        self._is_there = all(importlib.util.find_spec(name) is not None for name in NEEDED)

    def tend(self) -> None:
        """Listen where config.toml says, or nowhere. What is wrong is said once, on stderr. Raises nothing."""
        page = load_config(self._home).page
        problem = self._obstacle(page) if page.enabled else ""
        place = page.address if page.enabled and not problem else ""
        if place != self._place or not place:
            self.stop()
            self._close()
            self._place, self._not_before = place, 0.0
            self._note(problem)
        if not place or self._listener is not None or time.monotonic() < self._not_before:
            return
        try:
            self._listener = listen_at(place)
            self._note("")
        except OSError as error:
            self._note(f"{place}: {describe_error(error)}")
            self._not_before = time.monotonic() + LOOK_PAUSE

    def _obstacle(self, page: PageConfig) -> str:
        """Return what stands in the way of a page, whoever connects; empty if nothing does."""
        if not self._is_there:
            return EXTRA_MISSING
        try:
            if self._tls.are_new(page) or page != self._config:
                # A page that runs has read the former files and keys.
                self.stop()
        except TlsError as error:
            return str(error)
        finally:
            self._config = page
        return ""

    def _note(self, problem: str) -> None:
        if problem and problem != self._problem:
            say(f"no page: {problem}", event="page")
        self._problem = problem

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a page is to begin; -1 while one runs, or for none."""
        if self._process.pid or self._listener is None or time.monotonic() < self._not_before:
            return -1
        return self._listener.fileno()

    @property
    def is_running(self) -> bool:
        """Whether somebody has the page open, or had it open a moment ago."""
        return bool(self._process.pid)

    def begin(self) -> None:
        """Start it: somebody has connected. Raises nothing."""
        if self._listener is None:
            return
        self._problem = ""
        try:
            self._listener.set_inheritable(True)
            self._process.begin("--page", str(os.getpid()), str(self._listener.fileno()))
        except OSError as error:
            self._retry(describe_error(error))
        finally:
            self._listener.set_inheritable(False)

    def ended(self, pid: int, exit_code: int) -> bool:
        """Note that a child has ended; return whether it was the page."""
        if not self._process.has_ended(pid):
            return False
        if exit_code:
            self._retry(f"exit code {exit_code}")
        else:
            self._pause.reset()
        return True

    def stop(self) -> None:
        """Have it end, and forget it."""
        self._process.stop()

    def status(self) -> dict[str, Any] | None:
        """Return what the router's status says of it; None if config.toml switches it off."""
        page = load_config(self._home).page
        if not page.enabled:
            return None
        is_served = self._listener is not None
        return {"pid": self._process.pid, "url": page.base_url if is_served else "", "problem": self._problem}

    def hand_over(self) -> dict[str, str]:
        """Let the program that takes the place of this one have the socket; return the variable that tells it."""
        if self._listener is None:
            return {}
        self._listener.set_inheritable(True)
        return {INHERIT_VARIABLE: f"{self._listener.fileno()},{self._place}"}

    def let_go(self) -> None:
        """Close the socket in this process alone."""
        self._close()

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._listener = None

    def _retry(self, how: str) -> None:
        self._note(f"the page has ended: {how}")
        self._not_before = time.monotonic() + self._pause.take()


def listen_at(place: str) -> socket.socket:
    """Return a listening socket at an address, ``HOST:PORT``. Raises OSError."""
    host, _, port = place.rpartition(":")
    name = "127.0.0.1" if host == "localhost" else host.strip("[]")
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
