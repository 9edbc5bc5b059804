"""The outbox: every message to an agent is a document on disk before anything tries to deliver it.

A message is the document ``wake-<id>.json`` in ``state/outbox``; its keys are the fields of
:class:`hookrouter.messaging.message.QueuedMessage`.

The id is the idempotency key. Ids sort in the order of creation: always those of one process, those of several as the
clock had it (one that is set back puts what another process creates next before what waits). Only a deliverer
(:mod:`hookrouter.messaging.delivery.deliverer`) tries messages; a hook process puts one in and starts a deliverer
(:mod:`hookrouter.messaging.spawn`), and both are quick. A deliverer stays while there is something to try later. One
that was killed is replaced by what a new message or a push starts.
"""

from __future__ import annotations

import os
import time
from functools import cached_property

from hookrouter.messaging.message import FRESH, decode, encode, new_document
from hookrouter.messaging.spawn import KIND, PUSH, postpone, wake_deliverers
from hookrouter.storage.engine import OUTBOX, open_store
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.clock import iso

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hookrouter.messaging.gateway import Message, ScheduledMessage
    from hookrouter.messaging.locks import DeliveryLocks
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.messaging.tries import Tries
    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentLock, DocumentWatch

__all__ = ["Outbox"]

_LOCK_SECONDS = 10.0

_last_id = (0, 0)


