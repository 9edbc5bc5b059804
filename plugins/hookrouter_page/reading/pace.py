"""Has a thread that reads much leave the process to those that somebody waits for.

Of Python's threads one runs at a time, and one that computes gives way after 5 ms. A view that reads 200 documents
comes back from the system for each: beside such a thread it took 800 ms in place of 20.
"""

from __future__ import annotations

import threading
import time

__all__ = ["Pace"]

WORK_SECONDS = 0.001
REST_SECONDS = 0.002
"""How long it works without a rest, and rests then: others get two thirds of the time."""


class Pace:
    """The pace of one work in the background."""

    def __init__(self) -> None:
        """It has time, until :meth:`hurry`."""
        self._hurry = threading.Event()
        self._since = time.monotonic()

    def hurry(self) -> None:
        """From now on somebody waits for it: it rests no more."""
        self._hurry.set()

    def rest(self) -> None:
        """Rest, if it is time to. Called after each small piece of work, in the thread that does it."""
        if time.monotonic() - self._since >= WORK_SECONDS and not self._hurry.is_set():
            self._hurry.wait(REST_SECONDS)
            self._since = time.monotonic()
