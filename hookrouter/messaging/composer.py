"""What completes a message when it goes out: with what is known only then, and what would slow down a hook.

A hook puts a message into the outbox within milliseconds. Whoever delivers it asks the composers, which plugins
contribute through the hook ``message_composer`` (:mod:`hookrouter.hookspecs.answering`), for text and data as they
should be now: how long a question has waited, what stands in a transcript, what the agent was told before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from hookrouter._plugins.registry import Plugins
    from hookrouter.context import Services
    from hookrouter.messaging.gateway import Message

__all__ = ["CatchesUp", "MessageComposer", "message_composers"]


class MessageComposer(Protocol):
    """Completes messages. Runs in the process that delivers them, before each try, never inside a hook."""

    name: str
    """What the composer is known by."""

    def compose(self, message: Message, attempt: int, services: Services, /) -> Message | None:
        """Return the message as it should go out now; None if it is none of this composer's.

        ``message`` is as it was put into the outbox, with its id and the gateway that is asked now; ``attempt`` counts
        the tries, this one included. Of what is returned ``subject``, ``text``, ``data`` and ``link`` are taken. May
        take up to 10 seconds. If it raises, the message goes out as it was put in, and the journal says so.
        """


@runtime_checkable
class CatchesUp(Protocol):
    """What a composer may be besides: told when a delivery begins, to put in what could not be put in before."""

    def catch_up(self, services: Services, /) -> None:
        """Put into the outbox what is missing there.

        Called before the first message goes out, each time a deliverer starts: after a hook that has put something in,
        and after the first command that finds a corrected config.toml. May take up to 10 seconds. If it raises, the
        journal says so, and messages go out all the same.
        """


def message_composers(plugins: Plugins) -> dict[str, MessageComposer]:
    """Return what completes messages when they go out, of the active plugins that contribute it, by name."""
    return plugins.contributions("message_composer")
