"""The sessions as the page lists them, each with its state, its queue and what Claude said last."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hookrouter.queue.overview import SessionView, overview
from hookrouter.sessions.records import BUSY, IDLE, LIMITED, STOPPED, WAITING

if TYPE_CHECKING:
    from hookrouter.context import Services

__all__ = ["Sessions"]

_FRESH_SECONDS = 1.0
"""For how long one look at all sessions serves whoever asks: many pages may be told of one change."""

_RANK = {state: rank for rank, state in enumerate((WAITING, LIMITED, STOPPED, IDLE, BUSY))}


class Sessions:
    """All sessions, looked at once for all who ask at the same time."""

    def __init__(self) -> None:
        """Look at nothing yet."""
        self._lock = threading.Lock()
        self._views: list[SessionView] = []
        self._read_at = float("-inf")

    def all(self, services: Services) -> list[SessionView]:
        """Return the sessions: those that wait first, those that have ended last. Raises StoreError."""
        with self._lock:
            if time.monotonic() - self._read_at >= _FRESH_SECONDS:
                found = overview(services)
                self._views = sorted(found, key=lambda view: (_RANK.get(view.state.state, len(_RANK)), view.session))
                self._read_at = time.monotonic()
            return self._views

    def one(self, services: Services, name: str) -> SessionView | None:
        """Return a session by its name, as it is now; None if it is not known. Raises StoreError."""
        return next((view for view in overview(services, every=True) if view.session == name), None)
