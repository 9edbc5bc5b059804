"""News of documents on this machine: a file for each thing that is watched, to which every change is appended.

The processes that wait are many, and a connection for each would be too many for a database. So each waits for its
file alone, and whoever changes a document, or hears of a change from the server, appends to the file if there is one.
A line holds the document's id and version; one that comes twice, or in another order, means no more than once.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter.storage.documents import replace_file
from hookrouter.storage.home import ensure_once
from hookrouter.storage.interface import StoreError
from hookrouter.util import fastjson
from hookrouter_postgresql import names

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Marker", "Markers", "Watched"]

_LINE = re.compile(rb"([0-9a-f]{32}) ([0-9]{20})\n")
"""An id, a blank, a version of 20 digits, and the end of the line; a full disk may have cut the one before it."""

_LONG = 1 << 20
"""Bytes after which a marker begins anew; whoever watches or tells goes on in a new file."""


@attrs.frozen
class Watched:
    """What a marker is about."""

    machine: str
    area: str
    kind: str
    digest: bytes | None
    """Of the document's name; None for all of the kind."""


class Marker:
    """An open marker; while it is open its file stays."""

    def __init__(self, path: str, header: bytes) -> None:
        """``header`` is its first line. News count from here on. Raises OSError."""
        self.folder = os.path.dirname(path)
        self._path = path
        self._header = header
        self._pid = os.getpid()
        self._descriptor = _opened(path, header)
        self._place = os.fstat(self._descriptor).st_size

    def news(self) -> list[tuple[str, int]]:
        """Return id and version of the changes that were told since the last call. Raises OSError."""
        found = self._read()
        if self._place > _LONG:
            _remove(self._path, self._descriptor)
        if not _is_at(self._path, self._descriptor):
            descriptor = _opened(self._path, self._header)
            found += self._read()
            os.close(self._descriptor)
            # From its beginning: others may have told of something there already.
            self._descriptor, self._place = descriptor, len(self._header)
            found += self._read()
        return found

    def _read(self) -> list[tuple[str, int]]:
        length = os.fstat(self._descriptor).st_size - self._place
        lines = os.pread(self._descriptor, length, self._place) if length > 0 else b""
        # The last one may be on its way.
        whole = lines.rfind(b"\n") + 1
        self._place += whole
        return [(one.decode("ascii"), int(version)) for one, version in _LINE.findall(lines[:whole])]

    def close(self) -> None:
        """Close it; the last one to do so removes the file."""
        try:
            # A forked child shares the lock of its parent, who watches on.
            if self._pid == os.getpid():
                _remove_if_unwatched(self._path, self._descriptor)
        finally:
            os.close(self._descriptor)


class Markers:
    """The markers of one home."""

    def __init__(self, state: str) -> None:
        """``state`` is the home's folder of that name. Touches nothing yet."""
        self._state = state
        self.folder = os.path.join(state, "changes")

    def ensure(self) -> None:
        """Make the folder. Raises OSError."""
        ensure_once(self._state)
        ensure_once(self.folder)

    def open(self, marker: str, watched: Watched) -> Marker:
        """Begin to watch under this id. Raises StoreError."""
        path = self._path(marker)
        header = fastjson.dumps(
            {
                "machine": watched.machine,
                "area": watched.area,
                "kind": watched.kind,
                "digest": None if watched.digest is None else watched.digest.hex(),
            }
        )
        try:
            self.ensure()
            ensure_once(os.path.dirname(path))
            return Marker(path, f"{header}\n".encode("ascii"))
        except OSError as error:
            raise StoreError(f"cannot watch by way of {path}: {error.strerror or error}") from error

    def tell(self, whole: str, one: str, version: int) -> None:
        """Tell whoever watches the kind ``whole``, or the document ``one`` of it, of a version. Raises nothing.

        What is none of a document's is told to nobody.
        """
        if not (names.is_id(whole) and names.is_id(one) and 0 <= version < 1 << 63):
            return
        line = f"{one} {version:020d}\n".encode("ascii")
        for marker in (whole, one):
            try:
                descriptor = os.open(self._path(marker), os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                # Nobody watches it.
                continue
            with suppress(OSError):
                os.write(descriptor, line)
            os.close(descriptor)

    def is_watched(self, marker: str) -> bool:
        """Whether this is watched, or was when its watcher was killed; False for what is no id."""
        return names.is_id(marker) and os.path.exists(self._path(marker))

    def ids(self) -> Iterator[str]:
        """Yield the ids that are watched, or were when their watchers were killed."""
        with suppress(OSError):
            for part in os.listdir(self.folder):
                with suppress(OSError):
                    yield from filter(names.is_id, os.listdir(os.path.join(self.folder, part)))

    def watched(self, marker: str) -> Watched | None:
        """Return what is watched under an id; None if nothing is any more."""
        try:
            with open(self._path(marker), "rb") as file:
                header: Any = fastjson.loads(file.readline())
            digest = None if header["digest"] is None else bytes.fromhex(header["digest"])
            return Watched(header["machine"], header["area"], header["kind"], digest)
        except (OSError, ValueError, KeyError, TypeError):
            # Removed, or not a marker.
            return None

    def sweep(self) -> None:
        """Remove the markers of those who were killed. Raises nothing."""
        for marker in list(self.ids()):
            path = self._path(marker)
            with suppress(OSError), open(path, "rb") as file:
                _remove_if_unwatched(path, file.fileno())

    def _path(self, marker: str) -> str:
        # An absolute one would lead out of the folder.
        if not names.is_id(marker):
            raise ValueError(f"{marker!r} is not the id of anything that is watched")
        # In parts, because the system wakes all watchers of a folder for each of its files.
        return os.path.join(self.folder, marker[:2], marker)


def _opened(path: str, header: bytes) -> int:
    """Return a descriptor of a marker that is there, and stays while it is open. Raises OSError."""
    while True:
        with suppress(FileExistsError):
            replace_file(path, header, durable=False, new=True)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if _is_at(path, descriptor):
            return descriptor
        # Removed by the last one that had watched.
        os.close(descriptor)


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.stat(path).st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def _remove(path: str, descriptor: int) -> None:
    """Remove a marker, unless another one has taken its place."""
    with suppress(OSError):
        if _is_at(path, descriptor):
            os.unlink(path)


def _remove_if_unwatched(path: str, descriptor: int) -> None:
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path, descriptor)
