"""A session's queue as a document, and the items that have ended as documents of their own.

``queue-<session>`` holds what is to be submitted in a session, in order, and what keeps it from that. Every change is a
read and a write under one lock, so that ended items never come back. An item that has ended becomes
``queued-item-<id>`` before it leaves the queue; these are kept for :data:`KEPT_SECONDS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.queue.items import QUEUED, STATES, Item
from hookrouter.storage.home import DocumentKind
from hookrouter.storage.interface import StoreBusy
from hookrouter.util.clock import iso, now
from hookrouter.util.fields import record, tables, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from hookrouter.storage.interface import DocumentStore, DocumentWatch

__all__ = [
    "Hold",
    "Queue",
    "change_queue",
    "end_many",
    "ended_items",
    "list_queues",
    "prune_ended",
    "queue_lock",
    "read_queue",
    "remove_queue",
    "watch_queue",
]

KIND = DocumentKind("queue", shared=True)
ENDED_KIND = DocumentKind("queued-item", shared=True)
VERSION = 1

KEPT_SECONDS = 14 * 24 * 3600.0
"""How long an item that has ended is kept."""

_LOCK_SECONDS = 10.0


class Hold(NamedTuple):
    """What keeps a queue from going on until somebody resumes it."""

    cause: str
    """What kind of thing it is: ``person`` (a prompt or key that is not ours), ``escape``, ``resumed`` (another session
    in this client, or this one goes on elsewhere), ``client_ended``, ``earlier_client`` (the queue is one that a client
    left), ``unproven``, ``undelivered`` (no channel can bring the next item into the session as it is), ``failed`` (a
    turn that ended in an error, or an item that no channel carries), ``limited`` (until a usage limit is over) or
    ``asked`` (by ``hookrouter queue hold``)."""
    reason: str
    """Why, in one sentence for an agent or a person."""
    at: str = ""
    """Since when, ISO 8601 in UTC."""
    until: str = ""
    """When it ends by itself, ISO 8601 in UTC; empty if somebody has to resume."""


class Queue(NamedTuple):
    """What waits to be submitted in one session."""

    session: str
    """The session's name."""
    items: tuple[Item, ...] = ()
    """The items that have not ended, in the order of their delivery."""
    hold: Hold | None = None
    """What keeps it from going on; None if nothing does."""
    session_id: str = ""
    """Claude Code's id of the session that it was last seen with; follows ``/clear``. Empty before any hook came."""
    client_pid: int = 0
    """The process id of the client that it was last seen with; 0 if it is not known."""

    @property
    def under_way(self) -> Item | None:
        """The item whose delivery has begun; None if there is none."""
        return next((item for item in self.items if item.is_under_way), None)

    @property
    def next(self) -> Item | None:
        """The first item that waits; None if none does."""
        return next((item for item in self.items if item.state == QUEUED), None)

    def item(self, name: str) -> Item | None:
        """Return the item of an id; None if it has ended, or there is none."""
        return next((item for item in self.items if item.id == name), None)

    def with_item(self, changed: Item) -> Queue:
        """Return the queue with an item in the place of the one of the same id."""
        return self._replace(items=tuple(changed if item.id == changed.id else item for item in self.items))

    def held(self, cause: str, reason: str, *, until: str = "") -> Queue:
        """Return the queue held. A hold that is there already stays, unless it would end by itself."""
        if self.hold is not None and not self.hold.until:
            return self
        return self._replace(hold=Hold(cause, reason, iso(), until))

    def ended(self, name: str, state: str, *, reason: str = "", proof: Mapping[str, Any] | None = None) -> Queue:
        """Return the queue with an item ended, for :func:`change_queue` to keep; the same if there is no such item."""
        item = self.item(name)
        if item is None:
            return self
        over = item._replace(state=state, ended_at=iso(), reason=reason, proof=item.proof if proof is None else proof)
        return self.with_item(over)


def read_queue(store: DocumentStore, session: str) -> Queue:
    """Return a session's queue; an empty one if there is none. Raises StoreError."""
    return _queue(session, store.read(KIND, session))


def list_queues(store: DocumentStore) -> list[Queue]:
    """Return every queue that holds something or is held, by session name. Raises StoreError."""
    # A name that is too long for the store's engine stands in the document alone.
    return [_queue(text(document, "session") or name, document) for name, document in store.entries(KIND)]


def change_queue(store: DocumentStore, session: str, change: Callable[[Queue], Queue | None]) -> Queue:
    """Change a queue in one step that no other process comes between, durably; return what it is then.

    ``change`` gets what is there and returns what is to be there; None, or the same, for no change. Items that it
    returns as ended are kept as such first, and leave the queue. A queue with nothing in it, that nothing holds, is
    removed. Raises StoreError, StoreBusy if another process keeps the lock.
    """
    return _changed(store, session, change, {})


