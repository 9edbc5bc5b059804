"""What has become of an item that was submitted, of its turn and of the client, of which no hook may tell.

The proof of an item by the transcript, its end, the ends of turns by Escape or an error, a client that is gone: what
the registry and the transcript say of them, and what they make of the queue. What a record means is said in
:mod:`hookrouter.queue.proof`. Nothing here knows a channel: how an item came into the session makes no difference.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.channels import PromptStatus
from hookrouter.queue.delivery.sight import AT_REST, LAG_SECONDS, is_over_unsaid
from hookrouter.queue.failures import FailedTurn, broken, failure_in, is_untouched
from hookrouter.queue.items import COMMAND, DELIVERING, DONE, PROMPT, SHELL, STARTED
from hookrouter.queue.proof import Proof, is_interrupted, proof_by_records
from hookrouter.sessions.records import BUSY, GONE, IDLE, change_record
from hookrouter.util.clock import iso, now, seconds
from hookrouter.util.regular_file import last_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.queue.channels import PromptOutcome
    from hookrouter.queue.delivery.sight import SessionQueue, Sight
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord
    from hookrouter.storage.interface import DocumentStore

__all__ = ["LOOK", "RECORD_LOOK", "Evidence", "Following", "Lasting"]

LOOK = 1.0
"""Seconds between two looks at what tells of no change: the registry, the client's process, dialogs."""

RECORD_LOOK = 0.1
"""Seconds between two looks at the transcript while a record of it has to prove an item."""

_ENDLESS_SECONDS = 5.0
"""Seconds for which the client must be idle after a command has begun whose end no record tells."""

_UNSAID_SECONDS = 1.5
"""Seconds for which the registry must call a session idle of whose turn's end no hook has told."""

_BEGUN = "PromptSeen"
"""The ``event`` of a record whose turn has begun as the transcript alone tells."""
_OVER = "Interrupted"
"""The ``event`` of a record whose turn is over without a hook that has said so."""
_GONE = "ClientGone"
"""The ``event`` of a record whose client has ended without a word."""


