"""The bell of each session, and what lies under it: one file that Claude Code watches, and the item on offer.

A deliverer offers an item and rings, which is to write the file. Claude Code then starts the hook of the doorbell,
which takes the offer and wakes Claude with it. Of what either does nothing is done twice: an offer is made, taken and
withdrawn under one lock, durably, each before the act that follows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.sessions.records import GONE, is_client_gone, list_records
from hookrouter.storage.documents import replace_file
from hookrouter.storage.home import DocumentKind, ensure
from hookrouter.util.clock import iso, now
from hookrouter.util.filenames import encode_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.queue.items import Item
    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentLock, DocumentStore, DocumentWatch

__all__ = [
    "BELL",
    "OFFERED",
    "TAKEN",
    "WITHDRAWN",
    "Offer",
    "bell_of",
    "hand_out",
    "make_offer",
    "prune_bells",
    "read_offer",
    "ring",
    "take",
    "watch_offer",
    "withdraw",
]

BELL = "hookrouter-bell"
"""The base name of every bell: what the entry's matcher lists."""

OFFERED, TAKEN, WITHDRAWN = "offered", "taken", "withdrawn"

_FOLDER = "bells"
_BELL, _OFFER = DocumentKind("doorbell"), DocumentKind("bell-offer")
_LOCK_SECONDS = 10.0
_KEPT_SECONDS = 24 * 3600.0
"""How long the bell of a session is kept that no client is known to have any more."""


class Offer(NamedTuple):
    """An item under a bell."""

    item: str
    """Its id."""
    state: str
    """``offered``, ``taken`` or ``withdrawn``."""


def hand_out(home: Home, store: DocumentStore, session_id: str, session: str) -> str:
    """Make the bell of a session, note that it was handed out, and return its absolute path.

    ``session`` is the session's name. Raises OSError and StoreError.
    """
    path = _path(home, session_id)
    for folder in (home.state, os.path.dirname(os.path.dirname(path)), os.path.dirname(path)):
        ensure(folder)
    # It is there before Claude Code looks for it: one that comes later may go unseen.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    os.close(descriptor)
    note = {"version": 1, "session": session, "path": path, "handed_out_at": iso()}
    store.write(_BELL, session_id, note, durable=False)
    return path


def bell_of(store: DocumentStore, session_id: str) -> str:
    """Return the path of the bell that a session was given; empty for none. Raises StoreError."""
    path = (store.read(_BELL, session_id) or {}).get("path")
    return path if isinstance(path, str) else ""


def ring(path: str) -> None:
    """Have Claude Code start the hook. Raises OSError."""
    replace_file(path, f"{iso()}\n".encode(), durable=False)


def prune_bells(home: Home, store: DocumentStore) -> None:
    """Remove the bells of sessions that have ended. Raises StoreError."""
    earliest = iso(now() - _KEPT_SECONDS)
    running = {one.session_id for one in list_records(store) if one.state != GONE and not is_client_gone(one)}
    for session_id, note in store.entries(_BELL):
        at = note.get("handed_out_at")
        if session_id in running or (isinstance(at, str) and at >= earliest):
            continue
        path = _path(home, session_id)
        for remove, what in ((os.unlink, path), (os.rmdir, os.path.dirname(path))):
            _removed(remove, what)
        store.delete(_OFFER, session_id)
        store.delete(_BELL, session_id)


def make_offer(store: DocumentStore, session_id: str, item: Item) -> None:
    """Lay an item under a session's bell, in place of what an earlier attempt has left there. Raises StoreError."""
    with _lock(store, session_id):
        store.write(_OFFER, session_id, _document(Offer(item.id, OFFERED)))


def read_offer(store: DocumentStore, session_id: str, item: str) -> str:
    """Return what became of the offer of an item; empty if it was never made. Raises StoreError."""
    offer = _read(store, session_id)
    return offer.state if offer is not None and offer.item == item else ""


def watch_offer(store: DocumentStore, session_id: str) -> DocumentWatch:
    """Return a watch on what lies under a session's bell."""
    return store.watch(_OFFER, session_id)


def take(store: DocumentStore, session_id: str, is_wanted: Callable[[str], bool]) -> str:
    """Take what is on offer for a session and return its item's id; empty if nothing is. Raises StoreError.

    ``is_wanted`` is asked, of the item's id, whether it may be taken now. Of several callers one takes it.
    """
    with _lock(store, session_id):
        offer = _read(store, session_id)
        if offer is None or offer.state != OFFERED or not is_wanted(offer.item):
            return ""
        # The text is given to Claude only after this.
        store.write(_OFFER, session_id, _document(offer._replace(state=TAKEN)))
        return offer.item


def withdraw(store: DocumentStore, session_id: str, item: str) -> bool:
    """See to it that nobody takes an item any more; return False if it was taken before. Raises StoreError."""
    with _lock(store, session_id):
        offer = _read(store, session_id)
        if offer is None or offer.item != item:
            return True
        if offer.state == OFFERED:
            store.write(_OFFER, session_id, _document(offer._replace(state=WITHDRAWN)))
        return offer.state != TAKEN


def _path(home: Home, session_id: str) -> str:
    return os.path.join(home.state, _FOLDER, encode_name(session_id), BELL)


def _lock(store: DocumentStore, session_id: str) -> DocumentLock:
    return store.lock(_OFFER, session_id, _LOCK_SECONDS)


def _document(offer: Offer) -> dict[str, object]:
    return {"version": 1, **offer._asdict(), "at": iso()}


def _read(store: DocumentStore, session_id: str) -> Offer | None:
    document = store.read(_OFFER, session_id) or {}
    item, state = document.get("item"), document.get("state")
    return Offer(item, state) if isinstance(item, str) and isinstance(state, str) else None


def _removed(remove: Callable[[str], None], path: str) -> None:
    try:
        remove(path)
    except OSError:
        # What is left of it is in nobody's way.
        return
