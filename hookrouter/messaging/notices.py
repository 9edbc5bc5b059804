"""Notices: messages to the agent that nobody pushed, and that wait in the state folder until they are dismissed.

The gateway ``inbox`` leaves everything here that has no document of its own (a question has: it is listed from its
question document). ``hookrouter questions`` lists notices; those that nobody has dismissed for 30 days are removed by
the next deliverer. A notice is ``notice-<id>.json`` in ``state/``, named by the message id, with the keys ``version``
(1), ``id``, ``kind`` (``mismatch``, ``unanswered``, ``warning``, ``escalation``, ``config`` or ``test``), ``agent``,
``session``, ``session_id``, ``tool_use_id``, ``subject``, ``text`` and ``created_at`` (ISO 8601, UTC).
"""

from __future__ import annotations

from hookrouter.storage.home import DocumentKind

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from hookrouter.messaging.gateway import Message
    from hookrouter.storage.interface import DocumentStore

__all__ = ["KIND", "dismiss", "dismiss_all", "listing", "prune", "save"]

KIND = DocumentKind("notice", shared=True)
"""The kind of a notice in the store."""


def save(store: DocumentStore, message: Message) -> None:
    """Keep a message as a notice, durably; saving the same message again changes nothing. Raises StoreError."""
    document = {"version": 1, **message._asdict()}
    del document["gateway"], document["data"]
    store.write(KIND, message.id, document)


def listing(store: DocumentStore, session: str | None = None) -> list[dict[str, Any]]:
    """Return the notices, oldest first; of one session if it is named."""
    notices = [{**document, "id": name} for name, document in store.entries(KIND)]
    return [notice for notice in notices if session is None or notice.get("session") == session]


def dismiss(store: DocumentStore, name: str) -> bool:
    """Remove one notice by its id. False if there is none."""
    return store.delete(KIND, name)


def dismiss_all(store: DocumentStore, session: str | None = None) -> list[str]:
    """Remove every notice, or those of one session; return the ids of those removed. Raises StoreError."""
    names = [str(notice["id"]) for notice in listing(store, session)]
    return [name for name in names if dismiss(store, name)]


def prune(store: DocumentStore, seconds: float) -> None:
    """Remove notices that are older than so many seconds; one without a readable time is kept. Raises nothing."""
    from hookrouter.storage.interface import StoreError
    from hookrouter.util.clock import now
    from hookrouter.util.clock import seconds as moment_of

    try:
        for notice in listing(store):
            created = moment_of(notice.get("created_at"))
            if created is not None and now() - created > seconds:
                dismiss(store, str(notice["id"]))
    except StoreError:
        return