def end_many(store: DocumentStore, session: str, change: Callable[[Queue], Queue]) -> Queue:
    """Change a queue as :func:`change_queue` does, by what may end thousands of items.

    Those are kept as ended before the lock is taken, so that no hook waits for it, and in the system's memory: if the
    machine goes down within seconds, they have left the queue, and what they were may be lost. Raises as ``change`` and
    :func:`change_queue` do; then none has ended by it.
    """
    kept = {item.id: item for item in change(read_queue(store, session)).items if item.is_ended}
    for item in kept.values():
        # One that has ended meanwhile is kept as what it has come to.
        store.create(ENDED_KIND, item.id, _ended_document(session, item), durable=False)
    ended: set[str] = set()

    def noted(queue: Queue) -> Queue:
        after = change(queue)
        ended.update(item.id for item in after.items if item.is_ended)
        return after

    try:
        return _changed(store, session, noted, kept)
    except BaseException:
        ended.clear()
        raise
    finally:
        for item in kept.values():
            # Its delivery has begun meanwhile, or nothing was changed. What it has come to by now stays.
            if item.id not in ended and (store.read(ENDED_KIND, item.id) or {}).get("state") == item.state:
                store.delete(ENDED_KIND, item.id)


def _changed(
    store: DocumentStore, session: str, change: Callable[[Queue], Queue | None], kept: Mapping[str, Item]
) -> Queue:
    """See :func:`change_queue`; ``kept`` are the items that are kept as ended already."""
    with queue_lock(store, session):
        before = read_queue(store, session)
        after = change(before)
        if after is None or after == before:
            return before
        for item in after.items:
            if item.is_ended and item.id not in kept:
                store.write(ENDED_KIND, item.id, _ended_document(session, item))
        after = after._replace(items=tuple(item for item in after.items if not item.is_ended))
        if after.items or after.hold is not None:
            store.write(KIND, session, _queue_document(after))
        else:
            store.delete(KIND, session)
        return after


def remove_queue(store: DocumentStore, session: str) -> Queue:
    """Remove a queue, because it goes on under another name; return what it was. Raises StoreError."""
    with queue_lock(store, session):
        found = read_queue(store, session)
        store.delete(KIND, session)
        return found


class queue_lock:  # noqa: N801 - it is used as a function is
    """The lock under which a queue is changed, for one ``with`` block.

    Entering raises StoreBusy, which names the lock and who holds it, and StoreError.
    """

    def __init__(self, store: DocumentStore, session: str) -> None:
        """``session`` is the session's name."""
        self._lock = store.lock(KIND, session, _LOCK_SECONDS)
        self._session = session

    def __enter__(self) -> None:
        """Take the lock."""
        try:
            self._lock.__enter__()
        except StoreBusy as busy:
            holder = f"the lock on the queue of session {self._session} is held for longer than {_LOCK_SECONDS:g} s"
            raise StoreBusy(f"{holder}, by {busy.holder}") from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""
        self._lock.__exit__(kind, error, trace)


def watch_queue(store: DocumentStore, session: str | None = None) -> DocumentWatch:
    """Return a watch on one queue, or on all of them."""
    return store.watch(KIND, session)


def ended_items(store: DocumentStore, named: Iterable[str] | None = None) -> list[tuple[str, Item]]:
    """Return session name and item of those that have ended, oldest first: all, or those with these ids."""
    if named is not None:
        wanted = [(name, store.read(ENDED_KIND, name)) for name in named]
    else:
        wanted = list(store.entries(ENDED_KIND))
    found = []
    for name, document in wanted:
        item = None if document is None else _item({**document, "id": name})
        if document is not None and item is not None:
            found.append((text(document, "session"), item))
    return sorted(found, key=lambda one: (one[1].ended_at, one[1].id))


def prune_ended(store: DocumentStore) -> None:
    """Remove the ended items that are older than :data:`KEPT_SECONDS`. Raises StoreError."""
    earliest = iso(now() - KEPT_SECONDS)
    for name, document in store.entries(ENDED_KIND):
        if text(document, "ended_at") < earliest:
            store.delete(ENDED_KIND, name)


def _document(item: Item) -> dict[str, object]:
    return {**item._asdict(), "proof": dict(item.proof)}


def _ended_document(session: str, item: Item) -> dict[str, object]:
    return {**_document(item), "session": session, "version": VERSION}


def _queue_document(queue: Queue) -> dict[str, object]:
    return {
        "version": VERSION,
        "session": queue.session,
        "items": [_document(item) for item in queue.items],
        "hold": None if queue.hold is None else queue.hold._asdict(),
        "session_id": queue.session_id,
        "client_pid": queue.client_pid,
    }


def _queue(session: str, document: Mapping[str, object] | None) -> Queue:
    """Read a document; entries that an edit by hand has broken are left out, and such a hold still holds."""
    if document is None:
        return Queue(session)
    items = tuple(item for entry in tables(document, "items") if (item := _item(entry)) is not None)
    return record(Queue, document, session=session, items=items, hold=_hold(document.get("hold")))


def _hold(value: object) -> Hold | None:
    if value is None:
        return None
    found = record(Hold, value if isinstance(value, dict) else {})
    return found if found.cause else found._replace(cause="asked")


def _item(entry: Mapping[str, object]) -> Item | None:
    # One without a state is none that waits.
    found = record(Item, entry, state=text(entry, "state"))
    return found if found.id and found.text and found.state in STATES else None