class Outbox:
    """The messages that wait for delivery, one document each."""

    def __init__(self, home: Home, report: Callable[[str], None], environment: Callable[[], str] = lambda: "") -> None:
        """Touch nothing yet; ``report`` hears of a document that was unreadable and has been set aside.

        ``environment`` returns the mark of this process's environment
        (:func:`hookrouter.messaging.environment.environment_mark`); it is called when it is needed.
        """
        self._home = home
        self._store = open_store(home, report, OUTBOX)
        self._documents = open_store(home, report)
        self._environment = environment

    @cached_property
    def tries(self) -> Tries:
        """What a deliverer notes about messages."""
        from hookrouter.messaging.tries import Tries

        return Tries(self, self._store, self._documents)

    @cached_property
    def locks(self) -> DeliveryLocks:
        """Who delivers what at the moment."""
        from hookrouter.messaging.locks import DeliveryLocks

        return DeliveryLocks(self._store, self._environment)

    def put(
        self,
        message: Message,
        *,
        fallbacks: Sequence[str] = (),
        then: Sequence[ScheduledMessage] = (),
        while_open: Mapping[str, object] | None = None,
    ) -> Message:
        """Keep one message and return it with its id and creation time. It is on disk, durably, before this returns.

        ``fallbacks`` are the gateways that are tried if ``message.gateway`` fails, in order; ``then`` is what follows,
        kept in the same document; ``while_open`` says, for all of it, which document must still be there when it goes
        out: ``{"kind", "names", "fields"}``, see :class:`hookrouter.messaging.message.WhileOpen`. Raises
        hookrouter.storage.interface.StoreError if it cannot be written; then nothing was.
        """
        nanoseconds, name = _new_id()
        kept = message._replace(id=name, created_at=iso(nanoseconds / 1e9))
        document = new_document(
            kept, environment=self._environment(), fallbacks=fallbacks, then=then, while_open=while_open
        )
        self._store.write(KIND, name, document)
        return kept

    def take_in(self, name: str, document: Mapping[str, Any]) -> bool:
        """Keep a message of another machine under its id, as if nobody had tried it; False if it is here already.

        ``document`` is as that machine's outbox has it. It is on disk, durably, before this returns. Raises
        hookrouter.storage.interface.StoreError if it cannot be written.
        """
        never = {"attempts": 0, "last_attempt_at": None, "last_error": None, "not_before": None}
        fresh = {**document, **FRESH, **never, "environment": self._environment()}
        return self._store.create(KIND, name, fresh) is None

    def ids(self) -> list[str]:
        """Return the ids of all messages, oldest first, without reading the documents."""
        return sorted(self.stamps())

    def stamps(self) -> Mapping[str, object]:
        """Return what tells one state of each message's document from the next, by id, in no order."""
        return self._store.stamps(KIND)

    def watches(self) -> tuple[DocumentWatch, DocumentWatch]:
        """Return what wakes a deliverer that stays: watches on the messages, and for :meth:`look_again`."""
        return self._store.watch(KIND), self._store.watch(PUSH)

    def count(self) -> int:
        """Return how many messages wait, those given up included."""
        return len(self.ids())

    def pending(self) -> list[QueuedMessage]:
        """Return every message, oldest first, those given up included."""
        return [decode(name, document) for name, document in self._store.entries(KIND)]

    def get(self, name: str) -> QueuedMessage | None:
        """Return one message, or None if there is none of this id."""
        document = self._store.read(KIND, name)
        return None if document is None else decode(name, document)

    def retry(self, name: str) -> bool:
        """Make a message due now, given up or not, with its whole time for tries before it. False if there is none.

        It then goes out with the environment of this process. Raises hookrouter.storage.interface.StoreError if it
        cannot be written.
        """
        mine = self._environment()
        changed = self.change(name, lambda _message: {**FRESH, "not_before": None, "environment": mine})
        return changed is not None

    def hurry(self, name: str) -> bool:
        """Make a message due now that waits for its next try; others are left alone. Returns whether it was one.

        It then goes out with the environment of this process, if another one's deliverer could not deliver it. Raises
        hookrouter.storage.interface.StoreError if it cannot be written.
        """
        message = self.get(name)
        if message is None or message.given_up is not None:
            return False
        mine = self._environment()
        if message.next_attempt_at is None and (message.environment == mine or not message.failures):
            return False
        return self.change(name, lambda _message: {"next_attempt_at": None, "environment": mine}) is not None

    def remove(self, name: str) -> bool:
        """Remove a message, because it was delivered or dropped. False if there is none.

        Raises hookrouter.storage.interface.StoreError if it cannot be removed.
        """
        try:
            with self._lock(name):
                return self._store.delete(KIND, name)
        except StoreBusy:
            raise
        except StoreError:
            # No room for a lock: then there is none for the change either that it would keep out.
            return self._store.delete(KIND, name)

    def is_held(self, message: QueuedMessage) -> bool:
        """Whether a message is not to go out because its session is paused. Raises
        hookrouter.storage.interface.StoreError."""
        from hookrouter.messaging.pauses import is_paused

        return is_paused(self._documents, message.session) is not None

    def look_again(self) -> None:
        """Have deliverers that stay look at every message, and let the next push start one. Raises nothing.

        For whoever has changed something beside the messages, such as ended a pause.
        """
        wake_deliverers(self._home, self._store)

    def postpone(self, seconds: float) -> bool:
        """Let no push start a deliverer for so long; return whether that could be noted."""
        return postpone(self._home, self._store, seconds)

    def follow(self, message: QueuedMessage, *, after_delivery: bool, since: float | None) -> None:
        """Put in what follows a message, but for what is in already. Raises StoreError."""
        for name, document in message.following(after_delivery=after_delivery, since=since):
            if self._store.read(KIND, name) is None:
                self._store.write(KIND, name, document)

    def put_aside(self) -> tuple[str, Sequence[str]]:
        """Return where corrupt documents were put aside, and their names, oldest first. Raises StoreError."""
        return self._store.put_aside()

    def prune(self, seconds: float) -> None:
        """Remove documents that were set aside as corrupt longer ago than this. Raises nothing."""
        self._store.prune(seconds)

    def change(self, name: str, change: Callable[[QueuedMessage], Mapping[str, Any]]) -> QueuedMessage | None:
        """Change the fields of a message that ``change`` returns; return the message, None if there is none.

        Raises hookrouter.storage.interface.StoreError if it cannot be written.
        """
        # Without the lock, a message that a person drops at this moment would come back.
        with self._lock(name):
            message = self.get(name)
            if message is None:
                return None
            message = message._replace(**change(message))
            # Not durable: a lost count costs one more try, and the message itself was durable from the start.
            self._store.write(KIND, name, encode(message), durable=False)
            return message

    def _lock(self, name: str) -> DocumentLock:
        return self._store.lock("message", name, _LOCK_SECONDS)


def _new_id() -> tuple[int, str]:
    """Return the time in nanoseconds and an id that sorts after all ids of this process so far."""
    global _last_id
    last, counter = _last_id
    now = time.time_ns()
    # The clock may stand still or be set back between two messages.
    _last_id = (now, 0) if now > last else (last, counter + 1)
    return now, f"{_last_id[0]:019d}-{os.getpid()}-{_last_id[1]:04d}"
