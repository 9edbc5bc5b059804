"""The process that delivers a session's queue: one for each session, while something waits in its queue.

It stays from the first item to the last, so that the next item follows at once: whatever a hook notes wakes it. It may
be killed at any moment. What it does is noted before it is done, and the next one, which the session's next hook
starts, goes on from there: an item that it finds under way is submitted again only if its channel can tell that it was
not submitted.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from hookrouter.dialogs.transcript import client_version
from hookrouter.queue import transitions
from hookrouter.queue.channels import PreparingChannel, PromptOutcome, PromptRequest, PromptStatus, is_exact, sees_idle
from hookrouter.queue.delivering import (
    LAG_SECONDS,
    Sight,
    age,
    client_mark,
    is_over_unsaid,
    look_at,
    why_not,
    why_not_by_hooks,
    why_not_yet,
    why_withdrawn,
)
from hookrouter.queue.documents import change_queue, prune_ended, read_queue, watch_queue
from hookrouter.queue.failures import (
    CONTINUATION_SECONDS,
    LIMITED,
    FailedTurn,
    broken,
    failure_in,
    goes_on_by_itself,
    is_untouched,
)
from hookrouter.queue.items import COMMAND, DELIVERING, DONE, PROMPT, QUEUED, SHELL, STARTED
from hookrouter.queue.proof import Proof, is_interrupted, proof_by_records
from hookrouter.queue.spawn import LOCK, start_queue
from hookrouter.queue.telling import queue_emptied, queue_stopped, turn_failed
from hookrouter.sessions.records import BUSY, GONE, IDLE, change_record
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.clock import iso, now, seconds
from hookrouter.util.regular_file import last_lines
from hookrouter.util.text import describe_error, version_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.answering.interfaces import Screen, TerminalAddress, TerminalBackend
    from hookrouter.context import Services
    from hookrouter.queue.channels import PromptChannel
    from hookrouter.queue.documents import Hold, Queue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord
    from hookrouter.storage.interface import DocumentWatch

__all__ = ["QueueDeliverer"]

SUBMIT_SECONDS = 60.0
"""Seconds that a channel has to submit an item."""

_LOOK = 1.0
"""Seconds between two looks at what tells of no change: the registry, the client's process, dialogs."""
_QUICK_LOOK = 0.05
"""The same just after a turn's end, when the registry is about to follow."""
_RECORD_LOOK = 0.1
"""Seconds between two looks at the transcript while a record of it has to prove an item."""
_IDLE_LOOK = 5.0
"""Seconds between two looks while nothing is expected but a document's change."""
_SHORTEST_RETRY, _LONGEST_RETRY = 0.1, 10.0
"""Seconds before a channel that found it was not the time is asked again: each time twice as long."""
_PERSON_RETRY = 3.0
"""The same while a person is at the keyboard."""
_UNSAID_SECONDS = 1.5
"""Seconds for which the registry must call a session idle of whose turn's end no hook has told."""
_ENDLESS_SECONDS = 5.0
"""Seconds for which the client must be idle after a command has begun whose end no record tells."""
_PREPARED_ITEMS = 10
"""How many of the items that come next are prepared."""
_AT_REST = ("idle", "shell")
_BEGUN_UNSAID = "PromptSeen"
"""The ``event`` of a record whose turn has begun as the transcript alone tells."""
_UNSAID = "Interrupted"
"""The ``event`` of a record whose turn is over without a hook that has said so."""


