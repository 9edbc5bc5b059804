"""What completes a message when it goes out: with what is known only then, and what would slow down a hook.

A hook puts a message into the outbox within milliseconds. Whoever delivers it asks the composers, which plugins
contribute through the hook ``message_composer`` (:mod:`hookrouter.hookspecs.answering`), for text and data as they
should be now: how long a question has waited, what stands in a transcript, what the agent was told before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from hookrouter.messaging.delivery.attempt import CHECK_SECONDS, Limits
from hookrouter.messaging.gateway import Message
from hookrouter.util.text import describe_error, describe_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._plugins.registry import Plugins
    from hookrouter.context import Services

__all__ = ["Composing", "MessageComposer", "MessageTracing", "has_traces", "message_composers"]


class MessageComposer:
    """Completes messages. Runs in the process that delivers them, before each try, never inside a hook."""

    name: str
    """What the composer is known by."""

    def compose(self, message: Message, attempt: int, services: Services, /) -> Message | None:
        """Return the message as it should go out now; None if it is none of this composer's.

        ``message`` is as it was put into the outbox, with its id and the gateway that is asked now; ``attempt`` counts
        the tries, this one included. Of what is returned ``subject``, ``text``, ``data`` and ``link`` are taken. May
        take up to 10 seconds. If it raises, the message goes out as it was put in, and the journal says so.
        """
        raise NotImplementedError

    def catch_up(self, services: Services, /) -> None:
        """Put into the outbox what is missing there, because it could not be put in before; nothing by default.

        Called before the first message goes out, each time a deliverer starts: after a hook that has put something in,
        and after the first command that finds a corrected config.toml. May take up to 10 seconds. If it raises, the
        journal says so, and messages go out all the same.
        """


class MessageTracing:
    """Says whether messages hand a W3C trace context on, as the header ``traceparent`` and the variable
    ``TRACEPARENT``. A base class."""

    name: str
    """What it is known by."""

    def is_on(self, services: Services, /) -> bool:
        """Say so. What it raises counts as no."""
        raise NotImplementedError


def has_traces(services: Services) -> bool:
    """Return whether an active plugin wants messages to hand a trace context on. Raises nothing."""
    for name, tracing in services.plugins.contributions("message_tracing", base=MessageTracing).items():
        try:
            if tracing.is_on(services) is True:
                return True
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises costs the trace alone
            services.warn(f"it is not known whether {name} wants traces: {describe_error(error)}")
    return False


def message_composers(plugins: Plugins) -> dict[str, MessageComposer]:
    """Return what completes messages when they go out, of the active plugins that contribute it, by name."""
    return plugins.contributions("message_composer", base=MessageComposer)


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
