"""The module ``time`` as code under test sees it, if nothing happens beside it while it sleeps."""

from __future__ import annotations

import time
from typing import Any

__all__ = ["SteppedTime"]


class SteppedTime:
    """Stands for ``time`` in one module: ``monkeypatch.setattr(module, "time", SteppedTime())``. Sleeping moves it."""

    def __init__(self) -> None:
        self.slept = 0.0
        """For how many seconds it was slept in all."""

    def monotonic(self) -> float:
        """Return the moment, which goes on by itself, too."""
        return time.monotonic() + self.slept

    def time(self) -> float:
        """Return the moment in seconds since 1970."""
        return time.time() + self.slept

    def sleep(self, seconds: float) -> None:
        """Let so much time have gone by."""
        self.slept += seconds

    def __getattr__(self, name: str) -> Any:
        """Return whatever else the module has."""
        return getattr(time, name)
