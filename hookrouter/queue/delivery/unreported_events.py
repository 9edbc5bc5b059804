"""What no hook has reported of a session, noted in its record: a turn that has begun or ended, a client that is gone.

Each function changes the record only if no hook has told of it meanwhile. They know no queue; who calls them has seen
the thing in the transcript, in the client's registry, or by the client's process. They raise StoreError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.sessions.records import BUSY, GONE, IDLE, change_record
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.sessions.records import SessionRecord
    from hookrouter.storage.interface import DocumentStore

__all__ = ["note_client_gone", "note_turn_begun", "note_turn_over"]

_BEGUN = "PromptSeen"
"""The ``event`` of a record whose turn has begun as the transcript alone tells."""
_OVER = "Interrupted"
"""The ``event`` of a record whose turn is over without a hook that has said so."""
_GONE = "ClientGone"
"""The ``event`` of a record whose client has ended without a word."""


def note_turn_begun(store: DocumentStore, session: str, since: str) -> SessionRecord | None:
    """Note that a turn has begun, unless the record has changed from ``since`` (ISO 8601) on. Returns the record."""

    def changed(there: SessionRecord | None) -> SessionRecord | None:
        if there is None or there.state != IDLE or there.since >= since:
            return there
        return there._replace(state=BUSY, since=iso(), event=_BEGUN)

    return change_record(store, session, changed)


def note_turn_over(
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


def note_client_gone(store: DocumentStore, session: str) -> None:
    """Note that the session's client has ended."""
    change_record(
        store,
        session,
        lambda record: (
            record if record is None or record.state == GONE else record._replace(state=GONE, since=iso(), event=_GONE)
        ),
    )
