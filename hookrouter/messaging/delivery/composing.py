"""Has messages completed by the composers of plugins, right before a gateway gets them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from hookrouter.messaging.composer import CatchesUp
from hookrouter.messaging.delivery.attempt import CHECK_SECONDS, Limits
from hookrouter.messaging.gateway import Message
from hookrouter.util.text import describe_error, describe_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Services
    from hookrouter.messaging.composer import MessageComposer

__all__ = ["Composing"]


@attrs.frozen
class Composing:
    """Asks the composers; one that fails costs what it would have added, never the message."""

    composers: Mapping[str, MessageComposer]
    """By name, in the order in which they are asked."""
    services: Services
    limits: Limits = attrs.field(factory=Limits)

    def __call__(self, message: Message, attempt: int) -> Message:
        """Return the message as it goes out; ``attempt`` counts its tries, this one included. Raises nothing."""
        for name, composer in self.composers.items():
            try:
                with self.limits.applied(CHECK_SECONDS):
                    found: object = composer.compose(message, attempt, self.services)
            except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is that plugin's failure
                self._complain(message, f"the composer {name} failed: {describe_error(error)}")
                continue
            if isinstance(found, Message) and _is_sound(found):
                return message._replace(subject=found.subject, text=found.text, data=found.data, link=found.link)
            if found is not None:
                self._complain(message, f"the composer {name} returned {describe_value(found)}, not a Message")
        return message

    def catch_up(self) -> None:
        """Have composers put in what could not be put in before. Raises nothing."""
        for name, composer in self.composers.items():
            if not isinstance(composer, CatchesUp):
                continue
            try:
                with self.limits.applied(CHECK_SECONDS):
                    composer.catch_up(self.services)
            except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is that plugin's failure
                self.services.journal.write(_warning(f"the composer {name} failed: {describe_error(error)}"), None)

    def _complain(self, message: Message, reason: str) -> None:
        record = {**_warning(reason), "wake": message.id, "session": message.session}
        self.services.journal.write(record, message.session_id or None)


def _warning(reason: str) -> dict[str, object]:
    return {"level": "warning", "event": "delivery", "reason": reason, "pid": os.getpid()}


def _is_sound(message: Message) -> bool:
    """Whether a plugin, which no type checker may have seen, has put into the message what belongs there."""
    texts = (message.text, message.subject, message.link)
    return all(isinstance(text, str) for text in texts) and isinstance(message.data, dict)