class QueueDeliverer:
    """Delivers one session's queue until nothing is left, or something holds it."""

    def __init__(self, services: Services, session: str, is_outdated: Callable[[], bool] = lambda: False) -> None:
        """``is_outdated`` says whether another process, which begins anew, is to go on between two items."""
        self._services = services
        self._store = services.store
        self._session = session
        self._is_outdated = is_outdated
        self._watches: tuple[DocumentWatch, ...] = ()
        self._retry = 0.0
        self._not_before = 0.0
        self._refusals: dict[str, str] = {}
        self._asked_at = ("", "")
        self._said = ("", "")
        self._unsaid: tuple[str, float] | None = None
        self._quick_until = 0.0
        self._prepared: set[str] = set()

    def run(self) -> None:
        """Deliver. Returns at once if another process does. Raises StoreError."""
        while True:
            try:
                with self._store.lock(LOCK, self._session, 0.0):
                    goes_on = self._deliver()
            except StoreBusy:
                return
            if goes_on:
                start_queue(self._services, self._session)
                return
            # What was put in while the lock was held, and this process had looked for the last time.
            if not self._is_wanted():
                prune_ended(self._store)
                return

    def _is_wanted(self) -> bool:
        sight = look_at(self._services, self._session)
        has_client = sight.record is not None and not sight.is_gone
        return has_client and bool(sight.queue.items) and not _is_held_for_good(sight.queue)

    def _deliver(self) -> bool:
        """Deliver until there is nothing to do; return whether another process is to go on."""
        queue_watch, record_watch = watch_queue(self._store, self._session), self._store.watch("session", self._session)
        with queue_watch, record_watch:
            self._watches = (queue_watch, record_watch)
            while True:
                sight = look_at(self._services, self._session)
                pause = self._step(sight)
                if pause is None:
                    return False
                if pause and self._is_outdated() and not _is_delivering(sight.queue):
                    return True
                self._wait(pause)

    def _step(self, sight: Sight) -> float | None:
        """Do what is to be done now; return how long to wait for a change before the next step, None for the end."""
        queue = sight.queue
        if not queue.items:
            return None
        if sight.record is None:
            return None
        if sight.is_gone:
            self._client_ended(sight)
            return None
        if sight.client is not None and sight.client.parked_job and not _is_held_for_good(queue):
            self._stop(sight, transitions.session_parked)
            return None
        item = queue.under_way
        if item is not None and item.state == DELIVERING:
            return self._recover(sight, item)
        if item is not None:
            return self._follow(sight, item, sight.record)
        if _is_held_for_good(queue):
            return None
        if self._is_interrupted(sight):
            return self._interrupted(sight)
        if queue.hold is not None:
            return self._wait_for_hold(queue)
        return self._next(sight, sight.record)

    # --- between two items

    def _next(self, sight: Sight, record: SessionRecord) -> float:
        item = sight.queue.next
        if item is None:
            return _IDLE_LOOK
        if why_not_by_hooks(sight):
            if record.state == BUSY:
                self._prepare(sight.queue, record)
            return self._look_again(sight, record)
        if self._asked_at != (item.id, record.since):
            self._retry, self._not_before, self._refusals = 0.0, 0.0, {}
        self._asked_at = (item.id, record.since)
        left = self._not_before - time.monotonic()
        return left if left > 0 else self._attempt(sight, record, item)

    def _look_again(self, sight: Sight, record: SessionRecord) -> float:
        """Return how long to wait while the session is not ready."""
        is_just_over = record.state != BUSY and (
            age(record, now()) < LAG_SECONDS or time.monotonic() < self._quick_until
        )
        return _QUICK_LOOK if is_just_over and not sight.dialogs and not sight.paused else _LOOK

    def _attempt(self, sight: Sight, record: SessionRecord, item: Item) -> float:
        """Have the first channel that can carry the item submit it, once the session is ready for that channel."""
        refusals = []
        for channel in self._channels():
            # What a channel has said once it has tried holds until the session's next event.
            reason = self._refusals.get(channel.name) or _asked(channel, self._request(record, item, channel))
            if reason:
                refusals.append(f"{channel.name}: {reason}")
                continue
            if _why_not(sight, channel):
                return self._look_again(sight, record)
            begun = self._begin(record, item, channel)
            if begun is None or begun.state != DELIVERING:
                return 0.0
            outcome = self._submit(channel, record, begun)
            if outcome.status == PromptStatus.REFUSED:
                refusals.append(f"{channel.name}: {outcome.reason}")
                self._refusals[channel.name] = outcome.reason
                self._put_back(item, outcome.reason)
                continue
            return self._after(sight, record, begun, outcome)
        why = "; ".join(refusals) or "no channel of [sessions] channels is there"
        reason = f"no channel can submit it: {why}"
        self._stop_at(sight, lambda queue: transitions.refused(queue, item.id, reason))
        return 0.0

    def _begin(self, record: SessionRecord, item: Item, channel: PromptChannel) -> Item | None:
        boot, name, exact = client_mark(record), channel.name, is_exact(channel)
        return self._change(lambda queue: transitions.begun(queue, item.id, boot=boot, channel=name, exact=exact)).item(
            item.id
        )

    def _put_back(self, item: Item, reason: str) -> None:
        self._change(lambda queue: transitions.not_now(queue, item.id, reason))

    def _after(self, sight: Sight, record: SessionRecord, item: Item, outcome: PromptOutcome) -> float:
        """Do what the end of a channel's attempt asks for."""
        if outcome.status == PromptStatus.NOT_NOW:
            self._put_back(item, outcome.reason)
            self._retry = min(max(self._retry * 2, _SHORTEST_RETRY), _LONGEST_RETRY)
            pause = max(self._retry, _PERSON_RETRY) if outcome.is_person else self._retry
            # The queue's change, which this made itself, ends no pause.
            self._not_before = time.monotonic() + pause
            return pause
        self._await_proof(sight, record, item, outcome)
        return 0.0

    def _submit(self, channel: PromptChannel, record: SessionRecord, item: Item) -> PromptOutcome:
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
        self._journal(
            record,
            item,
            outcome.status,
            channel=channel.name,
            reason=outcome.reason,
            steps=list(outcome.steps),
            seconds=round(time.monotonic() - started, 3),
        )
        return outcome

    def _channels(self) -> list[PromptChannel]:
        there = self._services.plugins.prompt_channels()
        return [there[name] for name in self._services.config.sessions.channels if name in there]

    def _request(self, record: SessionRecord, item: Item, channel: PromptChannel) -> PromptRequest:
        terminal = _backend(self._services, record.terminal)
        return PromptRequest(
            item=item,
            session=self._session,
            session_id=record.session_id,
            client_pid=record.client_pid,
            client_version=self._client_version(record),
            folder=record.cwd,
            transcript_path=record.transcript_path,
            address=record.terminal if terminal is not None else None,
            terminal=terminal,
            store=self._store,
            deadline=time.monotonic() + SUBMIT_SECONDS,
            save_phase=lambda phase: self._save_phase(item, phase),
            is_proven=lambda: self._is_proven(record, item),
            stopped=lambda: self._stopped(item, lambda sight: _why_not(sight, channel)),
            withdrawn=lambda: self._stopped(item, why_withdrawn),
            settings=self._services.settings,
            home=self._services.home,
        )

    def _client_version(self, record: SessionRecord) -> tuple[int, ...] | None:
        """Return the client's version: the registry's, else the transcript's, which begins with the first turn."""
        client = look_at(self._services, self._session).client
        version = None if client is None else version_numbers(client.version)
        return version or client_version(record.transcript_path)

    # --- what a channel asks while it submits

    def _save_phase(self, item: Item, phase: str) -> None:
        """See ``PromptRequest.save_phase``. Raises StoreError."""
        kept = self._change(lambda queue: transitions.phase_saved(queue, item.id, phase)).item(item.id)
        if kept is None or kept.state != DELIVERING or kept.phase != phase:
            raise StoreError(f"the item {item.id} is not being delivered any more")

    def _is_proven(self, record: SessionRecord, item: Item) -> bool:
        kept = read_queue(self._store, self._session).item(item.id)
        if kept is None or kept.state != DELIVERING:
            return kept is None or kept.state == STARTED
        return self._by_records(record, kept)

    def _stopped(self, item: Item, why: Callable[[Sight], str]) -> str:
        sight = look_at(self._services, self._session)
        kept = sight.queue.item(item.id)
        if kept is None or kept.state != DELIVERING:
            return "the item is not being delivered any more"
        return why(sight)

    # --- an item that is under way

    def _recover(self, sight: Sight, item: Item) -> float:
        """Go on with a delivery whose deliverer has ended in the middle of it."""
        record = sight.record
        if record is None or item.boot != client_mark(record):
            reason = "the delivery was begun for a client that is not there any more"
            self._stop_at(sight, lambda queue: transitions.client_lost(queue, reason))
            return 0.0
        if self._by_records(record, item):
            return 0.0
        self._prepare(sight.queue, record)
        channel = next((one for one in self._channels() if one.name == item.channel), None)
        if channel is None and not item.phase:
            self._put_back(item, "its delivery is begun anew")
            return 0.0
        if channel is None:
            reason = f"its channel, {item.channel}, is not there any more, and may have submitted it"
            self._stop_at(sight, lambda queue: transitions.unproven(queue, item.id, reason))
            return 0.0
        if item.phase and self._may_be_taken(sight, item):
            return _RECORD_LOOK
        outcome = self._submit(channel, record, item)
        if item.phase and outcome.status == PromptStatus.NOT_NOW:
            # This says nothing of the attempt that was cut off. Until that is decided the item is not one that waits.
            if self._is_young(item):
                return _RECORD_LOOK
            if not _is_held_for_good(sight.queue):
                return _LOOK
            reason = f"its delivery was cut off, and it may have been submitted; since then: {outcome.reason}"
            self._stop_at(sight, lambda queue: transitions.unproven(queue, item.id, reason))
            return 0.0
        if outcome.status == PromptStatus.REFUSED:
            self._put_back(item, outcome.reason)
            return _LOOK
        return self._after(sight, record, item, outcome)

    def _may_be_taken(self, sight: Sight, item: Item) -> bool:
        """Whether what is going on may be the item itself, of which nothing has come yet that proves it."""
        return self._is_young(item) and sight.queue.hold is None and why_not(sight) != ""

    def _is_young(self, item: Item) -> bool:
        begun = seconds(item.delivering_at)
        return begun is not None and 0 <= now() - begun < self._services.config.sessions.proof_wait

    def _await_proof(self, sight: Sight, record: SessionRecord, item: Item, outcome: PromptOutcome) -> None:
        """Wait until the item is proven; hold the queue if that does not come in time."""
        patience = self._services.config.sessions.proof_wait
        deadline = time.monotonic() + patience
        while (left := deadline - time.monotonic()) > 0:
            kept = read_queue(self._store, self._session).item(item.id)
            if kept is None or kept.state != DELIVERING or self._by_records(record, kept):
                return
            self._wait(min(left, _RECORD_LOOK if item.kind != PROMPT else _LOOK))
        what = "it was submitted" if outcome.status == PromptStatus.SUBMITTED else "it may have been submitted"
        reason = f"{what} by {item.channel}, and nothing has proven it within {patience:g} s: {outcome.reason}"
        self._stop_at(sight, lambda queue: transitions.unproven(queue, item.id, reason))

    def _follow(self, sight: Sight, item: Item, record: SessionRecord) -> float:
        """Wait for the end of an item that has started."""
        self._prepare(sight.queue, record)
        if item.kind in (COMMAND, SHELL) and self._by_records(record, item):
            return 0.0
        if self._is_interrupted(sight):
            return self._interrupted(sight)
        if item.kind == SHELL and record.state != BUSY and self._is_shell_over(sight, item):
            changed = self._changed(lambda queue: transitions.proven(queue, item.id, Proof(DONE, {})))
            self._tell_end(*changed, record)
            return 0.0
        if item.kind != PROMPT and record.state != BUSY:
            if self._has_no_end(sight, item):
                reason = "it has begun, and nothing tells of its end, though the client is idle"
                self._stop_at(sight, lambda queue: transitions.endless(queue, item.id, reason))
                return 0.0
            return _RECORD_LOOK
        return _LOOK

    def _prepare(self, queue: Queue, record: SessionRecord) -> None:
        """Have the channels of what comes next get ready, once for each item."""
        waiting = [item for item in queue.items if item.state == QUEUED][:_PREPARED_ITEMS]
        for item in waiting:
            if item.id in self._prepared:
                continue
            self._prepared.add(item.id)
            asked = ((one, self._request(record, item, one)) for one in self._channels())
            channel, request = next((one for one in asked if not _asked(*one)), (None, None))
            if isinstance(channel, PreparingChannel) and request is not None:
                try:
                    channel.prepare(request)
                except Exception as error:  # noqa: BLE001 - it is a plugin's, and is asked to submit the item later
                    reason = describe_error(error)
                    self._services.warn(f"the prompt channel {channel.name} is not prepared: {reason}")

    def _has_no_end(self, sight: Sight, item: Item) -> bool:
        """Whether the client has been idle for a while since a command began whose end its records must tell."""
        client = sight.client
        if client is None or client.status not in _AT_REST or item.kind != COMMAND:
            return False
        if client.changed_at and client.changed_at < item.started_at:
            return False
        return self._has_lasted(item.id, _ENDLESS_SECONDS)

    def _has_lasted(self, what: str, long: float) -> bool:
        """Whether something has been seen for so many seconds, at each look since the first."""
        if self._unsaid is None or self._unsaid[0] != what:
            self._unsaid = (what, time.monotonic())
        return time.monotonic() - self._unsaid[1] >= long

    def _is_shell_over(self, sight: Sight, item: Item) -> bool:
        """Whether a shell command has ended, and Claude is not asked about it (2.1.150 does not, 2.1.330 does).

        With a registry: it has been idle for longer than it takes to turn to the next thing. Without one nothing more
        can be known.
        """
        if "output" not in item.proof:
            return False
        ended = seconds(item.proof.get("at"))
        client = sight.client
        return client is None or (client.status in _AT_REST and ended is not None and now() - ended > _LOOK)

    def _by_records(self, record: SessionRecord, item: Item) -> bool:
        """Note what the transcript proves of an item that is under way; return whether it has changed by that."""
        lines = last_lines(record.transcript_path)
        proof = proof_by_records(item, lines, item.delivering_at)
        if proof is None:
            return False
        is_news = any(item.proof.get(key) != value for key, value in proof.said.items())
        if item.state == STARTED and proof.state == STARTED and not is_news:
            return False
        changed = self._changed(lambda queue: transitions.proven(queue, item.id, proof))
        self._tell_end(*changed, record)
        if item.kind == PROMPT and item.state == DELIVERING and proof.state == STARTED:
            self._turn_begun_unsaid(item)
        self._quick_until = time.monotonic() + LAG_SECONDS
        return True

    def _turn_begun_unsaid(self, item: Item) -> None:
        """Note that the turn of a prompt has begun of which no hook has told; it may be over already."""

        def changed(there: SessionRecord | None) -> SessionRecord | None:
            if there is None or there.state != IDLE or there.since >= item.delivering_at:
                return there
            return there._replace(state=BUSY, since=iso(), event=_BEGUN_UNSAID)

        record = change_record(self._store, self._session, changed)
        if record is not None and record.state == IDLE:
            self._tell_end(*self._changed(transitions.turn_ended), record)

    # --- what stops a queue

    def _is_interrupted(self, sight: Sight) -> bool:
        """Whether a turn has ended without any hook, as after Escape: for longer than a hook may be late."""
        record = sight.record
        if record is None or record.state != BUSY:
            return False
        if sight.client is None or not sight.client.status:
            return self._is_interruption_recorded(record)
        if not is_over_unsaid(sight):
            self._unsaid = None
            return False
        return self._has_lasted(record.since, _UNSAID_SECONDS)

    def _is_interruption_recorded(self, record: SessionRecord) -> bool:
        return is_interrupted(last_lines(record.transcript_path, 1 << 16), record.since)

    def _interrupted(self, sight: Sight) -> float:
        record = sight.record
        self._unsaid = None
        if record is None:
            return _LOOK
        lines = last_lines(record.transcript_path)
        # Without StopFailure, which older clients have not and not every installation registers, the transcript tells.
        failure = failure_in(lines, seconds(record.since) or 0.0)
        changed = self._turn_over(record, lambda one: one if failure is None else broken(one, failure))
        if changed is None:
            return 0.0
        if failure is not None:
            self._turn_failed(changed, FailedTurn(self._store, failure, untouched=is_untouched(lines), at=now()))
        elif record.event == "Stop":
            # Something of the turn was still running in the background then, and is over.
            self._tell_end(*self._changed(transitions.turn_ended), changed)
        else:
            reason = "Claude was stopped, as Escape does: its turn is over, and no hook has said so"
            self._stop(sight, lambda queue: transitions.interrupted(queue, reason))
        return 0.0

    def _turn_over(
        self, record: SessionRecord, change: Callable[[SessionRecord], SessionRecord]
    ) -> SessionRecord | None:
        """Note that a turn is over of whose end no hook has told; None if one has, meanwhile."""
        changed = change_record(
            self._store,
            self._session,
            lambda there: (
                there
                if there is None or there.since != record.since
                else change(there._replace(state=IDLE, since=iso(), event=_UNSAID))
            ),
        )
        return changed if changed is not None and changed.event == _UNSAID else None

    def _turn_failed(self, record: SessionRecord, change: FailedTurn) -> None:
        before, after = self._changed(change)
        ended = tuple(item for item in before.items if after.item(item.id) is None)
        turn_failed(self._services, after, record, change.decision, ended)

    def _client_ended(self, sight: Sight) -> None:
        self._stop(sight, lambda queue: transitions.client_ended(queue, "the session's client has ended"))
        change_record(
            self._store,
            self._session,
            lambda record: (
                record
                if record is None or record.state == GONE
                else record._replace(state=GONE, since=iso(), event="ClientGone")
            ),
        )

    def _stop_at(self, sight: Sight, change: Callable[[Queue], Queue]) -> None:
        """Hold the queue because of an item, and tell; with what the session shows."""
        self._stop(sight, change, self._screen(sight.record))

    def _stop(self, sight: Sight, change: Callable[[Queue], Queue], screen: Screen | None = None) -> None:
        before, after = self._changed(change)
        if after.hold is None or after == before:
            return
        ended = tuple(item for item in before.items if after.item(item.id) is None)
        client = look_at(self._services, self._session).client
        status = "" if client is None else f"{client.status} {client.waiting_for}".strip()
        queue_stopped(self._services, after, sight.record, items=ended, status=status, screen=screen)

    def _screen(self, record: SessionRecord | None) -> Screen | None:
        address = None if record is None else record.terminal
        backend = _backend(self._services, address)
        if backend is None or address is None:
            return None
        try:
            return backend.capture(address)
        except Exception as error:  # noqa: BLE001 - it is a plugin's, and what it would show is for a person only
            self._services.warn(
                f"the screen of session {self._session} could not be looked at: {describe_error(error)}"
            )
            return None

    def _wait_for_hold(self, queue: Queue) -> float:
        """A hold with an end: go on once it has come."""
        hold = queue.hold
        until = None if hold is None else seconds(hold.until)
        left = 0.0 if until is None else until - now()
        if left > 0:
            return min(left, _IDLE_LOOK)
        if hold is not None and left > -CONTINUATION_SECONDS and self._goes_on_by_itself(hold):
            return _LOOK
        self._change(lambda now_there: now_there._replace(hold=None) if now_there.hold == hold else now_there)
        return 0.0

    def _goes_on_by_itself(self, hold: Hold) -> bool:
        """Whether the client itself is about to go on after a usage limit: nothing may come in its way then."""
        record = look_at(self._services, self._session).record
        return hold.cause == LIMITED and record is not None and goes_on_by_itself(last_lines(record.transcript_path))

    def _tell_end(self, before: Queue, after: Queue, record: SessionRecord) -> None:
        """Tell what the end of an item that no hook tells has made of the queue: it is done, or held."""
        ended = tuple(item for item in before.items if after.item(item.id) is None)
        if after.hold is not None and after.hold != before.hold:
            queue_stopped(self._services, after, record, items=ended)
        elif ended and not after.items:
            queue_emptied(self._services, after, record, ended)

    # --- tools

    def _change(self, change: Callable[[Queue], Queue]) -> Queue:
        return change_queue(self._store, self._session, change)

    def _changed(self, change: Callable[[Queue], Queue]) -> tuple[Queue, Queue]:
        """Change the queue; return it as it was under the lock, and with the change, ended items left out."""
        seen: list[Queue] = []

        def apply(queue: Queue) -> Queue:
            seen.append(queue)
            return change(queue)

        after = self._change(apply)
        return seen[0], after

    def _wait(self, patience: float) -> None:
        """Wait for a change of the queue or of the session's record."""
        if patience <= 0:
            return
        poll = select.poll()
        watched = [watch for watch in self._watches if watch.fileno() >= 0]
        for watch in watched:
            poll.register(watch.fileno(), select.POLLIN)
        if len(watched) < len(self._watches):
            # An engine that cannot tell is asked from time to time.
            patience = min(patience, _RECORD_LOOK)
        deadline = time.monotonic() + patience
        while (left := deadline - time.monotonic()) > 0:
            if not poll.poll(left * 1000):
                break
            # Each of them: it is asked what it was told of.
            changed = [watch.wait(0) for watch in self._watches]
            if any(changed):
                return
        for watch in self._watches:
            watch.wait(0)

    def _journal(self, record: SessionRecord, item: Item, outcome: str, **more: object) -> None:
        entry: dict[str, object] = {"level": "info", "event": "queue", "session": self._session, "item": item.id}
        entry |= {"session_id": record.session_id, "outcome": outcome, **more}
        self._services.journal.write(entry, record.session_id or None)


def _why_not(sight: Sight, channel: PromptChannel) -> str:
    """Return why a channel may not submit anything now; empty if it may."""
    return why_not_yet(sight, now()) if sees_idle(channel) else why_not(sight)


def _asked(channel: PromptChannel, request: PromptRequest) -> str:
    try:
        return channel.refusal(request)
    except Exception as error:  # noqa: BLE001 - it is a plugin's
        return f"it failed: {describe_error(error)}"


def _backend(services: Services, address: TerminalAddress | None) -> TerminalBackend | None:
    return None if address is None else services.plugins.terminal_backends().get(address.backend)


def _is_held_for_good(queue: Queue) -> bool:
    return queue.hold is not None and not queue.hold.until


def _is_delivering(queue: Queue) -> bool:
    item = queue.under_way
    return item is not None and item.state == DELIVERING
