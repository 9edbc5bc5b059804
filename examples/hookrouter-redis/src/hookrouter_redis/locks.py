"""Locks between processes of all machines: keys with a lease, which a thread renews while the block lasts.

On the machine of its holder a lock ends with the holder's process, on others when its lease does.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import attrs
import redis
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util import clock, fastjson
from hookrouter.util.claude_process import is_gone, process_space
from redis.exceptions import LockError

if TYPE_CHECKING:
    from types import TracebackType

    from hookrouter_redis.server import Server

__all__ = ["Lock", "holder_of"]

_LEASE = 15.0
"""Seconds after which a lock ends that is not renewed."""
_RENEW = 4.0
"""Seconds between two renewals."""
_PAUSE = 0.05
"""Seconds between two tries at a lock that another process holds."""


@attrs.frozen
class _Holder:
    """Who holds a lock, which is the value of its key."""

    id: str = attrs.field(factory=lambda: uuid.uuid4().hex)
    space: str = attrs.field(factory=process_space)
    """What tells this machine's process numbers from those of others."""
    pid: int = attrs.field(factory=os.getpid)
    host: str = attrs.field(factory=socket.gethostname)
    since: str = attrs.field(factory=clock.iso)

    def token(self) -> bytes:
        return fastjson.dumps(attrs.asdict(self)).encode()

    def has_ended(self) -> bool:
        return self.space == process_space() and is_gone(self.pid)

    def words(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class Lock:
    """A lock for one ``with`` block: redis-py's own, which is renewed, and tells who holds it."""

    def __init__(self, server: Server, key: bytes, title: str, timeout: float) -> None:
        self._server = server
        self._key = key
        self._title = title
        self._timeout = timeout
        self._lease: _Lease | None = None

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self._timeout
        with self._server.client() as client:
            lock = client.lock(self._key, timeout=_LEASE, thread_local=False)
            while not lock.acquire(blocking=False, token=_Holder().token()):
                token = client.get(self._key)
                if token is None:
                    continue
                holder = _read(token)
                if holder.has_ended():
                    with suppress(LockError):
                        lock.do_release(token)
                elif time.monotonic() >= deadline:
                    raise StoreBusy(holder.words())
                else:
                    time.sleep(_PAUSE)
        self._lease = _Lease(lock)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lease, self._lease = self._lease, None
        if lease is not None and not lease.end() and error is None:
            raise StoreError(f"the lock {self._title} was lost while it was held; look at what was changed under it")

    def forget(self) -> None:
        """In a forked child: leave the lock to the parent."""
        self._lease = None


class _Lease:
    """One taking of a lock; a thread renews it."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._pid = os.getpid()
        self._ended = threading.Event()
        self._until = time.monotonic() + _LEASE
        self._thread = threading.Thread(target=self._renew, name="redis-lease", daemon=True)
        self._thread.start()

    def end(self) -> bool:
        """Release it, unless this is a forked child's copy; return whether it was held until now."""
        if self._pid != os.getpid():
            return True
        self._ended.set()
        self._thread.join()
        try:
            self._lock.release()
        except LockError:
            return False
        except redis.RedisError:
            # It ends with its lease.
            return time.monotonic() < self._until
        return True

    def _renew(self) -> None:
        while not self._ended.wait(_RENEW):
            began = time.monotonic()
            try:
                self._lock.extend(_LEASE, replace_ttl=True)
            except LockError:
                return
            except redis.RedisError:
                continue
            self._until = began + _LEASE


def holder_of(server: Server, key: bytes) -> str | None:
    """Return who holds a lock, in words for a person; None if nobody does."""
    with server.client() as client:
        token = client.get(key)
    if token is None or (holder := _read(token)).has_ended():
        return None
    return holder.words()


def _read(token: bytes) -> _Holder:
    found: Any = fastjson.loads(token)
    return _Holder(**found)
