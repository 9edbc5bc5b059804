"""The ends that no hook tells of: a turn that Escape or an error has ended, a client that is gone.

Knows what the registry and the transcript say of a turn, and what its end makes of the queue. How an item came into
the session, it does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.delivery.intervals import LOOK
from hookrouter.queue.delivery.readiness import is_over_unsaid
from hookrouter.queue.delivery.unreported_events import note_client_gone, note_turn_over
from hookrouter.queue.failures import FailedTurn, broken, failure_in, is_untouched
from hookrouter.queue.proof import is_interrupted
from hookrouter.sessions.records import BUSY
from hookrouter.util.clock import now, seconds
from hookrouter.util.regular_file import last_lines

if TYPE_CHECKING:
    from hookrouter.queue.delivery.lasting import Lasting
    from hookrouter.queue.delivery.readiness import Sight
    from hookrouter.queue.delivery.session_queue import SessionQueue

__all__ = ["UnreportedEnds"]

_UNSAID_SECONDS = 1.5
"""Seconds for which the registry must call a session idle of whose turn's end no hook has told."""


class UnreportedEnds:
    """The ends of one session's turns, and of its client, of which no hook has told."""

    def __init__(self, queue: SessionQueue, lasting: Lasting) -> None:
        """``lasting`` tells an end from a hook that is late."""
        self._queue = queue
        self._lasting = lasting

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
        changed = note_turn_over(
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
        note_client_gone(self._queue.store, self._queue.session)
