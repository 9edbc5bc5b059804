"""Brings one machine's documents from its files to the engine, and, where its disk was lost, back.

The files are the truth about this machine; nobody else writes what stands in the engine under its name. So what differs
is simply brought there again, whatever was interrupted, and as often as it takes.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from socket import gethostname
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.messaging.spawn import KIND as MESSAGE
from hookrouter.storage.engine import open_store
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter_fleet import comparing
from hookrouter_fleet.kinds import AREAS, FLEET
from hookrouter_fleet.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hookrouter.storage.home import DocumentKind, Home
    from hookrouter.storage.interface import Storage

__all__ = ["PRESENCE", "Brought", "Replica", "ReplicaError", "problems"]

_NOT_THIS_HOME = (
    "the documents under the name {machine!r} are another home's ({place}); give this one another name "
    "([storage] machine in {config}), or, if it takes the other's place: hookrouter storage copy --to files"
)

_IN_USE = (
    "another process writes documents under the name {machine!r} ({holder}); if it is another home's, give this one "
    "another name: [storage] machine in {config}"
)

PRESENCE = "machine", "home"
"""Kind and name of the lock, in the area of the fleet, that says that a machine's process is at work."""

_HOME = "home"
_BROUGHT = "brought"
"""The document that says who has brought documents last, and how often. Each transaction counts it on, and fails if the
engine has lost the one before."""
_BATCH = 500
"""How many documents are brought in one transaction."""

_Place = tuple[str, str]
"""Area and kind."""

_OPEN = ("question", "pending-answer", "session", "queue", "paused", MESSAGE)
"""The kinds that somebody may wait for: few documents beside those of what has ended."""


class ReplicaError(StoreError):
    """The engine holds another home's documents under this machine's name; the message says what to do."""


class Brought(NamedTuple):
    """What one round has done."""

    written: int = 0
    """How many documents were written to the engine."""
    deleted: int = 0
    """How many were deleted there."""
    same: int = 0
    """At the first round: how many were there already."""

    def __add__(self, other: object) -> Brought:
        """Return the sum of two."""
        if not isinstance(other, Brought):
            return NotImplemented
        return Brought(*(one + two for one, two in zip(self, other, strict=True)))


class _Change(NamedTuple):
    place: _Place
    name: str
    document: Mapping[str, object] | None
    """None: it is gone."""
    stamp: object


