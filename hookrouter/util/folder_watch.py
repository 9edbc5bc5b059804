"""Waits for changes in a folder without asking again and again.

On Linux the system says when an entry of the folder was written, renamed or removed
(:mod:`hookrouter.util._folder_events`), to any number of processes. If it cannot, the folder's modification time is
looked at ten times a second, which sees whatever is created, renamed or removed.
"""

from __future__ import annotations

import os
import select
import sys
import time
from typing import TYPE_CHECKING, Protocol

from hookrouter.util._folder_events import subscribe
from hookrouter.util.system import POLL_TELLS_OF_ENDS

if TYPE_CHECKING:
    from types import TracebackType

    from hookrouter.util._folder_events import Subscription

__all__ = ["FolderWatch", "Watch", "wait_while_read"]

_POLL = 0.1
_LISTEN = 1.0
"""How often to see whether anybody still reads, if the system cannot tell of changes by itself."""


class FolderWatch:
    """A watch on one folder, for one ``with`` block; it counts from the moment that the block is entered."""

    def __init__(self, folder: str) -> None:
        """Prepare to watch ``folder``, which must exist when the block is entered."""
        self._folder = folder
        self._told: Subscription | None = None
        self._seen = 0

    def __enter__(self) -> FolderWatch:
        """Begin. Raises OSError if the folder cannot be looked at."""
        self._seen = os.stat(self._folder).st_mtime_ns
        self._told = subscribe(self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        told, self._told = self._told, None
        if told is not None:
            told.close()

    def fileno(self) -> int:
        """Return a descriptor that can be read when there is a change, or -1 if :meth:`wait` has to be asked."""
        return -1 if self._told is None else self._told.fileno()

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for a change; return whether there was one since the last call, or the beginning.

        Not every change must be one that matters to the caller, and one change may be told twice.
        """
        return self.changed(seconds) != set()

    def changed(self, seconds: float) -> set[str] | None:
        """Wait up to ``seconds`` for a change; return the names of the entries that :meth:`wait` would tell of.

        None if something has changed and the system does not say what.
        """
        deadline = time.monotonic() + seconds
        if self._told is not None:
            return _told(self._told, deadline)
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
    if stdout is not None and POLL_TELLS_OF_ENDS:
        # Asked for nothing, it still tells of a reader that is gone.
        poll.register(stdout, 0)
    tells = watched >= 0 and (stdout is None or POLL_TELLS_OF_ENDS)
    left = seconds if tells else min(seconds, _LISTEN)
    if watched >= 0:
        poll.poll(left * 1000)
        changes.wait(0)
    else:
        changes.wait(left)
    if stdout is not None and _is_left(stdout):
        raise BrokenPipeError


def _is_left(descriptor: int) -> bool:
    """Whether nobody reads any more what is written to a descriptor."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return any(told & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, told in poll.poll(0))


def _stdout() -> int | None:
    try:
        return sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def _told(changes: Subscription, deadline: float) -> set[str] | None:
    """Wait until a time of the monotonic clock for a change; return what :meth:`FolderWatch.changed` does."""
    poll = select.poll()
    poll.register(changes.fileno(), select.POLLIN)
    while True:
        # It wakes for changes in the other folders of this process, too.
        is_ready = poll.poll(max(deadline - time.monotonic(), 0) * 1000)
        names = changes.changed() if is_ready else set()
        if names is None or names or time.monotonic() >= deadline:
            return names
