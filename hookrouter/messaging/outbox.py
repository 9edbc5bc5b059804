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

from hookrouter.messaging.message import FRESH, INTERRUPTED, GivenUp, decode, encode, new_document
from hookrouter.messaging.spawn import KIND, PUSH, deliverer_lock, is_delivering, postpone, wake_deliverers
from hookrouter.storage.engine import OUTBOX, open_store
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.clock import iso, now, seconds

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hookrouter.messaging.gateway import Message, ScheduledMessage
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentLock, DocumentWatch

__all__ = ["Outbox"]

_LOCK_SECONDS = 10.0
_PROBE_SECONDS = 0.2
"""How long a deliverer asks for its lock: a look at whether one is at work holds it for a moment."""

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
        self._delivering: DocumentLock | None = None

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
        kept in the same document; ``while_open`` says, for what follows, which document must still be there when it
        goes out: ``{"kind", "names", "fields"}``, see :class:`hookrouter.messaging.message.WhileOpen`. Raises
        hookrouter.storage.interface.StoreError if it cannot be written; then nothing was.
        """
        nanoseconds, name = _new_id()
        kept = message._replace(id=name, created_at=iso(nanoseconds / 1e9))
        document = new_document(
            kept, environment=self._environment(), fallbacks=fallbacks, then=then, while_open=while_open
        )
        self._store.write(KIND, name, document)
        return kept

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

    def record_attempt(
        self, name: str, pause: float = 0.0, *, fallback: bool = False, asked: bool = True
    ) -> QueuedMessage | None:
        """Count a try that is about to be made, and return the message; None if it was dropped meanwhile.

        Counted before the try, with ``pause`` seconds until the next one, so that a message on which the deliverer
        dies is seen to be one, and waits. With ``fallback`` it is the try of a further gateway at the same time,
        and no further failure. Without ``asked`` the gateway cannot even be asked.
        """
        return self._change(
            name,
            lambda message: {
                "attempts": message.attempts + asked,
                "failures": message.failures + (not fallback),
                "tried_for": message.tried_seconds(),
                "last_attempt_at": iso(),
                "last_error": INTERRUPTED,
                "next_attempt_at": iso(now() + pause) if pause > 0 else None,
                "given_up": None,
            },
        )

    def record_failure(
        self,
        name: str,
        reason: str,
        *,
        next_attempt_at: str | None = None,
        given_up: str | None = None,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        """Note why a message is still here.

        ``next_attempt_at`` is the time before which no deliverer tries it. ``given_up`` is the fingerprint of the
        settings with which trying again cannot help; ``refused`` the same by gateway, None to leave it as it was.
        """
        self._change(
            name,
            lambda message: {
                "last_error": reason,
                "next_attempt_at": next_attempt_at,
                "refused": message.refused if refused is None else refused,
                "given_up": None if given_up is None else GivenUp(reason, iso(), given_up),
            },
        )

    def retry(self, name: str) -> bool:
        """Make a message due now, given up or not, with its whole time for tries before it. False if there is none.

        It then goes out with the environment of this process. Raises hookrouter.storage.interface.StoreError if it
        cannot be written.
        """
        mine = self._environment()
        changed = self._change(name, lambda _message: {**FRESH, "not_before": None, "environment": mine})
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
        return self._change(name, lambda _message: {"next_attempt_at": None, "environment": mine}) is not None

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
                self._follow(message, after_delivery=True, since=None)
        except StoreError:
            self.remove(message.id)
            raise
        self.remove(message.id)

    def unfold(self, message: QueuedMessage) -> QueuedMessage | None:
        """Put in what follows a message without waiting for its delivery; return the message without it.

        For the deliverer, before it tries the message; doing it again changes nothing. None if the message is
        gone. Raises hookrouter.storage.interface.StoreError.
        """
        self._follow(message, after_delivery=False, since=seconds(message.created_at))
        return self._change(message.id, lambda one: {"then": one.waits_for_delivery()})

    def is_wanted(self, message: QueuedMessage) -> bool:
        """Whether the document that ``while_open`` asks for is there; True if the message asks for none.

        Raises hookrouter.storage.interface.StoreError if it cannot be read.
        """
        condition = message.while_open
        if condition is None:
            return True
        fields = condition.fields.items()
        for name in condition.names:
            document = self._documents.read(condition.kind, name)
            if document is not None and fields <= document.items():
                return True
        return False

    def is_held(self, message: QueuedMessage) -> bool:
        """Whether a message is not to go out because its session is paused. Raises
        hookrouter.storage.interface.StoreError."""
        from hookrouter.messaging.pauses import is_paused

        return is_paused(self._documents, message.session) is not None

    def is_running(self, message: QueuedMessage) -> bool:
        """Whether a deliverer asks a gateway to deliver this message now. Takes no lock, and writes nothing.

        Raises hookrouter.storage.interface.StoreError.
        """
        return (
            message.is_undecided
            and self._store.lock_holder("line", _lane(message.gateway, message.session)) is not None
        )

    def look_again(self) -> None:
        """Have deliverers that stay look at every message, and let the next push start one. Raises nothing.

        For whoever has changed something beside the messages, such as ended a pause.
        """
        wake_deliverers(self._home, self._store)

    def _follow(self, message: QueuedMessage, *, after_delivery: bool, since: float | None) -> None:
        for name, document in message.following(after_delivery=after_delivery, since=since):
            if self._store.read(KIND, name) is None:
                self._store.write(KIND, name, document)

    def postpone(self, seconds: float) -> bool:
        """Let no push start a deliverer for so long; return whether that could be noted."""
        return postpone(self._home, self._store, seconds)

    def put_aside(self) -> tuple[str, Sequence[str]]:
        """Return where corrupt documents were put aside, and their names, oldest first. Raises StoreError."""
        return self._store.put_aside()

    def prune(self, seconds: float) -> None:
        """Remove documents that were set aside as corrupt longer ago than this. Raises nothing."""
        self._store.prune(seconds)

    def delivering(self) -> DocumentLock:
        """Return the deliverer's lock for this process's environment, as a context manager.

        Entering raises StoreBusy if another one delivers for it.
        """
        self._delivering = self._store.lock("outbox", deliverer_lock(self._environment()), _PROBE_SECONDS)
        return self._delivering

    def is_delivering(self, environment: str) -> bool:
        """Whether a deliverer is at work for the environment of this mark. Raises StoreError."""
        return is_delivering(self._store, environment)

    def leave_delivery(self) -> None:
        """In a forked child of the deliverer: leave its lock to it."""
        if self._delivering is not None:
            self._delivering.forget()

    def lane(self, gateway: str, session: str) -> DocumentLock:
        """Return the lock of who delivers one lane of messages; it outlives a deliverer that was killed."""
        return self._store.lock("line", _lane(gateway, session), 0)

    def _change(self, name: str, change: Callable[[QueuedMessage], Mapping[str, Any]]) -> QueuedMessage | None:
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


def _lane(gateway: str, session: str) -> str:
    return f"{gateway}\0{session}"


def _new_id() -> tuple[int, str]:
    """Return the time in nanoseconds and an id that sorts after all ids of this process so far."""
    global _last_id
    last, counter = _last_id
    now = time.time_ns()
    # The clock may stand still or be set back between two messages.
    _last_id = (now, 0) if now > last else (last, counter + 1)
    return now, f"{_last_id[0]:019d}-{os.getpid()}-{_last_id[1]:04d}"
