"""The changes that people and agents make to a queue: put items in, edit, move and drop them, hold it and go on.

An item whose delivery has begun is no longer theirs: nothing here changes, moves or drops one. Each function that
takes a queue returns it changed, for :func:`hookrouter.queue.documents.change_queue`, and raises EditError if the
change is not allowed; then nothing is changed at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue.client_commands import never_runs
from hookrouter.queue.documents import change_queue
from hookrouter.queue.items import COMMAND, DROPPED, QUEUED, Item, ItemError, new_item
from hookrouter.queue.transitions import ASKED
from hookrouter.util.clock import iso
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hookrouter.queue.documents import Hold, Queue
    from hookrouter.storage.interface import DocumentStore

__all__ = [
    "EditError",
    "NotThereError",
    "added",
    "cleared",
    "dropped",
    "edited",
    "end_hold",
    "find_id",
    "hold",
    "moved",
    "new_items",
]

_MIDDLE = "-"
"""What stands in an id between its time and what makes it unique."""


class EditError(HookrouterError):
    """A queue cannot be changed so; the message says why."""


class NotThereError(EditError):
    """No item has this id, or more than one has an id that begins so."""


def new_items(texts: Sequence[str], *, by: str, who: str = "") -> list[Item]:
    """Return new items of these texts, in their order. Raises ItemError, which names each text that is refused."""
    items, faults = [], []
    for number, text in enumerate(texts, 1):
        try:
            items.append(_new_item(text, by=by, who=who))
        except ItemError as error:
            faults.append(f"text {number} of {len(texts)}: {error}" if len(texts) > 1 else str(error))
    if faults:
        raise ItemError("; ".join(faults))
    return items


def added(queue: Queue, items: Iterable[Item], *, first: bool = False) -> Queue:
    """Return the queue with items at its end, in their order; with ``first`` before all that wait."""
    at = _first_place(queue.items) if first else len(queue.items)
    return queue._replace(items=(*queue.items[:at], *items, *queue.items[at:]))


def edited(queue: Queue, name: str, text: str, *, by: str, who: str = "") -> Queue:
    """Return the queue with another text in an item, which whoever edits it now answers for.

    Raises EditError, and ItemError for a text that is refused.
    """
    item = _waiting(queue, name)
    made = _new_item(text, by=by, who=who)
    return queue.with_item(item._replace(kind=made.kind, text=made.text, by=by, who=who))


def moved(queue: Queue, name: str, *, before: str | None = None, first: bool = False) -> Queue:
    """Return the queue with an item before another one, or before all that wait, or else last. Raises EditError."""
    item = _waiting(queue, name)
    others = tuple(one for one in queue.items if one.id != name)
    at = len(others)
    if before is not None:
        if before == name:
            raise EditError(f"item {name} cannot be moved before itself")
        _waiting(queue, before)
        at = next(index for index, one in enumerate(others) if one.id == before)
    elif first:
        at = _first_place(others)
    return queue._replace(items=(*others[:at], item, *others[at:]))


def dropped(queue: Queue, names: Iterable[str], reason: str) -> Queue:
    """Return the queue with items dropped; what held nothing but them ends, unless somebody has asked for it.

    Raises EditError.
    """
    known, left = {item.id: item for item in queue.items}, set(names)
    for name in left:
        _check_waits(known.get(name), name)
    at = iso()
    items = tuple(
        item._replace(state=DROPPED, ended_at=at, reason=reason) if item.id in left else item for item in queue.items
    )
    hold = queue.hold
    is_idle = hold is not None and hold.cause != ASKED and all(item.is_ended for item in items)
    return queue._replace(items=items, hold=None if is_idle else hold)


def cleared(queue: Queue, reason: str) -> Queue:
    """Return the queue with all items dropped that wait; one whose delivery has begun stays."""
    return dropped(queue, [item.id for item in queue.items if item.state == QUEUED], reason)


def hold(store: DocumentStore, session: str, reason: str) -> Queue:
    """Hold a session's queue, and return it; what held it before goes on holding it. Raises StoreError."""
    return change_queue(store, session, lambda queue: queue.held(ASKED, reason))


def end_hold(store: DocumentStore, session: str) -> Hold | None:
    """End what holds a session's queue; return what held it, None if nothing did. Raises StoreError."""
    held: list[Hold] = []

    def change(queue: Queue) -> Queue | None:
        if queue.hold is None:
            return None
        held.append(queue.hold)
        return queue._replace(hold=None)

    change_queue(store, session, change)
    return held[0] if held else None


def find_id(name: str, ids: Mapping[str, object]) -> str:
    """Return the id, one of the keys, that a name means: itself, or the one that begins so, or whose last part does.

    Raises NotThereError if that is none, or more than one.
    """
    if name in ids:
        return name
    found = [one for one in ids if name and (one.startswith(name) or one.partition(_MIDDLE)[2].startswith(name))]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotThereError(f"{len(found)} items have an id like {name!r}: {', '.join(found[:5])}")
    raise NotThereError(f"there is no item {name!r}; 'hookrouter queue list --all' shows them")


def _new_item(text: str, *, by: str, who: str) -> Item:
    """Return a new item. Raises ItemError, also for a command that would hold the session, or end it."""
    item = new_item(text, by=by, who=who)
    if item.kind == COMMAND and (why := never_runs(item.text)):
        raise ItemError(f"{why}, so it is not queued")
    return item


def _waiting(queue: Queue, name: str) -> Item:
    return _check_waits(queue.item(name), name)


def _check_waits(item: Item | None, name: str) -> Item:
    if item is None:
        raise EditError(f"item {name} has ended, or has left this queue")
    if item.state != QUEUED:
        raise EditError(f"the delivery of item {name} has begun (it is {item.state}): it cannot be changed any more")
    return item


def _first_place(items: Sequence[Item]) -> int:
    """Return the place before the first item that waits, behind those whose delivery has begun."""
    waiting = (index for index, one in enumerate(items) if one.state == QUEUED)
    return next(waiting, len(items))
