"""In which message an agent got the advice on how to decide: it reads that once for each session.

The document ``guidance-<session id>:<agent>`` names the message, with a mark behind it for what has advice of its own.
A cleared or new session has another id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.home import DocumentKind
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.messaging.gateway import Message
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.interface import DocumentStore

__all__ = ["KEPT_SECONDS", "brought", "prune_brought"]

KIND = DocumentKind("guidance", shared=True)
VERSION = 1

KEPT_SECONDS = 30 * 24 * 3600.0
"""How long it is remembered; an agent of a session that goes on for longer gets the advice again."""


def brought(
    store: DocumentStore, outbox: Outbox, message: Message, reader: tuple[str, str], advice: Callable[[], str]
) -> str:
    """Return the advice if this message is the one that brings it to the agent; empty if another one did.

    ``reader`` is the agent's name and the mark of what the advice is on, empty for forms. Asked again for the same
    message, which may be tried several times, it says the same. A message that was never delivered has brought
    nothing. Raises StoreError.
    """
    agent, mark = reader
    name = f"{message.session_id}:{agent}{mark and ':'}{mark}"
    known = store.read(KIND, name)
    earlier = known.get("message") if known is not None else None
    if isinstance(earlier, str) and earlier != message.id and outbox.get(earlier) is None:
        return ""
    text = advice()
    if text and earlier != message.id:
        document = {"version": VERSION, "session_id": message.session_id, "agent": agent}
        store.write(KIND, name, {**document, "message": message.id, "at": iso()}, durable=False)
    return text


def prune_brought(store: DocumentStore) -> None:
    """Forget what is older than :data:`KEPT_SECONDS`. Raises StoreError."""
    earliest = iso(now() - KEPT_SECONDS)
    for name, document in store.entries(KIND):
        if str(document.get("at") or "") < earliest:
            store.delete(KIND, name)
