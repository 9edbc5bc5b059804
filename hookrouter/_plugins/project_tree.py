"""Reads a project's own plugins, the folder ``.claude/hookrouter``, as a whole: to trust it, and to see it changed.

Whoever may write to a project may put anything there. So no link is followed, nothing but files and folders is opened,
all is bounded, and nothing of it is imported: a tree is bytes, with names that can be shown.
"""

from __future__ import annotations

import os
import stat
from hashlib import sha256

from hookrouter._plugins.files import FOLDER
from hookrouter._plugins.index import status_stamp
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import printable
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_FILES", "MAX_FILE_BYTES", "Tree", "TreeError", "read_tree"]

MAX_FILES = 200
"""Files and folders of the largest tree."""

MAX_FILE_BYTES = 1024 * 1024
MAX_BYTES = 8 * MAX_FILE_BYTES
MAX_DEPTH = 8
"""Folders in each other."""

_MAX_NAME = 200
_CACHE, _COMPILED = "__pycache__", (".pyc", ".pyo")
"""What Python makes of sources. It is not read, and never part of what runs: it need not be what the sources say."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class TreeError(HookrouterError):
    """The folder holds what cannot be trusted, or cannot be read; the message names it and says what is allowed."""


class Tree(Value):
    """All files of a folder, as they were read, once."""

    files: dict[str, bytes]
    """The content of each file, by its path in the folder, in the order of the paths."""
    digest: str
    """The SHA-256 of all paths and contents, in hexadecimal digits."""
    stamps: tuple[tuple[str, str], ...]
    """What tells one state of each file and folder from the next, by its path in the project."""
    notes: tuple[str, ...]
    """What a person should know who trusts it, one line each."""


def read_tree(project: str, inner: str = FOLDER) -> Tree | None:
    """Return what a project's folder ``.claude/hookrouter`` holds (or the folder ``inner``); None if there is none.

    Raises TreeError for a tree that nobody can trust: with a link, a pipe or another special file, names that cannot be
    shown, or more than is allowed.
    """
    reading, path, opened = _Reading(project), "", []
    try:
        opened.append(os.open(project, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        for part in filter(None, inner.split("/")):
            path = os.path.join(path, part)
            try:
                status = os.stat(part, dir_fd=opened[-1], follow_symlinks=False)
            except FileNotFoundError:
                return None
            if not stat.S_ISDIR(status.st_mode):
                raise TreeError(f"{printable(os.path.join(project, path))} is no folder; no link is followed")
            opened.append(os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=opened[-1]))
        reading.folder(opened[-1], path, "", 1)
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else ""
        shown = printable(os.path.join(project, path, where))
        raise TreeError(f"{shown} cannot be read: {error.strerror}") from None
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return reading.tree()


class _Reading:
    """One look at a tree."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._files: dict[str, bytes] = {}
        self._stamps: list[tuple[str, str]] = []
        self._open_to: list[str] = []
        self._entries = self._bytes = 0

    def folder(self, descriptor: int, place: str, inner: str, depth: int) -> None:
        """Read an open folder: ``place`` is its path in the project, ``inner`` in the tree.

        Raises TreeError and OSError.
        ."""
        # Looked at before it is read: a change meanwhile shows.
        self._seen(os.fstat(descriptor), place)
        for name in self._names(descriptor, place):
            path, status = os.path.join(place, name), os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            within = f"{inner}/{name}" if inner else name
            if stat.S_ISDIR(status.st_mode):
                if depth == MAX_DEPTH:
                    raise self._fault(path, f"lies too deep; allowed: {MAX_DEPTH} folders in each other")
                opened = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=descriptor)
                try:
                    self.folder(opened, path, within, depth + 1)
                finally:
                    os.close(opened)
            elif stat.S_ISREG(status.st_mode):
                self._files[within] = self._content(descriptor, name, path)
            else:
                what = "a link" if stat.S_ISLNK(status.st_mode) else "no file and no folder"
                raise self._fault(path, f"is {what}; allowed: files and folders")

    def _names(self, descriptor: int, place: str) -> Iterator[str]:
        names = []
        # Not os.listdir: a folder of millions of names ends here.
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.name == _CACHE or entry.name.endswith(_COMPILED):
                    continue
                self._entries += 1
                if self._entries > MAX_FILES:
                    raise self._fault(place, f"holds too much; allowed: {MAX_FILES} files and folders")
                names.append(entry.name)
        for name in sorted(names):
            if not name.isascii() or not name.isprintable() or "\\" in name or len(name) > _MAX_NAME:
                allowed = f"printable ASCII without \\, {_MAX_NAME} characters"
                raise self._fault(
                    os.path.join(place, name[:_MAX_NAME]), f"has a name that is not allowed; allowed: {allowed}"
                )
            yield name

    def _content(self, folder: int, name: str, path: str) -> bytes:
        with open(os.open(name, _FLAGS, dir_fd=folder), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise self._fault(path, "is no file any more")
            self._seen(status, path)
            content = file.read(MAX_FILE_BYTES + 1)
        self._bytes += len(content)
        if len(content) > MAX_FILE_BYTES or self._bytes > MAX_BYTES:
            allowed = f"{MAX_FILE_BYTES} bytes for a file, {MAX_BYTES} for all"
            raise self._fault(path, f"is too large; allowed: {allowed}")
        return content

    def _seen(self, status: os.stat_result, place: str) -> None:
        self._stamps.append((place, status_stamp(status)))
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            self._open_to.append(place)

    def _fault(self, path: str, text: str) -> TreeError:
        return TreeError(f"{printable(os.path.join(self._project, path))} {text}")

    def tree(self) -> Tree:
        whole, files = sha256(), dict(sorted(self._files.items()))
        for path, content in files.items():
            # Of fixed lengths, so that no other tree reads the same.
            whole.update(sha256(path.encode()).digest() + sha256(content).digest())
        notes = [
            f"other users may write to {path}: a change of theirs turns it off until you trust it again"
            for path in self._open_to[:1]
        ]
        return Tree(files, whole.hexdigest(), tuple(self._stamps), tuple(notes))
