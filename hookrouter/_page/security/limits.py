"""Slows down whoever tries tokens: after some wrong ones a sender is refused for a while.

Behind a proxy all requests come from one address, so there a sender is one of the users that the proxy names: one
person's wrong tokens shut nobody else out. Who reaches the page past the proxy can make up names, and so all names of
one address have a limit together as well.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from typing import NamedTuple

from hookrouter.util.field_docs import with_field_docs

__all__ = ["Sender", "WrongTokens"]

MOST = 10
"""Wrong tokens that one sender may send within :data:`SECONDS`."""
MOST_OF_ADDRESS = 100
"""Wrong tokens that may come from one address in that time, whoever sends them."""
SECONDS = 60.0
_REMEMBERED = 1000
"""Senders, and addresses, whose wrong tokens are kept; those whose last one is the oldest are forgotten first."""


@with_field_docs
class Sender(NamedTuple):
    """Who sends a token."""

    address: str
    """Where the request comes from: behind a proxy the proxy's own address."""
    user: str = ""
    """Whom the proxy names; empty without one, as nobody else is believed."""


class WrongTokens:
    """The wrong tokens of the last minute, by who sent them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._of_sender = _Times(MOST)
        self._of_address = _Times(MOST_OF_ADDRESS)

    def note(self, sender: Sender) -> None:
        """Count one."""
        self._of_sender.note(sender)
        self._of_address.note(sender.address)

    def is_too_many(self, sender: Sender) -> bool:
        """Whether this sender has to wait."""
        return self._of_sender.is_full(sender) or self._of_address.is_full(sender.address)


class _Times:
    """When something happened last, by whom it is about."""

    def __init__(self, most: int) -> None:
        """``most`` times within :data:`SECONDS` are enough."""
        self._most = most
        self._seen: OrderedDict[object, deque[float]] = OrderedDict()

    def note(self, whom: object) -> None:
        times = self._seen.setdefault(whom, deque(maxlen=self._most))
        times.append(time.monotonic())
        self._seen.move_to_end(whom)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def is_full(self, whom: object) -> bool:
        times = self._seen.get(whom)
        return times is not None and len(times) == self._most and time.monotonic() - times[0] < SECONDS
