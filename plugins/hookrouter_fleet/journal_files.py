"""Reads on in the files of a journal from where the engine says that it was brought to.

A file is known by its session and its first line, so that neither a rotation, which renames it, nor a restored backup,
which gives it another inode, has a line read twice or passed over. A line that is not whole yet waits.
"""

from __future__ import annotations

import os
import stat
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JournalFiles", "ReadOn", "session_of"]

_SUFFIX = ".jsonl"
_LONGEST_LINE = 4 * 1024 * 1024
"""Bytes without a newline after which a file is not read on: no record is as long."""


class ReadOn(NamedTuple):
    """What was read of the files."""

    lines: list[bytes]
    """Whole lines, of each file in order."""
    files: dict[str, int | None]
    """How far the files were read now that have changed; None for one that is gone."""


def session_of(file: str) -> str:
    """Return the session, as the name of its file has it, of a file's name in :attr:`ReadOn.files`."""
    return file.rpartition(":")[0]


class JournalFiles:
    """The files of one folder. For one thread."""

    def __init__(self, folder: str) -> None:
        """Read nothing yet."""
        self._folder = folder
        self._seen: dict[tuple[int, int], tuple[tuple[int, int], str]] = {}
        """By device and inode: size and time of change, and name, when it was last read to its end."""
        self._missed: set[str] = set()

    def read_on(self, brought: Mapping[str, int], most_bytes: int) -> ReadOn:
        """Return what was written behind what was brought, about ``most_bytes`` of it at most. Raises nothing.

        What cannot be read now is read later.
        """
        found = ReadOn([], {})
        present: set[str] = set()
        seen = {}
        paths, is_certain = self._paths()
        for identity, path, state in paths:
            if identity in self._seen and self._seen[identity][0] == state:
                seen[identity] = self._seen[identity]
                present.add(seen[identity][1])
                continue
            if most_bytes <= 0:
                break
            try:
                name, read = self._read(identity, path, brought, found, most_bytes)
            except FileNotFoundError:
                continue
            except OSError:
                # Which of those that were brought it is cannot be said.
                is_certain = False
                continue
            if not name:
                continue
            present.add(name)
            most_bytes -= read
            if most_bytes > 0:
                seen[identity] = (state, name)
        else:
            if is_certain:
                # One that is renamed while the folder is read may be in neither place, so it is gone when missed twice.
                missed = brought.keys() - present
                found.files.update(dict.fromkeys(missed & self._missed))
                self._missed = missed
        self._seen |= seen
        return found

    def _paths(self) -> tuple[list[tuple[tuple[int, int], str, tuple[int, int]]], bool]:
        """Return device and inode, path, and size and time of each file, and whether these are all there are."""
        found = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    _, is_journal, rest = entry.name.rpartition(_SUFFIX)
                    if not is_journal or (rest and not rest[1:].isdecimal()):
                        continue
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if stat.S_ISREG(status.st_mode):
                        state = status.st_size, status.st_mtime_ns
                        found.append(((status.st_dev, status.st_ino), entry.path, state))
        except OSError:
            # A folder that is not there may be a disk that is not mounted.
            return found, False
        return found, True

    def _read(
        self, identity: tuple[int, int], path: str, brought: Mapping[str, int], found: ReadOn, most_bytes: int
    ) -> tuple[str, int]:
        """Read on in one file; return its name, empty if it has none yet, and how many bytes were read.

        Raises OSError; what was read before is in ``found`` then.
        """
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) != identity:
                # It is read on under its new name the next time.
                raise OSError(f"{path} was renamed at this moment")
            first = file.readline(_LONGEST_LINE)
            if not first.endswith(b"\n"):
                return "", 0
            session = os.path.basename(path).rpartition(_SUFFIX)[0]
            name = f"{session}:{blake2b(first, digest_size=16).hexdigest()}"
            start = found.files.get(name)
            start = brought.get(name, 0) if start is None else start
            if start > status.st_size:
                # An older state of it was restored: what follows now is new.
                found.files[name] = status.st_size
                return name, 0
            file.seek(start)
            read = 0
            while read < most_bytes and (line := file.readline(_LONGEST_LINE)).endswith(b"\n"):
                found.lines.append(line)
                read += len(line)
                found.files[name] = start + read
        return name, read
