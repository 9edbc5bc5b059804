"""What a deliverer notes in the documents of messages: a try, why it failed, a delivery, and what follows."""

from __future__ import annotations

from hookrouter.messaging.message import INTERRUPTED, GivenUp, encode
from hookrouter.messaging.spawn import KIND
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import iso, now, seconds

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.storage.interface import DocumentStore

    class _Queue(Protocol):
        """What is changed in the outbox, which makes this object."""

        def change(self, name: str, change: Callable[[QueuedMessage], Mapping[str, Any]]) -> QueuedMessage | None: ...
        def follow(self, message: QueuedMessage, *, after_delivery: bool, since: float | None) -> None: ...
        def remove(self, name: str) -> bool: ...


__all__ = ["Tries"]


class Tries:
    """The deliverer's side of an outbox."""

    def __init__(self, outbox: _Queue, store: DocumentStore, documents: DocumentStore) -> None:
        """Take the outbox, the store of its messages, and that of the documents they may depend on."""
        self._outbox = outbox
        self._store = store
        self._documents = documents

    def begin(
        self, name: str, pause: float = 0.0, *, fallback: bool = False, asked: bool = True
    ) -> QueuedMessage | None:
        """Count a try that is about to be made, and return the message; None if it was dropped meanwhile.

        Counted before the try, with ``pause`` seconds until the next one, so that a message on which the deliverer
        dies is seen to be one, and waits. With ``fallback`` it is the try of a further gateway at the same time,
        and no further failure. Without ``asked`` the gateway cannot even be asked.
        """
        return self._outbox.change(
            name,
            lambda message: {
                "attempts": message.attempts + asked,
                "failures": message.failures + (not fallback),
                "tried_for": message.tried_seconds(),
                "last_attempt_at": iso(),
                "last_error": INTERRUPTED,
                "next_attempt_at": iso(now() + pause) if pause > 0 else None,
                "unusable": "",
                "given_up": None,
            },
        )

    def failed(
        self,
        name: str,
        reason: str,
        *,
        next_attempt_at: str | None = None,
        given_up: str | None = None,
        refused: Mapping[str, str] | None = None,
        unusable: str = "",
    ) -> None:
        """Note why a message is still here.

        ``next_attempt_at`` is the time before which no deliverer tries it. ``given_up`` is the fingerprint of the
        settings with which trying again cannot help; ``refused`` the same by gateway, None to leave it as it was;
        ``unusable`` is that of the settings with which a gateway cannot even be asked, empty if each could.
        """
        self._outbox.change(
            name,
            lambda message: {
                "last_error": reason,
                "next_attempt_at": next_attempt_at,
                "refused": message.refused if refused is None else refused,
                "unusable": unusable,
                "given_up": None if given_up is None else GivenUp(reason, iso(), given_up),
            },
        )

    def delivered(self, message: QueuedMessage) -> None:
        """Remove a message that was delivered, and put in what follows it.

        Whatever moment this is stopped at, a deliverer that finds ``delivered_at`` set ends it without sending the
        message again. Raises hookrouter.storage.interface.StoreError if what follows cannot be written; then it is
        lost, but the message itself is removed.
        """
        try:
            if message.then:
                if message.delivered_at is None:
                    done = encode(message._replace(delivered_at=iso()))
                    self._store.write(KIND, message.id, done, durable=False)
                self._outbox.follow(message, after_delivery=True, since=None)
        except StoreError:
            self._outbox.remove(message.id)
            raise
        self._outbox.remove(message.id)

    def unfold(self, message: QueuedMessage) -> QueuedMessage | None:
        """Put in what follows a message without waiting for its delivery; return the message without it.

        For the deliverer, before it tries the message; doing it again changes nothing. None if the message is
        gone. Raises hookrouter.storage.interface.StoreError.
        """
        self._outbox.follow(message, after_delivery=False, since=seconds(message.created_at))
        return self._outbox.change(message.id, lambda one: {"then": one.waits_for_delivery()})

    def is_wanted(self, message: QueuedMessage) -> bool:
        """Whether the document that ``while_open`` asks for is there; True if the message asks for none.

        Raises hookrouter.storage.interface.StoreError if it cannot be read.
        """
        return message.while_open is None or message.while_open.is_met(self._documents)

    def is_over(self, message: QueuedMessage) -> bool:
        """Whether the document that ``once_over`` waits for is gone; True if the message waits for none.

        Raises hookrouter.storage.interface.StoreError if it cannot be read.
        """
        return message.once_over is None or not message.once_over.is_met(self._documents)
