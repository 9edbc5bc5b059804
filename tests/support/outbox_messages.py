"""Messages for an outbox, and where it keeps them."""

from __future__ import annotations

import os
from typing import Any

from hookrouter.messaging.gateway import Message

__all__ = ["folder", "wake"]


def wake(session: str = "s", text: str = "hello", **fields: Any) -> Message:
    """Return a message about a question."""
    values: dict[str, Any] = {
        "kind": "question",
        "agent": "main",
        "gateway": "g",
        "session_id": "sid",
        "tool_use_id": "toolu_1",
    }
    return Message(**{**values, "session": session, "subject": "a question", "text": text, **fields})


def folder() -> str:
    """Return the folder of the messages in the test's home."""
    return os.path.join(os.environ["HOOKROUTER_HOME"], "state", "outbox")
