"""Goes on with a delivery that was cut off: its deliverer was killed between its begin and its proof.

Knows what an item tells of the attempt that was cut off: for which client, by which channel, how far. It keeps the rule
that nothing is submitted again which may have been submitted, and begins no delivery itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.channels import PromptStatus
from hookrouter.queue.delivery.holds import is_held_for_good
from hookrouter.queue.delivery.intervals import LOOK, RECORD_LOOK
from hookrouter.queue.delivery.readiness import client_mark, why_not
from hookrouter.util.clock import now, seconds

if TYPE_CHECKING:
    from hookrouter.queue.delivery.attempts import Attempts
    from hookrouter.queue.delivery.evidence import Evidence
    from hookrouter.queue.delivery.readiness import Sight
    from hookrouter.queue.delivery.session_channels import SessionChannels
    from hookrouter.queue.delivery.session_queue import SessionQueue
    from hookrouter.queue.items import Item

__all__ = ["Recovery"]


class Recovery:
    """The recovery of one session's deliveries."""

    def __init__(self, queue: SessionQueue, channels: SessionChannels, evidence: Evidence, attempts: Attempts) -> None:
        """``attempts`` concludes an attempt that was taken up again, as it does its own."""
        self._queue = queue
        self._channels = channels
        self._evidence = evidence
        self._attempts = attempts

    def recover(self, sight: Sight, item: Item) -> float:
        """Go on with a delivery that was cut off; return the seconds until the next look. Raises StoreError."""
        record = sight.record
        if record is None or item.boot != client_mark(record):
            reason = "the delivery was begun for a client that is not there any more"
            self._queue.stop_at(sight, lambda queue: transitions.client_lost(queue, reason))
            return 0.0
        if self._evidence.note(record, item):
            return 0.0
        self._channels.prepare(sight.queue, record)
        channel = next((one for one in self._channels.listed() if one.name == item.channel), None)
        if channel is None and not item.phase:
            self._queue.put_back(item, "its delivery is begun anew")
            return 0.0
        if channel is None:
            reason = f"its channel, {item.channel}, is not there any more, and may have submitted it"
            self._queue.stop_at(sight, lambda queue: transitions.unproven(queue, item.id, reason))
            return 0.0
        if item.phase and self._may_be_taken(sight, item):
            return RECORD_LOOK
        outcome = self._channels.submit(channel, record, item)
        if item.phase and outcome.status == PromptStatus.NOT_NOW and not outcome.is_try:
            # This says nothing of the attempt that was cut off. Until that is decided the item is not one that waits.
            self._attempts.keeps_back(sight, record, item, outcome.reason)
            if self._is_young(item):
                return RECORD_LOOK
            if not is_held_for_good(sight.queue):
                return LOOK
            reason = f"its delivery was cut off, and it may have been submitted; since then: {outcome.reason}"
            self._queue.stop_at(sight, lambda queue: transitions.unproven(queue, item.id, reason))
            return 0.0
        if outcome.status in (PromptStatus.REFUSED, PromptStatus.UNAVAILABLE):
            self._queue.put_back(item, outcome.reason)
            return LOOK
        return self._attempts.conclude(sight, record, item, outcome)

    def _may_be_taken(self, sight: Sight, item: Item) -> bool:
        """Whether what is going on may be the item itself, of which nothing has come yet that proves it."""
        return self._is_young(item) and sight.queue.hold is None and why_not(sight) != ""

    def _is_young(self, item: Item) -> bool:
        begun = seconds(item.delivering_at)
        return begun is not None and 0 <= now() - begun < self._queue.services.config.sessions.proof_wait
