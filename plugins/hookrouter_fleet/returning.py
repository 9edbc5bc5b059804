"""Has a machine that was gone ask what others have sent for it, before it sends that itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.sharing import start_sharing
from hookrouter.storage.progress import read_progress
from hookrouter.util.clock import now, seconds

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.messaging.outbox import Outbox

__all__ = ["GONE_SECONDS", "wait_until_looked"]

GONE_SECONDS = 120.0
"""Seconds without any process of a machine after which others deliver its messages; a new one begins much sooner."""

WAIT_SECONDS = 5.0
"""Seconds that a deliverer waits at most: an engine that does not answer must not hold messages up."""

_LOOK = 0.05


def wait_until_looked(services: Services) -> None:
    """Wait until the process that writes documents has asked the engine, if others may have sent what waits here.

    They may if it has not said anything for as long as they wait for it, and a message is as old. Raises OSError if
    that process cannot be started, and StoreError.
    """
    home, begun = services.home, now()
    if begun - read_progress(home).last_word < GONE_SECONDS or not _is_old(services.outbox, begun):
        return
    start_sharing(services.environ, home, services.plugins)
    deadline = time.monotonic() + WAIT_SECONDS
    while read_progress(home).last_word < begun and time.monotonic() < deadline:
        time.sleep(_LOOK)


def _is_old(outbox: Outbox, moment: float) -> bool:
    """Whether a message waits that others may have seen in the engine when this machine went."""
    oldest = next(iter(outbox.ids()), None)
    message = None if oldest is None else outbox.get(oldest)
    created = None if message is None else seconds(message.created_at)
    return created is not None and moment - created >= GONE_SECONDS
