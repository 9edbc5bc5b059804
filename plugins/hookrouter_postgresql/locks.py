"""Locks between processes of all machines, as rows with a lease, whose times are the database's clock alone.

On the machine of its holder a lock ends with the holder's process, as a lock of a file does. For other machines it ends
when its lease does: the holder renews it, unless it, its machine or its network has stopped.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.clock import iso
from hookrouter_postgresql.failures import OutcomeUnknown
from hookrouter_postgresql.processes import Process, this_process

if TYPE_CHECKING:
    from types import TracebackType

    from hookrouter_postgresql.access import Access

    Key = tuple[str, str, str, bytes]

__all__ = ["Lock", "forget_ended", "holder"]

_LEASE = 15.0
"""Seconds after which a lock ends that is not renewed."""
_RENEW = 5.0
"""Seconds between two renewals."""
_AGAIN = 1.0
"""Seconds after which a renewal, or a release, that failed is tried again."""
_LET_GO = 600.0
"""Seconds for which a release is tried again. After that the lock ends with this process, or on other machines."""
_POLL = (0.02, 0.2)
"""Seconds between two tries at a lock, at first and at last."""

_given_up: set[uuid.UUID] = set()
"""The owners of locks that this process does not hold, and that could not be released yet."""

_KEY = "machine = %s AND area = %s AND kind = %s AND digest = %s"
_TAKE = (
    "INSERT INTO {schema}.lock AS old (machine, area, kind, digest, owner, host, place, pid, started, expires_at) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp() + %s * interval '1 second') "
    "ON CONFLICT (machine, area, kind, digest) DO UPDATE SET owner = excluded.owner, host = excluded.host, "
    "place = excluded.place, pid = excluded.pid, started = excluded.started, taken_at = clock_timestamp(), "
    "expires_at = excluded.expires_at "
    "WHERE old.owner = %s OR old.expires_at < clock_timestamp() AND (old.place = '' OR old.place <> excluded.place) "
    "RETURNING owner"
)
"""Takes a lock that nobody holds, that is another machine's and has run out, or whose owner is known to have ended."""
_RENEWED = (
    f"UPDATE {{schema}}.lock SET expires_at = clock_timestamp() + %s * interval '1 second' WHERE {_KEY} "
    "AND owner = %s RETURNING owner"
)
_RELEASE = f"DELETE FROM {{schema}}.lock WHERE {_KEY} AND owner = %s RETURNING owner"
_LOOK = (
    "SELECT owner, host, place, pid, started, extract(epoch FROM taken_at)::float8, expires_at < clock_timestamp() "
    f"FROM {{schema}}.lock WHERE {_KEY}"
)
_ENDED = (
    "SELECT owner, host, place, pid, started FROM {schema}.lock WHERE machine = %s AND area = %s "
    "AND expires_at < clock_timestamp() - %s * interval '1 second'"
)
_FORGET = (
    "DELETE FROM {schema}.lock WHERE machine = %s AND area = %s AND owner = ANY(%s) "
    # It may have been renewed meanwhile.
    "AND expires_at < clock_timestamp()"
)


