"""The attempts to deliver an item: when, by which channel, again after a while, and on from where one was cut off.

Knows the channels of a session, what one is given and what its answer means for the item, and keeps its budget: what a
channel puts in in vain, or cannot bring into the session as it is, it leaves to the next one after some tries; what
none can bring is held; what keeps an item back for long is told. Channels are plugins' and may fail in any way. How
they submit, what proves an item, and what follows its start, it does not know.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs.transcript import client_version
from hookrouter.queue import transitions
from hookrouter.queue.channels import PromptOutcome, PromptRequest, PromptStatus, prompt_channels
from hookrouter.queue.delivery.evidence import LOOK, RECORD_LOOK, Lasting
from hookrouter.queue.delivery.sight import (
    LAG_SECONDS,
    age,
    backend_of,
    client_mark,
    is_held_for_good,
    kept_untold,
    why_not,
    why_not_by_hooks,
    why_not_yet,
    why_withdrawn,
)
from hookrouter.queue.items import DELIVERING, QUEUED
from hookrouter.sessions.records import BUSY, client_here
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import now, seconds
from hookrouter.util.text import describe_error, version_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.queue.channels import PromptChannel
    from hookrouter.queue.delivery.evidence import Evidence
    from hookrouter.queue.delivery.sight import SessionQueue, Sight
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["IDLE_LOOK", "SUBMIT_SECONDS", "Attempts", "SessionChannels"]

QUICK_LOOK = 0.05
"""Seconds between two looks just after a turn's end, when the registry is about to follow."""

IDLE_LOOK = 5.0
"""Seconds between two looks while nothing is expected but a document's change."""

SUBMIT_SECONDS = 60.0
"""Seconds that a channel has to submit an item."""

_PREPARED_ITEMS = 10
"""How many of the items that come next are prepared."""

_SHORTEST_RETRY, _LONGEST_RETRY = 0.1, 10.0
"""Seconds before a channel that found it was not the time is asked again: each time twice as long."""

_PERSON_RETRY = 3.0
"""The same while a person is at the keyboard."""

_TRIES, _TRIED_SECONDS = 2, 20.0
"""How often a channel tries an item in vain, and how long after the first try by any of them, before that counts as a
refusal. A busy machine may spoil more than one try within some seconds."""

_TOLD_SECONDS = 40.0
"""Seconds after which it is told that an item is kept back: a person often goes on by then."""


