"""What a process that brings documents leaves to the next one: which of them the engine has.

To compare all documents costs the more, the longer a home lives, and an answer for another machine waits for it. What
is left holds only if the engine's last transaction is the last one of this home's: one that was begun and not heard of
may be there or not, and whatever else is missing or new there has all compared. It is written now and then. What was
brought since is brought again; what has gone since is seen by the names that the engine lists.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter_fleet.kinds import FLEET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.interface import DocumentStore

    Known = dict[tuple[str, str], dict[str, object]]
    """By area and kind, of each document in the engine the stamp of the file that it was read from."""

__all__ = ["Recalled", "Remembered"]

_LAST, _KNOWN = "last", "known"

WRITE_SECONDS = 30.0
"""Seconds between two times that all is written down."""


class Recalled(NamedTuple):
    """What a former process has left."""

    id: str
    """Under which it has brought documents."""
    number: int
    """That of its last transaction of which it has heard."""
    known: Known


class Remembered:
    """Keeps it in local documents. Methods may raise StoreError."""

    def __init__(self, store: DocumentStore) -> None:
        """``store`` is the local one."""
        self._store = store
        self._written_at = float("-inf")

    def begin(self, identifier: str) -> None:
        """Note that documents are brought under a new id from now on, by which nothing is known yet."""
        self._store.delete(FLEET, _KNOWN)
        self._written_at = float("-inf")
        self.note(identifier, 0, is_done=True)

    def note(self, identifier: str, number: int, *, is_done: bool) -> None:
        """Note that a transaction is begun, or that it is done."""
        last = {"version": 1, "id": identifier, "number": number, "is_done": is_done}
        self._store.write(FLEET, _LAST, last, durable=False)

    def write(self, identifier: str, known: Known) -> bool:
        """Write all down that is known, unless that was done a moment ago; return whether it was written."""
        if time.monotonic() - self._written_at < WRITE_SECONDS:
            return False
        places = [[area, kind, names] for (area, kind), names in known.items()]
        self._store.write(FLEET, _KNOWN, {"version": 1, "id": identifier, "places": places}, durable=False)
        self._written_at = time.monotonic()
        return True

    def recall(self, brought: Mapping[str, object]) -> Recalled | None:
        """Return what a former process has left; None if it does not hold for what the engine says was brought last."""
        last, left = self._store.read(FLEET, _LAST) or {}, self._store.read(FLEET, _KNOWN) or {}
        identifier, number = last.get("id"), last.get("number")
        if not isinstance(identifier, str) or not isinstance(number, int) or left.get("id") != identifier:
            return None
        allowed = (number,) if last.get("is_done") is True else (number - 1, number)
        there = brought.get("number")
        if brought.get("by") != identifier or not isinstance(there, int) or there not in allowed:
            return None
        known = _known(left.get("places"))
        return None if known is None else Recalled(identifier, there, known)


def _known(places: object) -> Known | None:
    """Read what stands in the document; None if it is none of ours."""
    found: Known = {}
    for place in places if isinstance(places, list) else [None]:
        if not (isinstance(place, list) and len(place) == 3 and isinstance(place[2], dict)):
            return None
        area, kind, names = place
        if not (isinstance(area, str) and isinstance(kind, str)):
            return None
        # A stamp is a pair, of which JSON makes a list.
        found[area, kind] = {name: tuple(stamp) if isinstance(stamp, list) else None for name, stamp in names.items()}
    return found
