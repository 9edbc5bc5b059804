"""How Linux tells one process of changes in folders, once for all its watches.

inotify tells which entries have changed, but a user may have no more than 128 instances of it by default, other
programs' included. So a process takes one for all folders, and gives it back when it watches none. If there is none
left it is told by dnotify, which has no such limit and says only that something has changed: a signal, SIGURG, which
does nothing to a process that does not expect it. It is blocked and read from a descriptor, so no handler runs, and
it is addressed to the thread that watches.
"""

from __future__ import annotations

import _thread
import ctypes
import fcntl
import os
import select
import struct
from typing import TYPE_CHECKING, Protocol

from hookrouter.util.system import is_darwin

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Subscription", "subscribe"]

_CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
_EVENTS = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_OVERFLOW = 0x4000
_EVENT = struct.Struct("iIII")
"""What the system writes before the name of an entry: watch, kind of change, cookie, length of the name."""

_SET_OWNER, _THREAD = 15, 0
"""F_SETOWN_EX and F_OWNER_TID, which Python has no names for."""
_SIGNAL_INFO = 128
"""Bytes of what the system writes for each signal to a descriptor that signals are read from."""
_SIGNAL_SET = 128
"""Bytes of the C library's set of signals."""


class _Source(Protocol):
    """What tells of changes: inotify or dnotify."""

    descriptor: int

    def add(self, folder: str) -> int:
        """Begin to tell of a folder; return a key for it. Raises OSError."""

    def remove(self, key: int) -> None:
        """End telling of it."""

    def read(self) -> Iterable[tuple[int | None, str | None]]:
        """Return what has changed since the last call: keys (None: any) and names of entries (None: not known)."""

    def close(self) -> None:
        """End."""


class Subscription:
    """One watch's share of what the process is told of one folder."""

    def __init__(self, hub: _Hub, key: int) -> None:
        """Made by :func:`subscribe`."""
        self._hub = hub
        self.key = key
        self.names: set[str] = set()
        self.is_vague = False
        """Whether something has changed of which the system does not say what."""
        # Readable while the process has been told of something, or another watch has read what this one is to know.
        self._told = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._ready = select.epoll()
        for descriptor in (hub.source.descriptor, self._told):
            self._ready.register(descriptor, select.EPOLLIN)

    def fileno(self) -> int:
        """Return a descriptor that can be read when :meth:`changed` is worth a call."""
        return self._ready.fileno()

    def changed(self) -> set[str] | None:
        """Return the names of the entries that have changed since the last call; None if they are not known."""
        return self._hub.changed(self)

    def tell(self, name: str | None) -> None:
        """Note a change. The lock is held."""
        if name is None:
            self.is_vague = True
        else:
            self.names.add(name)
        os.eventfd_write(self._told, 1)

    def take(self) -> set[str] | None:
        """Return what was noted, and forget it. The lock is held."""
        names, is_vague = self.names, self.is_vague
        self.names, self.is_vague = set(), False
        if names or is_vague:
            os.eventfd_read(self._told)
        return None if is_vague else names

    def close(self) -> None:
        """End. In a forked child it leaves the parent's watch alone."""
        self._hub.leave(self)
        self._ready.close()
        os.close(self._told)


class _Hub:
    """The one source of a process, and who is told by it. All but what takes the lock is for those who hold it."""

    def __init__(self, source: _Source) -> None:
        self.source = source
        self.pid = os.getpid()
        self._subscriptions: dict[int, set[Subscription]] = {}

    def join(self, folder: str) -> Subscription:
        """Return a new share of what is told of a folder. Raises OSError."""
        key = self.source.add(folder)
        mine = self._subscriptions.setdefault(key, set())
        try:
            subscription = Subscription(self, key)
        except OSError:
            if not mine:
                del self._subscriptions[key]
                self.source.remove(key)
            raise
        mine.add(subscription)
        return subscription

    def is_used(self) -> bool:
        """Whether anybody is told of anything."""
        return bool(self._subscriptions)

    def changed(self, subscription: Subscription) -> set[str] | None:
        """Read what the system tells, for all, and return what it tells this one."""
        with _lock:
            for key, name in self.source.read():
                for one in self._every() if key is None else self._subscriptions.get(key, ()):
                    one.tell(name)
            return subscription.take()

    def _every(self) -> list[Subscription]:
        return [one for many in self._subscriptions.values() for one in many]

    def leave(self, subscription: Subscription) -> None:
        """End a share; with the last one the source is given back."""
        if self.pid != os.getpid():
            return
        with _lock:
            left = self._subscriptions[subscription.key]
            left.discard(subscription)
            if not left:
                del self._subscriptions[subscription.key]
                self.source.remove(subscription.key)
            if not self._subscriptions:
                self.source.close()
                _forget(self)


