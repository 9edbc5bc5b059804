"""The attempts to deliver the next item: when, by which channel, and again after a while if it was not the time.

Knows the rule of readiness and what a channel's answer means for the item. How channels submit, what proves an item,
and what follows its start, it does not know.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.channels import PromptStatus, is_exact
from hookrouter.queue.delivery.intervals import IDLE_LOOK, LOOK, QUICK_LOOK
from hookrouter.queue.delivery.readiness import LAG_SECONDS, age, client_mark, why_not_by_hooks
from hookrouter.queue.delivery.requests import why_not_by
from hookrouter.queue.items import DELIVERING
from hookrouter.sessions.records import BUSY
from hookrouter.util.clock import now

if TYPE_CHECKING:
    from hookrouter.queue.channels import PromptChannel, PromptOutcome
    from hookrouter.queue.delivery.evidence import Evidence
    from hookrouter.queue.delivery.readiness import Sight
    from hookrouter.queue.delivery.session_channels import SessionChannels
    from hookrouter.queue.delivery.session_queue import SessionQueue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["Attempts"]

_SHORTEST_RETRY, _LONGEST_RETRY = 0.1, 10.0
"""Seconds before a channel that found it was not the time is asked again: each time twice as long."""

_PERSON_RETRY = 3.0
"""The same while a person is at the keyboard."""


class Attempts:
    """The attempts of one session's deliverer. Its methods return the seconds until the next look; raise StoreError."""

    def __init__(self, queue: SessionQueue, channels: SessionChannels, evidence: Evidence) -> None:
        """``evidence`` is what waits for the proof of an item that was submitted."""
        self._queue = queue
        self._channels = channels
        self._evidence = evidence
        self._retry = 0.0
        self._not_before = 0.0
        self._refusals: dict[str, str] = {}
        self._asked_at = ("", "")

    def deliver_next(self, sight: Sight, record: SessionRecord) -> float:
        """Have the next item submitted if the session is ready for it."""
        item = sight.queue.next
        if item is None:
            return IDLE_LOOK
        if why_not_by_hooks(sight):
            if record.state == BUSY:
                self._channels.prepare(sight.queue, record)
            return self._look_again(sight, record)
        if self._asked_at != (item.id, record.since):
            self._retry, self._not_before, self._refusals = 0.0, 0.0, {}
        self._asked_at = (item.id, record.since)
        left = self._not_before - time.monotonic()
        return left if left > 0 else self._attempt(sight, record, item)

    def conclude(self, sight: Sight, record: SessionRecord, item: Item, outcome: PromptOutcome) -> float:
        """Do what the end of a channel's attempt asks for: try again later, or wait for the proof."""
        if outcome.status == PromptStatus.NOT_NOW:
            self._queue.put_back(item, outcome.reason)
            self._retry = min(max(self._retry * 2, _SHORTEST_RETRY), _LONGEST_RETRY)
            pause = max(self._retry, _PERSON_RETRY) if outcome.is_person else self._retry
            # The queue's change, which this made itself, ends no pause.
            self._not_before = time.monotonic() + pause
            return pause
        self._evidence.wait_for(sight, record, item, outcome)
        return 0.0

    def _look_again(self, sight: Sight, record: SessionRecord) -> float:
        """Return how long to wait while the session is not ready."""
        is_just_over = record.state != BUSY and (age(record, now()) < LAG_SECONDS or self._evidence.is_fresh)
        return QUICK_LOOK if is_just_over and not sight.dialogs and not sight.paused else LOOK

    def _attempt(self, sight: Sight, record: SessionRecord, item: Item) -> float:
        """Have the first channel that can carry the item submit it, once the session is ready for that channel."""
        refusals = []
        for channel in self._channels.listed():
            # What a channel has said once it has tried holds until the session's next event.
            reason = self._refusals.get(channel.name) or self._channels.refusal(channel, record, item)
            if reason:
                refusals.append(f"{channel.name}: {reason}")
                continue
            if why_not_by(channel, sight):
                return self._look_again(sight, record)
            begun = self._begin(record, item, channel)
            if begun is None or begun.state != DELIVERING:
                return 0.0
            outcome = self._channels.submit(channel, record, begun)
            if outcome.status == PromptStatus.REFUSED:
                refusals.append(f"{channel.name}: {outcome.reason}")
                self._refusals[channel.name] = outcome.reason
                self._queue.put_back(item, outcome.reason)
                continue
            return self.conclude(sight, record, begun, outcome)
        why = "; ".join(refusals) or "no channel of [sessions] channels is there"
        reason = f"no channel can submit it: {why}"
        self._queue.stop_at(sight, lambda queue: transitions.refused(queue, item.id, reason))
        return 0.0

    def _begin(self, record: SessionRecord, item: Item, channel: PromptChannel) -> Item | None:
        boot, name, exact = client_mark(record), channel.name, is_exact(channel)
        changed = self._queue.change(
            lambda queue: transitions.begun(queue, item.id, boot=boot, channel=name, exact=exact)
        )
        return changed.item(item.id)
