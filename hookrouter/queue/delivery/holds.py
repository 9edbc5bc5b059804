"""A queue that is held: for good, or until a time, as after a usage limit.

Knows holds, and how a client goes on by itself after a limit; nothing of items and channels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue.delivery.intervals import IDLE_LOOK, LOOK
from hookrouter.queue.failures import CONTINUATION_SECONDS, LIMITED, goes_on_by_itself
from hookrouter.util.clock import now, seconds
from hookrouter.util.regular_file import last_lines

if TYPE_CHECKING:
    from hookrouter.queue.delivery.session_queue import SessionQueue
    from hookrouter.queue.documents import Hold, Queue

__all__ = ["is_held_for_good", "wait_for_end"]


def is_held_for_good(queue: Queue) -> bool:
    """Whether a queue goes on only if somebody resumes it."""
    return queue.hold is not None and not queue.hold.until


def wait_for_end(queue: SessionQueue, hold: Hold) -> float:
    """End a hold whose time has come. Returns the seconds until the next look. Raises StoreError."""
    until = seconds(hold.until)
    left = 0.0 if until is None else until - now()
    if left > 0:
        return min(left, IDLE_LOOK)
    if left > -CONTINUATION_SECONDS and _goes_on_by_itself(queue, hold):
        return LOOK
    queue.change(lambda there: there._replace(hold=None) if there.hold == hold else there)
    return 0.0


def _goes_on_by_itself(queue: SessionQueue, hold: Hold) -> bool:
    """Whether the client itself is about to go on after a usage limit: nothing may come in its way then."""
    record = queue.look().record
    return hold.cause == LIMITED and record is not None and goes_on_by_itself(last_lines(record.transcript_path))