_hubs: dict[str, _Hub] = {}
"""The hub of this process, by kind of source; of dnotify one for each thread."""

_lock = _thread.allocate_lock()
"""Held while hubs and subscriptions change: a hub that one thread ends must not be joined by another."""


def _renew_lock() -> None:
    """Have a lock of its own in a forked child, whose thread may not be the one that held it."""
    global _lock
    _lock = _thread.allocate_lock()


os.register_at_fork(after_in_child=_renew_lock)


def subscribe(folder: str) -> Subscription | None:
    """Begin to be told of a folder's changes; None if the system has no way of telling."""
    if is_darwin:
        return None
    with _lock:
        return _subscribe(folder)


def _subscribe(folder: str) -> Subscription | None:
    for name, source in (("inotify", _Inotify), (f"dnotify-{_thread.get_native_id()}", _Dnotify)):
        hub = _hubs.get(name)
        try:
            if hub is None or hub.pid != os.getpid():
                # What a parent had is the parent's: both would read from one queue.
                hub = _Hub(source())
            subscription = hub.join(folder)
        except (OSError, AttributeError):
            if hub is not None and hub.pid == os.getpid() and not hub.is_used():
                hub.source.close()
                _forget(hub)
            continue
        _hubs[name] = hub
        return subscription
    return None


def _forget(hub: _Hub) -> None:
    for name in [name for name, one in _hubs.items() if one is hub]:
        del _hubs[name]


class _Inotify:
    """Tells which entries of a folder were written, made, renamed or removed."""

    def __init__(self) -> None:
        """Raises OSError if the user has as many as the system allows, AttributeError without such a thing."""
        self._library = ctypes.CDLL(None, use_errno=True)
        self.descriptor: int = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def add(self, folder: str) -> int:
        key: int = self._library.inotify_add_watch(self.descriptor, os.fsencode(folder), ctypes.c_uint32(_EVENTS))
        if key < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")
        return key

    def remove(self, key: int) -> None:
        # Fails for a folder that is gone, whose watch the system has ended itself.
        self._library.inotify_rm_watch(self.descriptor, key)

    def read(self) -> list[tuple[int | None, str | None]]:
        try:
            events = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return []
        told: list[tuple[int | None, str | None]] = []
        place = 0
        while place < len(events):
            key, mask, _cookie, length = _EVENT.unpack_from(events, place)
            place += _EVENT.size
            if mask & _OVERFLOW:
                told.append((None, None))
            else:
                # Without a name it is about the folder itself.
                name = os.fsdecode(events[place : place + length].rstrip(b"\0"))
                told.append((key, name or None))
            place += length
        return told

    def close(self) -> None:
        os.close(self.descriptor)


class _Dnotify:
    """Tells that something in one of its folders has changed."""

    def __init__(self) -> None:
        """Raises OSError or AttributeError if the system has no such thing."""
        import signal

        self._signal = signal.SIGURG
        library = ctypes.CDLL(None, use_errno=True)
        signals = ctypes.create_string_buffer(_SIGNAL_SET)
        library.sigemptyset(signals)
        library.sigaddset(signals, self._signal)
        self.descriptor: int = library.signalfd(-1, signals, os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "signalfd")
        self._was_blocked = self._signal in signal.pthread_sigmask(signal.SIG_BLOCK, [self._signal])

    def add(self, folder: str) -> int:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # To this thread: in another one, where the signal is not blocked, it would be thrown away.
            fcntl.fcntl(descriptor, _SET_OWNER, struct.pack("ii", _THREAD, _thread.get_native_id()))
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, self._signal)
            changes = fcntl.DN_MODIFY | fcntl.DN_CREATE | fcntl.DN_DELETE | fcntl.DN_RENAME
            fcntl.fcntl(descriptor, fcntl.F_NOTIFY, changes | fcntl.DN_MULTISHOT)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def remove(self, key: int) -> None:
        os.close(key)

    def read(self) -> list[tuple[int | None, str | None]]:
        try:
            os.read(self.descriptor, _SIGNAL_INFO)
        except BlockingIOError:
            return []
        return [(None, None)]

    def close(self) -> None:
        import signal

        os.close(self.descriptor)
        if not self._was_blocked:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [self._signal])
