"""What the process that writes documents has done so far, for whoever watches the machine: a file in the cache folder.

It counts on over all processes of a home, as long as the cache lasts. No document, because it is written every second:
each would wake whoever waits for documents, this process first.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.storage.own_file import read_own_json, write_own_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._fleet.replica import Brought
    from hookrouter.storage.home import Home

__all__ = ["Progress", "ProgressNotes", "read_progress"]

WRITE_SECONDS = 1.0
"""Seconds between two writes."""


class Progress(NamedTuple):
    """What was done."""

    reached_at: float = 0.0
    """When the engine was reached last, in seconds since 1970; 0 for never."""
    written: int = 0
    """How many documents were written to the engine."""
    deleted: int = 0
    """How many were deleted there."""
    errands: int = 0
    """How many commands of other machines were taken."""
    failures: int = 0
    """How often the engine failed, or could not be reached."""
    failing: bool = False
    """Whether that was what happened last."""
    failed_at: float = 0.0
    """When it failed last, in seconds since 1970; 0 for never."""

    @property
    def last_word(self) -> float:
        """When the process has last said anything of the engine, in seconds since 1970; 0 for never."""
        return max(self.reached_at, self.failed_at)

    def age(self) -> float | None:
        """Return how many seconds ago the engine was reached; None for never."""
        return max(0.0, time.time() - self.reached_at) if self.reached_at else None


class ProgressNotes:
    """Counts, and writes it down. For one thread."""

    def __init__(self, home: Home) -> None:
        """Go on from what the process before has written."""
        self._path = _path(home)
        self._found = _progress(read_own_json(self._path))
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


def read_progress(home: Home) -> Progress:
    """Return what was written last. Raises nothing."""
    return _progress(read_own_json(_path(home)))


def _path(home: Home) -> str:
    return os.path.join(home.cache, "sharing.json")


def _progress(document: Mapping[str, object]) -> Progress:
    known = {name: document[name] for name in Progress._fields if isinstance(document.get(name), (int, float))}
    return Progress(**known)  # type: ignore[arg-type]
