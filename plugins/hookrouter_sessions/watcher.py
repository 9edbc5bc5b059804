"""Has queues delivered on of which no hook comes: their deliverer was killed, or what held them is over by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue.documents import list_queues
from hookrouter.queue.spawn import start_queue
from hookrouter.sessions.records import GONE, read_record

if TYPE_CHECKING:
    from hookrouter.context import Services

__all__ = ["QueueWatcher"]


class QueueWatcher:
    """The watcher of this plugin."""

    name = "queue"

    def look(self, services: Services) -> None:
        """Look once. See :class:`hookrouter.sessions.watching.SessionWatcher`. Raises StoreError."""
        for queue in list_queues(services.store):
            if not queue.items or (queue.hold is not None and not queue.hold.until):
                continue
            record = read_record(services.store, queue.session)
            if record is not None and record.state != GONE:
                start_queue(services, queue.session)
