"""How a process hears that documents in a folder have changed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookrouter.storage.home import ensure_once
from hookrouter.storage.interface import StoreError
from hookrouter.util.folder_watch import FolderWatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["FileWatch"]

_POLL = 0.1
"""Seconds between two looks if the system does not tell of changes."""

_LOOK = 2.0
"""Seconds between two looks if it does: it does not tell of what another machine has changed in a shared folder."""


class FileWatch:
    """A watch on some files of one folder, for one ``with`` block."""

    def __init__(self, folders: tuple[str, ...], is_watched: Callable[[str], bool], file: str | None = None) -> None:
        """``is_watched`` says of a file's name whether it counts; ``file`` is its name if it can be one only.

        The last of the folders is looked at; all of them are made, if they can be, when the block is entered.
        """
        self._folders = folders
        self._folder = folders[-1]
        self._is_watched = is_watched
        self._file = file
        self._watch: FolderWatch | None = None
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._next_look = 0.0

    def __enter__(self) -> FileWatch:
        """Begin. Raises StoreError if the folder is there and cannot be looked at."""
        try:
            for folder in self._folders:
                ensure_once(folder)
            self._watch = FolderWatch(self._folder).__enter__()
        except OSError:
            # A folder that is not there and cannot be made is looked for from time to time.
            self._watch = None
        try:
            # What is written between the two is told once more, never lost.
            self._seen = self._look()
            self._next_look = time.monotonic() + _LOOK
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.__exit__(kind, error, trace)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when :meth:`wait` is worth a call, or -1."""
        return -1 if self._watch is None else self._watch.fileno()

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for a change; say whether there was one. Raises StoreError."""
        deadline = time.monotonic() + timeout
        told = self._told(0)
        while True:
            if self._has_changed(told):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            told = self._told(left)

    def _told(self, seconds: float) -> set[str] | None:
        """Wait up to ``seconds`` for the system; return the files that it tells of, None if it does not say."""
        if self._watch is not None and self._watch.fileno() >= 0:
            return self._watch.changed(min(seconds, _LOOK))
        time.sleep(min(seconds, _POLL))
        return None

    def _has_changed(self, told: set[str] | None) -> bool:
        """Whether a watched file has changed since it was last told: one of these, or, from time to time, any."""
        if told is None or time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK
            former, self._seen = self._seen, self._look()
            return self._seen != former
        # All of them: each is noted as told.
        changed = [self._has_file_changed(file) for file in told if self._is_watched(file)]
        return any(changed)

    def _has_file_changed(self, file: str) -> bool:
        now, former = self._stamp(file), self._seen.pop(file, None)
        if now is not None:
            self._seen[file] = now
        return now != former

    def _look(self) -> dict[str, tuple[int, int, int]]:
        """Return what tells the present state of each watched file from the next one."""
        try:
            if self._file is not None:
                now = self._stamp(self._file)
                return {} if now is None else {self._file: now}
            found = {}
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if self._is_watched(entry.name):
                        try:
                            found[entry.name] = _stamp(entry.stat(follow_symlinks=False))
                        except FileNotFoundError:
                            continue
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise StoreError(f"cannot watch {self._folder}: {error.strerror or error}") from error
        return found

    def _stamp(self, file: str) -> tuple[int, int, int] | None:
        """Return the state of one file; None if it is not there. Raises StoreError."""
        try:
            return _stamp(os.lstat(os.path.join(self._folder, file)))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"cannot watch {self._folder}: {error.strerror or error}") from error


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size
