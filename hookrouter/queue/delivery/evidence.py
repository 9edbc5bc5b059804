"""What the transcript proves of an item that is under way: looked for, noted and waited for.

What a record means is said in :mod:`hookrouter.queue.proof`; this knows when to read it and what becomes of the queue.
It knows no channel: how an item came into the session makes no difference to what proves it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.channels import PromptStatus
from hookrouter.queue.delivery.intervals import LOOK, RECORD_LOOK
from hookrouter.queue.delivery.readiness import LAG_SECONDS
from hookrouter.queue.delivery.unreported_events import note_turn_begun
from hookrouter.queue.items import DELIVERING, PROMPT, STARTED
from hookrouter.queue.proof import proof_by_records
from hookrouter.sessions.records import IDLE
from hookrouter.util.regular_file import last_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.queue.channels import PromptOutcome
    from hookrouter.queue.delivery.readiness import Sight
    from hookrouter.queue.delivery.session_queue import SessionQueue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["Evidence"]


class Evidence:
    """The proof of one session's items by its transcript. Its methods raise StoreError."""

    def __init__(self, queue: SessionQueue, wait: Callable[[float], None]) -> None:
        """``wait`` waits so many seconds for a change of the queue or of the session's record."""
        self._queue = queue
        self._wait = wait
        self._fresh_until = 0.0

    @property
    def is_fresh(self) -> bool:
        """Whether something was proven just now, so that the client's registry is about to follow."""
        return time.monotonic() < self._fresh_until

    def note(self, record: SessionRecord, item: Item) -> bool:
        """Note what the transcript proves of an item that is under way; return whether it has changed by that."""
        proof = proof_by_records(item, last_lines(record.transcript_path), item.delivering_at)
        if proof is None:
            return False
        is_news = any(item.proof.get(key) != value for key, value in proof.said.items())
        if item.state == STARTED and proof.state == STARTED and not is_news:
            return False
        self._queue.change_and_tell(lambda queue: transitions.proven(queue, item.id, proof), record)
        if item.kind == PROMPT and item.state == DELIVERING and proof.state == STARTED:
            self._note_turn_begun(item)
        self._fresh_until = time.monotonic() + LAG_SECONDS
        return True

    def is_proven(self, record: SessionRecord, item: Item) -> bool:
        """Whether an event or a record has proven that an item was submitted."""
        kept = self._queue.item(item.id)
        if kept is None or kept.state != DELIVERING:
            return kept is None or kept.state == STARTED
        return self.note(record, kept)

    def wait_for(self, sight: Sight, record: SessionRecord, item: Item, outcome: PromptOutcome) -> None:
        """Wait until an item is proven that was submitted, or may be; hold the queue if that does not come in time."""
        patience = self._queue.services.config.sessions.proof_wait
        deadline = time.monotonic() + patience
        while (left := deadline - time.monotonic()) > 0:
            kept = self._queue.item(item.id)
            if kept is None or kept.state != DELIVERING or self.note(record, kept):
                return
            self._wait(min(left, RECORD_LOOK if item.kind != PROMPT else LOOK))
        what = "it was submitted" if outcome.status == PromptStatus.SUBMITTED else "it may have been submitted"
        reason = f"{what} by {item.channel}, and nothing has proven it within {patience:g} s: {outcome.reason}"
        self._queue.stop_at(sight, lambda queue: transitions.unproven(queue, item.id, reason))

    def _note_turn_begun(self, item: Item) -> None:
        """Note that the turn of a prompt has begun of which no hook has told; it may be over already."""
        record = note_turn_begun(self._queue.store, self._queue.session, item.delivering_at)
        if record is not None and record.state == IDLE:
            self._queue.change_and_tell(transitions.turn_ended, record)
