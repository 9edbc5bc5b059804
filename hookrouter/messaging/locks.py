"""The locks of delivery: one deliverer for each environment, and one at a time for each lane of messages."""

from __future__ import annotations

from hookrouter.messaging.spawn import deliverer_lock, is_delivering

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.storage.interface import DocumentLock, DocumentStore

__all__ = ["DeliveryLocks"]

_PROBE_SECONDS = 0.2
"""How long a deliverer asks for its lock: a look at whether one is at work holds it for a moment."""


class DeliveryLocks:
    """Who delivers the messages of an outbox."""

    def __init__(self, store: DocumentStore, environment: Callable[[], str]) -> None:
        """Take the store of the messages; ``environment`` returns the mark of this process's environment."""
        self._store = store
        self._environment = environment
        self._delivering: DocumentLock | None = None

    def delivering(self) -> DocumentLock:
        """Return the deliverer's lock for this process's environment, as a context manager.

        Entering raises StoreBusy if another one delivers for it.
        """
        self._delivering = self._store.lock("outbox", deliverer_lock(self._environment()), _PROBE_SECONDS)
        return self._delivering

    def is_delivering(self, environment: str) -> bool:
        """Whether a deliverer is at work for the environment of this mark. Raises StoreError."""
        return is_delivering(self._store, environment)

    def leave(self) -> None:
        """In a forked child of the deliverer: leave its lock to it."""
        if self._delivering is not None:
            self._delivering.forget()

    def lane(self, gateway: str, session: str, closes: bool = False) -> DocumentLock:
        """Return the lock of who delivers one lane of messages; it outlives a deliverer that was killed.

        ``closes``: the lane of messages that withdraw or edit others.
        """
        return self._store.lock("line", _lane(gateway, session, closes), 0)

    def is_running(self, message: QueuedMessage) -> bool:
        """Whether a deliverer asks a gateway to deliver this message now. Takes no lock, and writes nothing.

        Raises hookrouter.storage.interface.StoreError.
        """
        return (
            message.is_undecided
            and self._store.lock_holder("line", _lane(message.gateway, message.session, message.closes is not None))
            is not None
        )


def _lane(gateway: str, session: str, closes: bool) -> str:
    return f"{gateway}\0{session}\0closes" if closes else f"{gateway}\0{session}"
