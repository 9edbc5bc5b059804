"""The one place where a deliverer says that a queue has stopped, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import Screen
    from hookrouter.context import Services
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["queue_stopped"]


def queue_stopped(
    services: Services,
    queue: Queue,
    record: SessionRecord | None,
    *,
    items: tuple[Item, ...] = (),
    status: str = "",
    screen: Screen | None = None,
) -> None:
    """Say that a queue was held, outside any hook.

    ``items`` are those that ended with it, ``status`` is what the client's registry says of the session, ``screen``
    what its pane shows, if that was looked at.
    """
    if queue.hold is None:
        return
    session_id = record.session_id if record is not None else queue.session_id
    services.journal.write(
        {
            "level": "warning",
            "event": "queue",
            "outcome": "held",
            "session": queue.session,
            "session_id": session_id,
            "cause": queue.hold.cause,
            "reason": queue.hold.reason,
            "items": [item.id for item in items],
            "status": status,
            "screen": [] if screen is None else [line for line in screen.lines if line.strip()],
        },
        session_id or None,
    )
