"""Waits for changes in a folder without asking again and again.

On Linux the system says when an entry of the folder was written, renamed or removed (inotify). If it cannot,
the folder's modification time is looked at ten times a second, which sees whatever is created, renamed or removed.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["FolderWatch", "Watch", "wait_while_read"]

_CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
_EVENTS = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_OVERFLOW = 0x4000
_EVENT = struct.Struct("iIII")
"""What the system writes before the name of an entry: watch, kind of change, cookie, length of the name."""
_POLL = 0.1
_LISTEN = 1.0
"""How often to see whether anybody still reads, if the system cannot tell of changes by itself."""


class FolderWatch:
    """A watch on one folder, for one ``with`` block; it counts from the moment that the block is entered."""

    def __init__(self, folder: str) -> None:
        """Prepare to watch ``folder``, which must exist when the block is entered."""
        self._folder = folder
        self._descriptor = -1
        self._seen = 0

    def __enter__(self) -> FolderWatch:
        """Begin. Raises OSError if the folder cannot be looked at."""
        self._seen = os.stat(self._folder).st_mtime_ns
        self._descriptor = _inotify(self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def fileno(self) -> int:
        """Return a descriptor that can be read when there is a change, or -1 if :meth:`wait` has to be asked."""
        return self._descriptor

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for a change; return whether there was one since the last call, or the beginning.

        Not every change must be one that matters to the caller, and one change may be told twice.
        """
        return self.changed(seconds) != set()

    def changed(self, seconds: float) -> set[str] | None:
        """Wait up to ``seconds`` for a change; return the names of the entries that :meth:`wait` would tell of.

        None if something has changed and the system does not say what.
        """
        if self._descriptor >= 0:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            return _names(os.read(self._descriptor, 1 << 16)) if poll.poll(max(seconds, 0) * 1000) else set()
        deadline = time.monotonic() + seconds
        while True:
            changed = os.stat(self._folder).st_mtime_ns
            if changed != self._seen:
                self._seen = changed
                return None
            left = deadline - time.monotonic()
            if left <= 0:
                return set()
            time.sleep(min(_POLL, left))


class Watch(Protocol):
    """What :func:`wait_while_read` waits for: this module's watch on a folder, or one on documents."""

    def fileno(self) -> int:
        """Return a descriptor that can be read when there is a change, or -1 if :meth:`wait` has to be asked."""

    def wait(self, timeout: float, /) -> bool:
        """Wait up to ``timeout`` seconds for a change; return whether there was one."""


def wait_while_read(changes: Watch, seconds: float) -> None:
    """Wait up to ``seconds`` for a change. Raises BrokenPipeError if nobody reads stdout any more."""
    watched = changes.fileno()
    poll = select.poll()
    if watched >= 0:
        poll.register(watched, select.POLLIN)
    stdout = _stdout()
    if stdout is not None:
        # Asked for nothing, it still tells of a reader that is gone.
        poll.register(stdout, 0)
    if watched >= 0:
        ready = dict(poll.poll(seconds * 1000))
        changes.wait(0)
    else:
        changes.wait(min(seconds, _LISTEN))
        ready = dict(poll.poll(0))
    if stdout is not None and ready.get(stdout, 0) & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
        raise BrokenPipeError


def _stdout() -> int | None:
    try:
        return sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def _names(events: bytes) -> set[str] | None:
    """Return the entries that inotify's events are about; None if one is about the folder itself, or some were lost."""
    names, place = set(), 0
    while place < len(events):
        _watch, mask, _cookie, length = _EVENT.unpack_from(events, place)
        place += _EVENT.size
        if not length or mask & _OVERFLOW:
            return None
        names.add(os.fsdecode(events[place : place + length].rstrip(b"\0")))
        place += length
    return names


def _inotify(folder: str) -> int:
    """Return a descriptor that can be read when the folder has changed, or -1 if there is no such thing."""
    if not sys.platform.startswith("linux"):
        return -1
    try:
        library = ctypes.CDLL(None, use_errno=True)
        descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return -1
    if descriptor < 0:
        return -1
    if library.inotify_add_watch(descriptor, os.fsencode(folder), ctypes.c_uint32(_EVENTS)) < 0:
        os.close(descriptor)
        return -1
    return descriptor
