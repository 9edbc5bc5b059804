"""Follows an item that has started, to its end.

Knows what ends a prompt, a command and a shell command. It submits nothing and knows no channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.delivery.intervals import LOOK, RECORD_LOOK
from hookrouter.queue.delivery.readiness import AT_REST
from hookrouter.queue.items import COMMAND, DONE, PROMPT, SHELL
from hookrouter.queue.proof import Proof
from hookrouter.sessions.records import BUSY
from hookrouter.util.clock import now, seconds

if TYPE_CHECKING:
    from hookrouter.queue.delivery.evidence import Evidence
    from hookrouter.queue.delivery.lasting import Lasting
    from hookrouter.queue.delivery.readiness import Sight
    from hookrouter.queue.delivery.session_queue import SessionQueue
    from hookrouter.queue.delivery.unreported_ends import UnreportedEnds
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["Following"]

_ENDLESS_SECONDS = 5.0
"""Seconds for which the client must be idle after a command has begun whose end no record tells."""


class Following:
    """Follows the items of one session that have started."""

    def __init__(self, queue: SessionQueue, evidence: Evidence, ends: UnreportedEnds, lasting: Lasting) -> None:
        """``lasting`` is that of ``ends``: of a session one thing at a time is watched."""
        self._queue = queue
        self._evidence = evidence
        self._ends = ends
        self._lasting = lasting

    def follow(self, sight: Sight, item: Item, record: SessionRecord) -> float:
        """Note the end of an item if it has come; return the seconds until the next look. Raises StoreError."""
        if item.kind in (COMMAND, SHELL) and self._evidence.note(record, item):
            return 0.0
        if self._ends.is_turn_over(sight):
            return self._ends.end_turn(sight)
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
