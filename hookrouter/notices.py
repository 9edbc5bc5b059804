"""Notices: messages to the agent that nobody pushed, and that wait in the state folder until they are dismissed.

The gateway ``inbox`` leaves everything here that has no document of its own (a question has: it is listed from its
question document). ``hookrouter questions`` lists notices. A notice is ``notice-<id>.json`` in ``state/``, named by
the message id, with the keys ``version`` (1), ``id``, ``kind`` (``mismatch``, ``unanswered``, ``warning`` or
``escalation``), ``agent``, ``session``, ``session_id``, ``tool_use_id``, ``subject``, ``text`` and ``created_at`` (ISO
8601, UTC).
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from hookrouter.answering import Wake
    from hookrouter.store import Store

__all__ = ["KIND", "dismiss", "listing", "save"]

KIND = "notice"
"""The kind of a notice in the store."""


def save(store: Store, wake: Wake) -> None:
    """Keep a message as a notice, durably; saving the same message again changes nothing. Raises StoreError."""
    document = {"version": 1, **wake._asdict()}
    del document["gateway"]
    store.write(KIND, wake.id, document)


def listing(store: Store, session: str | None = None) -> list[dict[str, Any]]:
    """Return the notices, oldest first; of one session where it is named."""
    notices = [{**document, "id": name} for name, document in store.entries(KIND)]
    return [notice for notice in notices if session is None or notice.get("session") == session]


def dismiss(store: Store, name: str) -> bool:
    """Remove one notice by its id. False where there is none."""
    return store.delete(KIND, name)
