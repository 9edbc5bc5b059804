"""What doctor finds, kept for a while: its checks start programs, so nobody waits for them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hookrouter.diagnostics import examine
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.diagnostics import Finding

__all__ = ["Health"]

FRESH_SECONDS = 60.0


class Health:
    """The findings of the last check."""

    def __init__(self) -> None:
        """Nothing is checked yet."""
        self._lock = threading.Lock()
        self._is_running = False
        self._due = float("-inf")
        self.findings: list[Finding] = []
        self.checked_at = ""
        """When they were found (ISO 8601, UTC); empty while the first check runs."""

    def look(self, services: Services) -> None:
        """Begin a check in a thread, if none runs and the last one is a minute old."""
        with self._lock:
            if self._is_running or time.monotonic() < self._due:
                return
            self._is_running = True
        threading.Thread(target=self._check, args=(services,), name="doctor", daemon=True).start()

    def _check(self, services: Services) -> None:
        try:
            found = examine(services)
            with self._lock:
                self.findings, self.checked_at = found, iso()
        finally:
            with self._lock:
                self._is_running, self._due = False, time.monotonic() + FRESH_SECONDS
