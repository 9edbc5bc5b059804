"""Which documents the machines of a fleet see of each other."""

from __future__ import annotations

from hookrouter.messaging.spawn import KIND as MESSAGE
from hookrouter.storage.engine import OUTBOX

__all__ = ["FLEET", "LOCAL_KINDS", "SHARED"]

SHARED = {
    "": (
        "question",
        "pending-answer",
        "answer-result",
        "told",
        "unsettled",
        "form-left",
        "guidance",
        "notice",
        "queue",
        "queued-item",
        "session",
        "last-wake",
        "last-told",
        "paused",
        "login",
    ),
    OUTBOX: (MESSAGE,),
}
"""By area, the kinds of documents that are brought to the engine: what others may want to read, and what this machine
needs again if its disk is lost."""

LOCAL_KINDS = (
    "reply-waiting", "reply-answer", "blocked-seen", "call", "doorbell", "bell-offer", "stop-offer", "stop-replies",
    "keys-typed", "plugins", "broken-config", "config", "installation", "adoption", "push", "environment", "fleet",
)  # fmt: skip
"""The kinds that are worth something on their own machine alone: they are about its processes and its files."""

FLEET = "fleet"
"""The area of the engine, and the kind of the local documents, of what this package itself keeps."""
