"""Counts what the process that writes documents has done, and writes it down for whoever watches the machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.storage.progress import read_progress, write_progress

if TYPE_CHECKING:
    from hookrouter.storage.home import Home
    from hookrouter_fleet.replica import Brought

__all__ = ["ProgressNotes"]

WRITE_SECONDS = 1.0
"""Seconds between two writes."""


class ProgressNotes:
    """Counts, and writes it down. For one thread."""

    def __init__(self, home: Home) -> None:
        """Go on from what the process before has written."""
        self._home = home
        self._found = read_progress(home)
        self._due = 0.0

    def reached(self, brought: Brought, errands: int) -> None:
        """Note a round that has reached the engine, with what it brought, and how many errands it took."""
        was_failing = self._found.failing
        self._found = self._found._replace(
            reached_at=time.time(),
            failing=False,
            written=self._found.written + brought.written,
            deleted=self._found.deleted + brought.deleted,
            errands=self._found.errands + errands,
        )
        if time.monotonic() >= self._due or was_failing:
            self.write()

    def failed(self) -> None:
        """Note a failure of the engine."""
        self._found = self._found._replace(failures=self._found.failures + 1, failing=True, failed_at=time.time())
        self.write()

    def write(self) -> None:
        """Write it down now. Raises nothing."""
        self._due = time.monotonic() + WRITE_SECONDS
        write_progress(self._home, self._found)
