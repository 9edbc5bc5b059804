"""The attempts to deliver the next item: when, by which channel, and again after a while if it was not the time.

Knows the rule of readiness and what a channel's answer means for the item, and keeps its budget: what a channel puts in
in vain, or cannot bring into the session as it is, it leaves to the next one after some tries; what none can bring is
held; and what keeps an item back for long is told. How channels submit, what proves an item, and what follows its
start, it does not know.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.queue import transitions
from hookrouter.queue.channels import PromptStatus, is_exact
from hookrouter.queue.delivery.intervals import IDLE_LOOK, LOOK, QUICK_LOOK
from hookrouter.queue.delivery.lasting import Lasting
from hookrouter.queue.delivery.readiness import LAG_SECONDS, age, client_mark, kept_untold, why_not_by_hooks
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

_TRIES, _TRIED_SECONDS = 2, 20.0
"""How often a channel tries an item in vain, and how long after the first try by any of them, before that counts as a
refusal. A busy machine may spoil more than one try within some seconds."""

_TOLD_SECONDS = 40.0
"""Seconds after which it is told that an item is kept back: a person often goes on by then."""


class _Tried(NamedTuple):
    """What a channel has tried in vain with the next item."""

    times: int
    is_of_item: bool
    """Whether it is the item that cannot be brought, and not the session as it is."""


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
        self._tried: dict[str, _Tried] = {}
        self._tried_since = 0.0
        """When the first of these tries began, of ``time.monotonic()``."""
        self._asked_at = ("", "", "")
        self._kept = Lasting()
        self._told = ""
        """The id of the item that was told to be kept back."""

    def deliver_next(self, sight: Sight, record: SessionRecord) -> float:
        """Have the next item submitted if the session is ready for it."""
        item = sight.queue.next
        if item is None:
            return IDLE_LOOK
        if why_not_by_hooks(sight):
            if item.reason:
                # What kept it back at its last attempt is over.
                self._queue.change(lambda queue: transitions.reason_over(queue, item.id))
            if record.state == BUSY:
                self._channels.prepare(sight.queue, record)
            return self._look_again(sight, record, item)
        asked_at = (item.id, item.text, record.since)
        if self._asked_at != asked_at:
            self._retry, self._not_before, self._refusals, self._tried = 0.0, 0.0, {}, {}
        self._asked_at = asked_at
        left = self._not_before - time.monotonic()
        return left if left > 0 else self._attempt(sight, record, item)

    def conclude(
        self, sight: Sight, record: SessionRecord, item: Item, outcome: PromptOutcome, began: float | None = None
    ) -> float:
        """Do what the end of a channel's attempt asks for: try again later, or wait for the proof.

        ``began`` is when it did, of ``time.monotonic()``; None for just now.
        """
        if outcome.status == PromptStatus.NOT_NOW:
            self._queue.put_back(item, outcome.reason)
            self.keeps_back(sight, record, item, outcome.reason)
            # Where nothing was even begun, it is the session that cannot take it.
            if outcome.is_try and self._is_spent(item.channel, began, is_of_item=bool(outcome.steps)):
                self._refusals[item.channel] = f"it was tried again and again: {outcome.reason}"
            return self._retry_later(_PERSON_RETRY if outcome.is_person else 0.0)
        self._evidence.wait_for(sight, record, item, outcome)
        return 0.0

    def keeps_back(self, sight: Sight, record: SessionRecord, item: Item, reason: str) -> None:
        """Note what keeps an item back though the session is ready; tell of it, once, if that has lasted for long."""
        if self._kept.has_lasted(item.id, _TOLD_SECONDS) and self._told != item.id:
            self._told = item.id
            self._queue.tell_kept_back(sight, record, reason)

    def _is_spent(self, channel: str, began: float | None, *, is_of_item: bool) -> bool:
        """Count what a channel has tried in vain since ``began``; return whether the item was tried for long enough."""
        if not self._tried:
            self._tried_since = time.monotonic() if began is None else began
        times = self._tried[channel].times + 1 if channel in self._tried else 1
        self._tried[channel] = _Tried(times, is_of_item)
        return times >= _TRIES and time.monotonic() - self._tried_since >= _TRIED_SECONDS

    def _retry_later(self, least: float = 0.0) -> float:
        self._retry = min(max(self._retry * 2, _SHORTEST_RETRY), _LONGEST_RETRY)
        pause = max(self._retry, least)
        # The queue's change, which this made itself, ends no pause.
        self._not_before = time.monotonic() + pause
        return pause

    def _look_again(self, sight: Sight, record: SessionRecord, item: Item) -> float:
        """Return how long to wait while the session is not ready."""
        if why := kept_untold(sight):
            self.keeps_back(sight, record, item, why)
        else:
            self._kept.forget()
        is_just_over = record.state != BUSY and (age(record, now()) < LAG_SECONDS or self._evidence.is_fresh)
        return QUICK_LOOK if is_just_over and not sight.dialogs and not sight.paused else LOOK

    def _attempt(self, sight: Sight, record: SessionRecord, item: Item) -> float:
        """Have the first channel that can carry the item submit it, once the session is ready for that channel."""
        refusals, may_come = [], False
        for channel in self._channels.listed():
            # What a channel has said once it has tried holds until the session's next event.
            reason = self._refusals.get(channel.name) or self._channels.refusal(channel, record, item)
            if reason:
                refusals.append(f"{channel.name}: {reason}")
                continue
            if why_not_by(channel, sight):
                return self._look_again(sight, record, item)
            begun = self._begin(record, item, channel)
            if begun is None or begun.state != DELIVERING:
                return 0.0
            began = time.monotonic()
            outcome = self._channels.submit(channel, record, begun)
            if outcome.status not in (PromptStatus.REFUSED, PromptStatus.UNAVAILABLE):
                return self.conclude(sight, record, begun, outcome, began)
            self._queue.put_back(item, outcome.reason)
            refusals.append(f"{channel.name}: {outcome.reason}")
            if outcome.status == PromptStatus.REFUSED or self._is_spent(channel.name, began, is_of_item=False):
                self._refusals[channel.name] = outcome.reason
            else:
                may_come = True
        if may_come:
            return self._retry_later()
        why = "; ".join(refusals) or "no channel of [sessions] channels is there"
        is_of_item = all(tried.is_of_item for tried in self._tried.values())
        change = transitions.refused if is_of_item else transitions.undelivered
        self._queue.stop_at(sight, lambda queue: change(queue, item.id, f"no channel can submit it: {why}"))
        return 0.0

    def _begin(self, record: SessionRecord, item: Item, channel: PromptChannel) -> Item | None:
        boot, name, exact = client_mark(record), channel.name, is_exact(channel)
        changed = self._queue.change(
            lambda queue: transitions.begun(queue, item.id, boot=boot, channel=name, exact=exact)
        )
        return changed.item(item.id)