class Lock:
    """A lock for one ``with`` block: :class:`hookrouter.storage.interface.DocumentLock`."""

    def __init__(self, access: Access, key: Key, title: str, timeout: float) -> None:
        """``title`` names it for people. Takes nothing before the block is entered."""
        self._access = access
        self._key = key
        self._title = title
        self._timeout = timeout
        self._held: _Lease | None = None

    def __enter__(self) -> Lock:
        """Take the lock. Raises StoreBusy if another process keeps it for too long, and StoreError."""
        deadline = time.monotonic() + self._timeout
        pause, most = _POLL
        ended: uuid.UUID | None = None
        while True:
            owner = uuid.uuid4()
            began = time.monotonic()
            if self._take(owner, ended):
                self._held = _Lease(self._access, self._key, owner, began)
                return self
            found = _look(self._access, self._key)
            if found is None or found.is_over():
                # Released meanwhile, or its process has ended: the next try takes it, if no third one has.
                ended = None if found is None else found.owner
                continue
            ended = None
            left = deadline - time.monotonic()
            if left <= 0:
                raise StoreBusy(found.words())
            time.sleep(min(pause, left))
            pause = min(pause * 2, most)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock. Raises StoreError if it was lost before, unless something else is being raised."""
        held, self._held = self._held, None
        if held is None or held.is_parents() or held.release() or error is not None:
            return
        raise StoreError(
            f"the lock {self._title} was lost while it was held: this process or its network had stopped for "
            f"more than {_LEASE:g} seconds; look at what it has changed"
        )

    def forget(self) -> None:
        """In a forked child: leave the lock, if it is held, to the parent."""
        self._held = None

    def _take(self, owner: uuid.UUID, ended: uuid.UUID | None) -> bool:
        me = this_process()
        values = (*self._key, owner, me.host, me.place, me.pid, me.started, _LEASE, ended)
        try:
            with self._access.connections.apart():
                return bool(self._access.run(_TAKE, values, durable=False))
        except BaseException as error:
            if isinstance(error, OutcomeUnknown) or not isinstance(error, StoreError):
                # It may have been taken, and this process may live for long.
                _given_up.add(owner)
                threading.Thread(target=_let_go, args=(self._access, self._key, owner), daemon=True).start()
            raise


class _Lease:
    """One taking of a lock: a thread renews it until it is released."""

    def __init__(self, access: Access, key: Key, owner: uuid.UUID, began: float) -> None:
        self._access = access
        self._key = key
        self._owner = owner
        self._pid = os.getpid()
        self._until = began + _LEASE
        self._is_lost = False
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="hookrouter-lease", daemon=True)
        self._thread.start()

    def is_parents(self) -> bool:
        """Whether this is a forked child's copy."""
        return self._pid != os.getpid()

    def release(self) -> bool:
        """End it; return whether it was held until now. If the database is away, the thread goes on trying."""
        is_held = not self._is_lost
        try:
            is_held = _delete(self._access, self._key, self._owner) and is_held
        except StoreError:
            is_held = is_held and time.monotonic() < self._until
            _given_up.add(self._owner)
            self._released.set()
            return is_held
        self._is_lost = True
        self._released.set()
        self._thread.join()
        return is_held

    def _renew(self) -> None:
        pause = _RENEW
        while not self._released.wait(pause):
            began = time.monotonic()
            try:
                if not self._access.run(_RENEWED, (_LEASE, *self._key, self._owner), durable=False):
                    self._is_lost = True
                    return
            except StoreError:
                pause = _AGAIN
            else:
                self._until, pause = began + _LEASE, _RENEW
        if not self._is_lost:
            _let_go(self._access, self._key, self._owner)


def _delete(access: Access, key: Key, owner: uuid.UUID) -> bool:
    with access.connections.apart():
        return bool(access.run(_RELEASE, (*key, owner), durable=False))


def _let_go(access: Access, key: Key, owner: uuid.UUID) -> None:
    """Release a lock as soon as the database is there, if that is before long."""
    until = time.monotonic() + _LET_GO
    while time.monotonic() < until:
        with suppress(StoreError):
            _delete(access, key, owner)
            _given_up.discard(owner)
            return
        time.sleep(_AGAIN)


class _Found:
    """A lock's row, as it was seen."""

    def __init__(self, row: tuple[uuid.UUID, str, str, int, str, float, bool]) -> None:
        self.owner, host, place, pid, started, self._taken, self._has_run_out = row
        self._process = Process(host, place, pid, started)

    def is_over(self) -> bool:
        """Whether nobody holds it."""
        if self.owner in _given_up:
            return True
        if self._process.is_here():
            return self._process.has_ended()
        return self._has_run_out

    def words(self) -> str:
        """Return who holds it, for people."""
        return f"process {self._process.pid} on {self._process.host}, since {iso(self._taken)}"


def _look(access: Access, key: Key) -> _Found | None:
    with access.connections.apart():
        rows = access.run(_LOOK, key)
    return _Found(rows[0]) if rows else None


def holder(access: Access, key: Key) -> str | None:
    """Return who holds a lock, in words for a person; None if nobody does. Raises StoreError."""
    found = _look(access, key)
    return None if found is None or found.is_over() else found.words()


def forget_ended(access: Access, place: tuple[str, str], seconds: float) -> None:
    """Remove the locks of an area that ran out longer ago than this and that nobody holds. Raises StoreError."""
    rows = access.run(_ENDED, (*place, max(seconds, 0.0)))
    over = [owner for owner, *words in rows if not (process := Process(*words)).is_here() or process.has_ended()]
    if over:
        access.run(_FORGET, (*place, over))
