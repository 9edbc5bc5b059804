"""How long something has been seen without a break: one look alone is not enough where a hook may be late.

It knows a clock and a name, and nothing of queues or sessions.
"""

from __future__ import annotations

import time

__all__ = ["Lasting"]


class Lasting:
    """Remembers since when the last thing that was asked about has been seen; another one takes its place."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self._what = ""
        self._since: float | None = None

    def has_lasted(self, what: str, long: float) -> bool:
        """Whether something has been seen for so many seconds, at each look since the first."""
        if self._since is None or self._what != what:
            self._what, self._since = what, time.monotonic()
        return time.monotonic() - self._since >= long

    def forget(self) -> None:
        """Begin anew: it was not seen this time."""
        self._since = None
