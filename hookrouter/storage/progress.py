"""What the process has done so far that writes documents to a shared engine: a file in the cache folder.

It counts on over all processes of a home, as long as the cache lasts. No document, because it is written every second:
each would wake whoever waits for documents, that process first.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.storage.own_file import read_own_json, write_own_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.home import Home

__all__ = ["Progress", "read_progress", "write_progress"]


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


def read_progress(home: Home) -> Progress:
    """Return what was written last. Raises nothing."""
    document: Mapping[str, object] = read_own_json(_path(home))
    known = {name: document[name] for name in Progress._fields if isinstance(document.get(name), (int, float))}
    return Progress(**known)  # type: ignore[arg-type]


def write_progress(home: Home, progress: Progress) -> None:
    """Write it down. Raises nothing."""
    write_own_json(_path(home), progress._asdict())


def _path(home: Home) -> str:
    return os.path.join(home.cache, "sharing.json")