class SessionChannels:
    """The channels of ``[sessions] channels`` that are there, for one session."""

    def __init__(self, queue: SessionQueue, evidence: Evidence) -> None:
        """``evidence`` is what a channel asks whether its item is proven."""
        self._queue = queue
        self._services = queue.services
        self._evidence = evidence
        self._said = ("", "")
        self._prepared: set[str] = set()

    def listed(self) -> list[PromptChannel]:
        """Return the channels in the order in which they are asked."""
        there = prompt_channels(self._services.plugins)
        return [there[name] for name in self._services.config.sessions.channels if name in there]

    def refusal(self, channel: PromptChannel, record: SessionRecord, item: Item) -> str:
        """Return why a channel cannot carry an item, in one sentence; empty if it can."""
        return _refusal(channel, self._request(record, item, channel))

    def submit(self, channel: PromptChannel, record: SessionRecord, item: Item) -> PromptOutcome:
        """Have a channel submit an item that is being delivered, and write down what it did. Raises StoreError."""
        request = self._request(record, item, channel)
        started = time.monotonic()
        try:
            outcome = channel.submit(request)
        except Exception as error:  # noqa: BLE001 - it is a plugin's, and nobody knows what it has done
            outcome = PromptOutcome(
                PromptStatus.UNCERTAIN, f"the channel {channel.name} failed: {describe_error(error)}"
            )
        # The same answer to the same question, which is asked again and again, is written once.
        said, self._said = self._said, (item.id, outcome.reason)
        if outcome.status == PromptStatus.NOT_NOW and said == self._said:
            return outcome
        self._queue.write_journal(
            record,
            item,
            outcome.status,
            channel=channel.name,
            reason=outcome.reason,
            steps=list(outcome.steps),
            seconds=round(time.monotonic() - started, 3),
        )
        return outcome

    def prepare(self, queue: Queue, record: SessionRecord) -> None:
        """Have the channels of what comes next get ready, once for each item."""
        waiting = [item for item in queue.items if item.state == QUEUED][:_PREPARED_ITEMS]
        for item in waiting:
            if item.id in self._prepared:
                continue
            self._prepared.add(item.id)
            asked = ((one, self._request(record, item, one)) for one in self.listed())
            channel, request = next((one for one in asked if not _refusal(*one)), (None, None))
            if channel is not None and request is not None:
                try:
                    channel.prepare(request)
                except Exception as error:  # noqa: BLE001 - it is a plugin's, and is asked to submit the item later
                    reason = describe_error(error)
                    self._services.warn(f"the prompt channel {channel.name} is not prepared: {reason}")

    def _request(self, record: SessionRecord, item: Item, channel: PromptChannel) -> PromptRequest:
        """Return all that a channel needs to submit an item now."""
        terminal = backend_of(self._services, record)
        return PromptRequest(
            item=item,
            session=self._queue.session,
            session_id=record.session_id,
            client_pid=client_here(record),
            client_version=self._client_version(record),
            folder=record.cwd,
            transcript_path=record.transcript_path,
            address=record.terminal if terminal is not None else None,
            terminal=terminal,
            store=self._queue.store,
            deadline=time.monotonic() + SUBMIT_SECONDS,
            save_phase=lambda phase: self._save_phase(item, phase),
            is_proven=lambda: self._evidence.is_proven(record, item),
            stopped=lambda: self._stopped(item, lambda sight: _why_not_by(channel, sight)),
            withdrawn=lambda: self._stopped(item, why_withdrawn),
            settings=self._services.settings,
            home=self._services.home,
        )

    def _client_version(self, record: SessionRecord) -> tuple[int, ...] | None:
        """Return the client's version: the registry's, else the transcript's, which begins with the first turn."""
        client = self._queue.look().client
        version = None if client is None else version_numbers(client.version)
        return version or client_version(record.transcript_path)

    def _save_phase(self, item: Item, phase: str) -> None:
        """See ``PromptRequest.save_phase``. Raises StoreError."""
        kept = self._queue.change(lambda queue: transitions.phase_saved(queue, item.id, phase)).item(item.id)
        if kept is None or kept.state != DELIVERING or kept.phase != phase:
            raise StoreError(f"the item {item.id} is not being delivered any more")

    def _stopped(self, item: Item, why: Callable[[Sight], str]) -> str:
        sight = self._queue.look()
        kept = sight.queue.item(item.id)
        if kept is None or kept.state != DELIVERING:
            return "the item is not being delivered any more"
        return why(sight)


def _refusal(channel: PromptChannel, request: PromptRequest) -> str:
    try:
        return channel.refusal(request)
    except Exception as error:  # noqa: BLE001 - it is a plugin's
        return f"it failed: {describe_error(error)}"


def _why_not_by(channel: PromptChannel, sight: Sight) -> str:
    """Return why a channel may not submit anything now; empty if it may."""
    return why_not_yet(sight, now()) if channel.sees_idle else why_not(sight)


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
            self._queue.put_back(item, "its delivery starts over")
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
            self.keeps_back(sight, record, item, outcome.reason)
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
        return self.conclude(sight, record, item, outcome)

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
            if _why_not_by(channel, sight):
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
        boot, name, exact = client_mark(record), channel.name, channel.is_exact
        changed = self._queue.change(
            lambda queue: transitions.begun(queue, item.id, boot=boot, channel=name, exact=exact)
        )
        return changed.item(item.id)

    def _may_be_taken(self, sight: Sight, item: Item) -> bool:
        """Whether what is going on may be the item itself, of which nothing has come yet that proves it."""
        return self._is_young(item) and sight.queue.hold is None and why_not(sight) != ""

    def _is_young(self, item: Item) -> bool:
        begun = seconds(item.delivering_at)
        return begun is not None and 0 <= now() - begun < self._queue.services.config.sessions.proof_wait
