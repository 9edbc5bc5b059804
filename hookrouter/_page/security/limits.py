"""Slows down whoever tries tokens: after some wrong ones an address is refused for a while."""

from __future__ import annotations

import time
from collections import OrderedDict, deque

__all__ = ["WrongTokens"]

MOST = 10
"""Wrong tokens that one address may send within :data:`SECONDS`."""
SECONDS = 60.0
_ADDRESSES = 1000


class WrongTokens:
    """The wrong tokens of the last minute, by the address they came from."""

    def __init__(self) -> None:
        """Begin with none."""
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()

    def note(self, address: str) -> None:
        """Count one."""
        times = self._seen.setdefault(address, deque(maxlen=MOST))
        times.append(time.monotonic())
        self._seen.move_to_end(address)
        while len(self._seen) > _ADDRESSES:
            self._seen.popitem(last=False)

    def is_too_many(self, address: str) -> bool:
        """Whether this address has to wait."""
        times = self._seen.get(address)
        return times is not None and len(times) == MOST and time.monotonic() - times[0] < SECONDS
