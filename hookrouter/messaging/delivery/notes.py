"""What the deliverer and its workers write: the journal's records, and what becomes of a message's document."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.journal import Journal

__all__ = ["Notes"]


@attrs.define
class Notes:
    """Writes, and raises nothing: a full disk must not keep a message from its agent."""

    outbox: Outbox
    journal: Journal
    _complaints: set[str] = attrs.field(factory=set, init=False)

    def look_again(self) -> None:
        """Complain again of what is still wrong."""
        self._complaints.clear()

    def record(
        self,
        message: QueuedMessage,
        outcome: str,
        reason: str,
        *,
        level: str,
        gateway: str = "",
        ms: float | None = None,
    ) -> None:
        """Journal what became of a message. ``gateway`` is the one that did it, if not the first; ``ms`` its time."""
        self.journal.write(
            {
                "level": level,
                "event": "delivery",
                "outcome": outcome,
                "reason": reason,
                "wake": message.id,
                "pid": os.getpid(),
                "kind": message.kind,
                "gateway": gateway or message.gateway,
                "agent": message.agent,
                "session": message.session,
                "session_id": message.session_id,
                "tool_use_id": message.tool_use_id,
                "ms": ms,
            },
            message.session_id or None,
        )

    def complain(self, text: str) -> None:
        """Journal an error of the deliverer's own, once."""
        if text in self._complaints:
            return
        self._complaints.add(text)
        self.journal.write({"level": "error", "event": "delivery", "reason": text, "pid": os.getpid()}, None)

    def delivered(self, message: QueuedMessage) -> None:
        """Remove a message that was delivered, and put in what follows it."""
        try:
            self.outbox.tries.delivered(message)
        except StoreError as error:
            self.complain(f"the message {message.id} was delivered, and this could not be noted: {error}")

    def failed(self, name: str, reason: str, **more: Any) -> None:
        """Keep with a message why it is still here; on a full disk the journal's record alone says so."""
        try:
            self.outbox.tries.failed(name, reason, **more)
        except StoreError as error:
            self.complain(f"why the message {name} is kept could not be noted ({reason}): {error}")

    def drop_unwanted(self, message: QueuedMessage) -> bool:
        """Remove a message if what it is about is gone; return whether it was."""
        if message.while_open is None:
            return False
        try:
            if self.outbox.tries.is_wanted(message):
                return False
            self.outbox.remove(message.id)
        except StoreError as error:
            self.complain(str(error))
            return False
        self.record(message, "dropped", "what it is about has ended", level="info")
        return True

    def is_over(self, message: QueuedMessage) -> bool:
        """Whether what a message waits for is over; it waits on if that cannot be seen."""
        try:
            return self.outbox.tries.is_over(message)
        except StoreError as error:
            self.complain(str(error))
            return False

    def drop_unclosed(self, message: QueuedMessage, reason: str) -> None:
        """Remove a message that was to close another one and cannot, for which nobody need be troubled."""
        try:
            self.outbox.remove(message.id)
        except StoreError as error:
            self.complain(str(error))
        self.record(message, "dropped", reason, level="warning")

    def is_held(self, message: QueuedMessage) -> bool:
        """Whether a message waits because its session is paused."""
        try:
            return self.outbox.is_held(message)
        except StoreError as error:
            self.complain(str(error))
            return False
