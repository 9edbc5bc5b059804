"""What the process that writes documents has done so far, for whoever watches the machine: a file in the cache folder.

It counts on over all processes of a home, as long as the cache lasts. No document, because it is written every second:
each would wake whoever waits for documents, this process first.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.machines import progress_file, progress_of
from hookrouter.storage.own_file import read_own_json, write_own_json

if TYPE_CHECKING:
    from hookrouter._fleet.replica import Brought
    from hookrouter.storage.home import Home

__all__ = ["ProgressNotes"]

WRITE_SECONDS = 1.0
"""Seconds between two writes."""


class ProgressNotes:
    """Counts, and writes it down. For one thread."""

    def __init__(self, home: Home) -> None:
        """Go on from what the process before has written."""
        self._path = progress_file(home)
        self._found = progress_of(read_own_json(self._path))
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
        write_own_json(self._path, self._found._asdict())
