"""The one place where a deliverer tells what became of a queue outside any hook: that it has stopped, or is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue.messages import outgoing
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.context import Services
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.failures import AfterFailure
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord
    from hookrouter.terminals import Screen

__all__ = ["queue_emptied", "queue_stopped", "queue_waits", "turn_failed"]


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
    hold = queue.hold
    if hold is None:
        return
    session_id, shown = record.session_id if record is not None else queue.session_id, _shown(screen)
    facts = {"cause": hold.cause, "reason": hold.reason, "items": [item.id for item in items]}
    _write(services, queue, session_id, "held", {**facts, "status": status, "screen": list(shown)})
    if record is not None:
        _tell(
            services,
            queue,
            lambda: outgoing.queue_held(services, record, queue, items, status=status, screen=shown),
        )


def queue_waits(
    services: Services, queue: Queue, record: SessionRecord, reason: str, *, status: str = "", screen: Screen | None
) -> None:
    """Say that the next item of a queue that nothing holds is kept back; ``status`` and ``screen`` as above."""
    shown = _shown(screen)
    _write(services, queue, record.session_id, "kept back", {"reason": reason, "status": status, "screen": list(shown)})
    _tell(services, queue, lambda: outgoing.queue_waits(services, record, queue, reason, status=status, screen=shown))


def queue_emptied(services: Services, queue: Queue, record: SessionRecord | None, items: tuple[Item, ...]) -> None:
    """Say that the last item of a queue has ended without a turn; ``items`` are those that ended with it."""
    if record is not None and not queue.items:
        _tell(services, queue, lambda: outgoing.queue_emptied(services, record, queue, items))


def turn_failed(
    services: Services, queue: Queue, record: SessionRecord, decision: AfterFailure, items: tuple[Item, ...]
) -> None:
    """Say that a turn has ended in an error of which no hook has told; ``items`` are those that ended with it."""
    facts = {"cause": decision.cause, "reason": decision.reason, "items": [item.id for item in items]}
    _write(services, queue, record.session_id, "failed", facts)
    _tell(services, queue, lambda: outgoing.turn_failed(services, record, queue, decision, items))


def _shown(screen: Screen | None) -> tuple[str, ...]:
    return () if screen is None else tuple(line for line in screen.lines if line.strip())


def _write(services: Services, queue: Queue, session_id: str, outcome: str, facts: Mapping[str, object]) -> None:
    entry = {"level": "warning", "event": "queue", "outcome": outcome, "session": queue.session}
    services.journal.write({**entry, "session_id": session_id, **facts}, session_id or None)


def _tell(services: Services, queue: Queue, tell: Callable[[], None]) -> None:
    try:
        tell()
    except StoreError as error:
        services.warn(f"the agent of session {queue.session} could not be told: {error}")