class Lasting:
    """Remembers since when the last thing that was asked about has been seen; another one takes its place."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self._what = ""
        self._since: float | None = None

    def has_lasted(self, what: str, long: float) -> bool:
        """Whether something has been seen for so many seconds, at each look since the first."""
        if self._since is None or self._what != what:
            self._what, self._since = what, time.monotonic()
        return time.monotonic() - self._since >= long

    def forget(self) -> None:
        """Begin anew: it was not seen this time."""
        self._since = None


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
        record = _note_turn_begun(self._queue.store, self._queue.session, item.delivering_at)
        if record is not None and record.state == IDLE:
            self._queue.change_and_tell(transitions.turn_ended, record)


class Following:
    """The ends of one session's items and turns, and of its client. Its methods raise StoreError."""

    def __init__(self, queue: SessionQueue, evidence: Evidence) -> None:
        """Nothing has been seen yet."""
        self._queue = queue
        self._evidence = evidence
        # Of a session one thing at a time is watched.
        self._lasting = Lasting()

    def follow(self, sight: Sight, item: Item, record: SessionRecord) -> float:
        """Note the end of an item if it has come; return the seconds until the next look. Raises StoreError."""
        if item.kind in (COMMAND, SHELL) and self._evidence.note(record, item):
            return 0.0
        if self.is_turn_over(sight):
            return self.end_turn(sight)
        if item.kind == SHELL and record.state != BUSY and _is_shell_over(sight, item):
            self._queue.change_and_tell(lambda queue: transitions.proven(queue, item.id, Proof(DONE, {})), record)
            return 0.0
        if item.kind != PROMPT and record.state != BUSY:
            if self._has_no_end(sight, item):
                reason = "it has begun, and nothing tells of its end, though the client is idle"
                self._queue.stop_at(sight, lambda queue: transitions.endless(queue, item.id, reason))
                return 0.0
            return RECORD_LOOK
        return LOOK

    def is_turn_over(self, sight: Sight) -> bool:
        """Whether a turn has ended without any hook, as after Escape: for longer than a hook may be late."""
        record = sight.record
        if record is None or record.state != BUSY:
            return False
        if sight.client is None or not sight.client.status:
            return is_interrupted(last_lines(record.transcript_path, 1 << 16), record.since)
        if not is_over_unsaid(sight):
            self._lasting.forget()
            return False
        return self._lasting.has_lasted(record.since, _UNSAID_SECONDS)

    def end_turn(self, sight: Sight) -> float:
        """Note that a turn is over: failed, done or interrupted. Returns the seconds until the next look."""
        record = sight.record
        self._lasting.forget()
        if record is None:
            return LOOK
        lines = last_lines(record.transcript_path)
        # Without StopFailure, which older clients have not and not every installation registers, the transcript tells.
        failure = failure_in(lines, seconds(record.since) or 0.0)
        changed = _note_turn_over(
            self._queue.store,
            self._queue.session,
            record,
            lambda one: one if failure is None else broken(one, failure),
        )
        if changed is None:
            return 0.0
        if failure is not None:
            turn = FailedTurn(self._queue.store, failure, untouched=is_untouched(lines), at=now())
            self._queue.fail_turn(changed, turn)
        elif record.event == "Stop":
            # Something of the turn was still running in the background then, and is over.
            self._queue.change_and_tell(transitions.turn_ended, changed)
        else:
            reason = "Claude was stopped, as Escape does: its turn is over, and no hook has said so"
            self._queue.stop(sight, lambda queue: transitions.interrupted(queue, reason))
        return 0.0

    def end_client(self, sight: Sight) -> None:
        """Hold what a client has left that is gone, and note that it is."""
        self._queue.stop(sight, lambda queue: transitions.client_ended(queue, "the session's client has ended"))
        _note_client_gone(self._queue.store, self._queue.session)

    def _has_no_end(self, sight: Sight, item: Item) -> bool:
        """Whether the client has been idle for a while since a command began whose end its records must tell."""
        client = sight.client
        if client is None or client.status not in AT_REST or item.kind != COMMAND:
            return False
        if client.changed_at and client.changed_at < item.started_at:
            return False
        return self._lasting.has_lasted(item.id, _ENDLESS_SECONDS)


def _is_shell_over(sight: Sight, item: Item) -> bool:
    """Whether a shell command has ended, and Claude is not asked about it (2.1.150 does not, 2.1.330 does).

    With a registry: it has been idle for longer than it takes to turn to the next thing. Without one nothing more
    can be known.
    """
    if "output" not in item.proof:
        return False
    ended = seconds(item.proof.get("at"))
    client = sight.client
    return client is None or (client.status in AT_REST and ended is not None and now() - ended > LOOK)


def _note_turn_begun(store: DocumentStore, session: str, since: str) -> SessionRecord | None:
    """Note that a turn has begun, unless the record has changed from ``since`` (ISO 8601) on. Returns the record."""

    def changed(there: SessionRecord | None) -> SessionRecord | None:
        if there is None or there.state != IDLE or there.since >= since:
            return there
        return there._replace(state=BUSY, since=iso(), event=_BEGUN)

    return change_record(store, session, changed)


def _note_turn_over(
    store: DocumentStore, session: str, record: SessionRecord, change: Callable[[SessionRecord], SessionRecord]
) -> SessionRecord | None:
    """Note that the turn of a record is over, with a further change; None if a hook has told of it meanwhile."""
    changed = change_record(
        store,
        session,
        lambda there: (
            there
            if there is None or there.since != record.since
            else change(there._replace(state=IDLE, since=iso(), event=_OVER))
        ),
    )
    return changed if changed is not None and changed.event == _OVER else None


def _note_client_gone(store: DocumentStore, session: str) -> None:
    """Note that the session's client has ended."""
    change_record(
        store,
        session,
        lambda record: (
            record if record is None or record.state == GONE else record._replace(state=GONE, since=iso(), event=_GONE)
        ),
    )