class Replica:
    """One home's documents, and what is known of them in the engine. For one thread."""

    def __init__(
        self,
        home: Home,
        storage: Storage,
        machine: str,
        shared: Iterable[DocumentKind],
        report: Callable[[str], None],
    ) -> None:
        """``shared`` are the kinds that are brought; ``report`` hears of documents that were corrupt and put aside.

        Touches nothing yet.
        """
        self._home = home
        self._machine = machine
        self._report = report
        places = ((kind.area, kind.name) for kind in shared)
        self._places: list[_Place] = sorted(places, key=lambda place: place[1] not in _OPEN)
        """All that is brought, what is open first."""
        self._local = {area: open_store(home, report, area) for area in AREAS}
        self._holder: str | None = None
        self._known: dict[_Place, dict[str, object]] = {}
        """Of each document that is in the engine, the stamp of the file that it was read from."""
        self._id = os.urandom(16).hex()
        self._number = 0
        """How many transactions of this id are known to be saved."""
        self._remembered = Remembered(self._local[""])
        self._recalled: set[_Place] = set()
        """Those of which a former process knew what is in the engine, until the names there are looked at."""
        self._is_new = True
        self._is_more_known = False
        """Whether something is known by now that was not written down."""
        self.go_on_with(storage)

    def go_on_with(self, storage: Storage) -> None:
        """Bring to an engine that was opened anew. Touches nothing yet; enter :meth:`lock` and :meth:`settle` again.

        What is known of the documents there is used further if the engine has lost nothing, and nobody else has brought
        any: to compare all of them costs the more, the longer a home lives, and an engine that keeps failing would
        never be caught up with.
        """
        self._engine = {area: storage.store(area, self._report) for area in AREAS}
        self._own = storage.store(FLEET, self._report)
        self._storage = storage

    @contextmanager
    def lock(self, timeout: float = 0.0) -> Iterator[None]:
        """Hold the lock under which this home brings documents under its machine's name, in the block.

        Whoever holds it is there for the others. Entering waits up to ``timeout`` seconds, and then raises ReplicaError
        if another process holds it.
        """
        try:
            lock = self._own.lock(*PRESENCE, timeout)
            lock.__enter__()
        except StoreBusy as error:
            raise ReplicaError(
                _IN_USE.format(machine=self._machine, holder=error, config=self._home.config_file)
            ) from error
        try:
            self._holder = self._own.lock_holder(*PRESENCE)
            yield
        finally:
            lock.__exit__(None, None, None)

    def check_lock(self) -> None:
        """See that this process holds the lock still: one that stood still may have lost it to another home's.

        Raises StoreError.
        """
        holder = self._own.lock_holder(*PRESENCE)
        if holder is None or holder != self._holder:
            raise StoreError(f"the lock of the machine {self._machine!r} was lost{f' to {holder}' if holder else ''}")

    def check_home(self) -> None:
        """See that the documents in the engine may be this home's. Writes nothing.

        Raises ReplicaError if they are another home's, and StoreError.
        """
        here, there = self._identities()
        if here is not None and here.get("state") != self._home.state:
            raise ReplicaError(self._not_this_home(here))
        if there is not None and (here is None or there.get("id") != here.get("id")):
            raise ReplicaError(self._not_this_home(there))

    def settle(self, *, compare: bool = False) -> None:
        """See that they are this home's from now on. Call it with the lock in hand, before the first round that writes.

        ``compare``: the first round compares all, whatever a former process has left. Raises as :meth:`check_home`
        does.
        """
        self.check_home()
        here, there = self._identities()
        if here is None:
            here = self._identity()
            self._local[""].write(FLEET, _HOME, here)
        if there is None:
            self._own.write(FLEET, _HOME, here)
        brought = self._own.read(FLEET, _BROUGHT) or {}
        if self._is_new and not compare and (recalled := self._remembered.recall(brought)) is not None:
            self._id, self._number, self._known = recalled
            self._recalled = set(self._known)
        self._is_new = False
        number = brought.get("number")
        if brought.get("by") == self._id and isinstance(number, int) and number >= self._number:
            # Of one that broke off it is not known whether it was saved: what it brought is brought again.
            self._number = number
            return
        self._forget()
        # A new one: what was left under the former does not hold any more.
        self._id, self._number = os.urandom(16).hex(), 0
        self._remembered.begin(self._id)
        self._own.write(FLEET, _BROUGHT, self._count(0))

    def _forget(self) -> None:
        self._known.clear()
        self._recalled.clear()

    def _count(self, number: int) -> dict[str, object]:
        return {"version": 1, "by": self._id, "number": number}

    def take_over(self) -> Brought:
        """Bring the machine's documents from the engine to the files, and take the place of the home they were of.

        For a home whose disk was lost, or that has moved. A file that is there stays as it is. Call it with the lock in
        hand. Raises StoreError.
        """
        found = Brought()
        for area, kind in self._places:
            for name, document in self._engine[area].entries(kind):
                was_none = self._local[area].create(kind, name, document) is None
                found += Brought(written=was_none, same=not was_none)
        here = self._identity()
        self._local[""].write(FLEET, _HOME, here)
        self._own.write(FLEET, _HOME, here)
        self._forget()
        return found

    def bring(self, *, dry_run: bool = False, beside: Callable[[], None] | None = None) -> Brought:
        """Bring what has changed since the last round. Raises StoreError; what was not brought then is brought later.

        The first round compares each document with the engine's, unless a former process has left what is there
        (:mod:`hookrouter_fleet.remembered`), and so does one that was asked for it
        (:mod:`hookrouter_fleet.comparing`). It brings what is open before it compares the rest. ``dry_run``: only say
        what would be done. ``beside`` is called in the last transaction, and writes what belongs to it.
        """
        found, batch = Brought(), list[_Change]()
        asked = "" if dry_run else comparing.asked(self._local[""])
        if asked:
            self._forget()
        for place in self._places:
            if batch and not dry_run and place[1] not in _OPEN and place not in self._known:
                found += self._brought(batch, None)
                batch = []
            same = 0
            for change in self._changes(place):
                if isinstance(change, _Change):
                    batch.append(change)
                else:
                    same += 1
            found += Brought(same=same)
        if dry_run:
            self._forget()
            return found + _sum(batch)
        found += self._brought(batch, beside)
        self._is_more_known |= found != Brought()
        if self._is_more_known and self._remembered.write(self._id, self._known):
            self._is_more_known = False
        if asked:
            comparing.answer(self._local[""], asked, found._asdict())
        return found

    def _brought(self, batch: list[_Change], beside: Callable[[], None] | None) -> Brought:
        """Write changes, in one transaction if they are not too many; return what was done."""
        parts = [batch[begin : begin + _BATCH] for begin in range(0, len(batch), _BATCH)]
        if not parts and beside is not None:
            parts.append([])
        for part in parts:
            self._write(part, beside if part is parts[-1] else None)
        return _sum(batch)

    def _changes(self, place: _Place) -> Iterator[_Change | None]:
        """Yield what is to be brought of one kind; None for each document that the engine has already."""
        area, kind = place
        stamps = dict(self._local[area].stamps(kind))
        there: dict[str, Any] | None = None
        if place not in self._known:
            there = dict(self._engine[area].entries(kind))
            self._known[place] = dict.fromkeys(there)
        known = self._known[place]
        if place in self._recalled:
            names = self._engine[area].stamps(kind)
            known = self._known[place] = {name: known.get(name) for name in names}
            self._recalled.discard(place)
        changed = {name for name, stamp in stamps.items() if known.get(name) != stamp}
        if changed:
            for name, document in self._local[area].entries(kind, changed.__contains__):
                if name not in changed:
                    # The whole name of a file that an earlier release wrote became known in between.
                    continue
                if there is not None and there.get(name) == document:
                    known[name] = stamps[name]
                    yield None
                else:
                    yield _Change(place, name, document, stamps[name])
        for name in known.keys() - stamps.keys():
            yield _Change(place, name, None, None)

    def _write(self, batch: list[_Change], beside: Callable[[], None] | None) -> None:
        for change in batch:
            if change.document is not None:
                # It may be there from now on, whatever is heard of it: if its file goes, it is removed there.
                self._known[change.place][change.name] = None
        self._remembered.note(self._id, self._number + 1, is_done=False)
        with self._storage.together():
            for change in batch:
                area, kind = change.place
                if change.document is None:
                    self._engine[area].delete(kind, change.name)
                else:
                    self._engine[area].write(kind, change.name, change.document)
            if beside is not None:
                beside()
            last, following = self._count(self._number), self._count(self._number + 1)
            if not self._own.replace(FLEET, _BROUGHT, following, unchanged=last):
                # As one may that goes on with a copy which lagged behind, and says nothing of it.
                raise StoreError(f"the engine has lost what was written last under the name {self._machine!r}")
        self._number += 1
        self._remembered.note(self._id, self._number, is_done=True)
        for change in batch:
            if change.document is None:
                self._known[change.place].pop(change.name, None)
            else:
                self._known[change.place][change.name] = change.stamp

    def _identities(self) -> tuple[dict[str, object] | None, dict[str, object] | None]:
        """Return which home this one says that it is, and which one the engine has under the machine's name."""
        return self._local[""].read(FLEET, _HOME), self._own.read(FLEET, _HOME)

    def _identity(self) -> dict[str, object]:
        """Return a new identity of this home. A copy of its folder is another home."""
        return {"version": 1, "id": os.urandom(16).hex(), "host": gethostname(), "state": self._home.state}

    def _not_this_home(self, there: Mapping[str, object]) -> str:
        place = f"{there.get('state')} on {there.get('host')}"
        return _NOT_THIS_HOME.format(machine=self._machine, place=place, config=self._home.config_file)


def _sum(changes: Sequence[_Change]) -> Brought:
    gone = sum(change.document is None for change in changes)
    return Brought(written=len(changes) - gone, deleted=gone)


def problems(home: Home, storage: Storage, machine: str, report: Callable[[str], None]) -> list[str]:
    """Return what keeps this home's documents from the engine, in words, each with what to do. Writes nothing.

    Arguments: as :class:`Replica` has them. Raises StoreError.
    """
    found = list(storage.check())
    if not found:
        try:
            Replica(home, storage, machine, (), report).check_home()
        except ReplicaError as error:
            found.append(str(error))
    return found
