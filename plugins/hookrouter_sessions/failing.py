"""A turn that has ended in an error: what the session's record says, and what becomes of its queue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.dialogs.transcript import client_version
from hookrouter.queue.failures import FailedTurn, broken, failure_in, is_untouched
from hookrouter.sessions.limits import read_failure
from hookrouter.util.clock import now, seconds
from hookrouter.util.regular_file import last_lines
from hookrouter_sessions import telling
from hookrouter_sessions.following import changed_queue, noted

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.queue.documents import Queue
    from hookrouter.sessions.limits import Failure
    from hookrouter_sessions.following import Followed

__all__ = ["failure_at_stop", "told_failure", "turn_failed"]

_WITH_STOP_FAILURE = (2, 1, 78)
"""The first client that has ``StopFailure``; older ones say ``Stop`` after an error too (2.0.76)."""

_RECORD_SECONDS = 1.0
"""Seconds that the client has to write the error into its transcript: it does so beside this hook (2.1.330)."""


def failure_at_stop(event: events.Stop, followed: Followed) -> Failure | None:
    """Return the error in which a turn has ended for which an older client says ``Stop``; None for none."""
    if event.background_tasks is not None:
        # So do clients that have StopFailure (2.1.150, 2.1.330): their transcripts need not be read.
        return None
    version = client_version(event.transcript_path)
    if version is None or version >= _WITH_STOP_FAILURE:
        return None
    return failure_in(last_lines(event.transcript_path), _begun(followed))


def told_failure(event: events.StopFailure) -> Failure:
    """Return what ``StopFailure`` itself says."""
    return read_failure(event.error or "", event.last_assistant_message or "", now())


def turn_failed(
    event: events.Stop | events.StopFailure, context: Context, followed: Followed, failure: Failure
) -> Queue:
    """Note that a turn has ended in an error, and hold its queue; return that."""
    at = now()
    lines, recorded = _recorded(event.transcript_path, _begun(followed))
    # The transcript knows the second of a limit's end. Without the error in it, it may lack what was done before, too.
    failure = recorded or failure
    change = FailedTurn(context.store, failure, untouched=recorded is not None and is_untouched(lines), at=at)
    before, after, ended = changed_queue(context, followed.session, change)
    record = noted(event, context, followed, lambda one: broken(one, failure))
    telling.turn_failed(context, record, before, after, ended, change.decision)
    return after


def _recorded(path: str, begun: float) -> tuple[list[bytes], Failure | None]:
    """Return the end of a transcript, and the error that it shows, once the client has written it."""
    deadline = time.monotonic() + _RECORD_SECONDS
    while True:
        lines = last_lines(path)
        failure = failure_in(lines, begun)
        if failure is not None or time.monotonic() >= deadline:
            return lines, failure
        time.sleep(0.05)


def _begun(followed: Followed) -> float:
    """Return when the turn began; of a session of which that is not known, when it was last heard of."""
    record = followed.record
    since = None if record is None else seconds(record.since)
    return 0.0 if since is None else since
