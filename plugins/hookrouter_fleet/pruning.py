"""Has the engine remove what is left of this machine's documents and locks: only its own process does that for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter_fleet.kinds import AREAS, FLEET

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.storage.interface import Storage

__all__ = ["Pruning"]

KEPT_SECONDS = 30 * 86400.0
"""Age at which corrupt documents that nobody looked at, and what is left of locks, are removed, as in the files."""

PRUNE_SECONDS = 3600.0
"""Seconds between two times."""


class Pruning:
    """What one process removes now and then. For one thread."""

    def __init__(self, storage: Storage, report: Callable[[str], None]) -> None:
        """Touches nothing yet."""
        self._stores = [storage.store(area, report) for area in (*AREAS, FLEET)]
        self._next = 0.0

    def serve(self) -> None:
        """Remove what is too old, if that was not done for an hour. What the engine refuses stays until then."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PRUNE_SECONDS
        for store in self._stores:
            store.prune(KEPT_SECONDS)
