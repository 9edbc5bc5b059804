"""Whether the code that a router has loaded is still the code that is installed.

Compared are the stamps (times, size, inode) of the files that hold loaded modules, but for the standard library's, and
of the folders in which distributions are installed. They are looked at only if the system has told of a change in one
of their folders; where it cannot tell, each time. What the configuration and prompts say is read by each call itself.
"""

from __future__ import annotations

import os
import select
import sys
import sysconfig
from typing import TYPE_CHECKING

from hookrouter._plugins.index import file_stamp
from hookrouter.util.folder_watch import FolderWatch

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LoadedCode"]

_METADATA = (".dist-info", ".egg-info", ".pth", ".egg-link")


class LoadedCode:
    """The code as it was when it was loaded."""

    def __init__(self) -> None:
        """Take what is loaded now."""
        standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
        self._standard = tuple(path + os.sep for path in standard)
        self._stamps: dict[str, str] = {}
        self._installed: dict[str, frozenset[tuple[str, str]]] = {}
        self._seen: set[str] = set()
        self._watches: dict[str, FolderWatch] = {}
        self._is_told = True
        """Whether the system tells of changes in all of the folders."""
        for path in sys.path:
            if _holds_distributions(path):
                self._watch(path)
                self._installed[path] = _installed(path)
        self.extend()

    def extend(self) -> None:
        """Take in what was loaded since."""
        for path in self._new_files():
            self._watch(os.path.dirname(path))
            self._stamps.setdefault(path, file_stamp(path))

    def change(self) -> str:
        """Return a path at which something has changed since the last call, empty for nothing."""
        if self._is_told and not self._has_news():
            return ""
        changed = ""
        for path, stamp in self._stamps.items():
            now = file_stamp(path)
            if now != stamp:
                self._stamps[path], changed = now, path
        for path, known in self._installed.items():
            found = _installed(path)
            if found != known:
                self._installed[path], changed = found, path
        return changed

    def close(self) -> None:
        """Be told of nothing more."""
        for watch in self._watches.values():
            watch.__exit__(None, None, None)
        self._watches.clear()

    def _watch(self, folder: str) -> None:
        if folder in self._watches:
            return
        try:
            watch = FolderWatch(folder).__enter__()
        except OSError:
            self._is_told = False
            return
        self._watches[folder] = watch
        self._is_told = self._is_told and watch.fileno() >= 0

    def _has_news(self) -> bool:
        """Whether the system tells of anything in one of the folders."""
        if not self._watches:
            return False
        # All watches of a process are told by one source, so any one of them wakes for all folders.
        poll = select.poll()
        poll.register(next(iter(self._watches.values())).fileno(), select.POLLIN)
        if not poll.poll(0):
            return False
        told = [watch.wait(0) for watch in self._watches.values()]
        return any(told)

    def _new_files(self) -> Iterator[str]:
        for name, module in list(sys.modules.items()):
            if name in self._seen:
                continue
            self._seen.add(name)
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and os.path.isabs(path) and not self._is_standard(path):
                yield path

    def _is_standard(self, path: str) -> bool:
        # Without an environment of its own, distributions are installed below the standard library's folder.
        return path.startswith(self._standard) and not {"site-packages", "dist-packages"} & set(path.split(os.sep))


def _holds_distributions(path: str) -> bool:
    return path.rstrip("/").endswith(("site-packages", "dist-packages"))


def _installed(folder: str) -> frozenset[tuple[str, str]]:
    """Return what of a folder tells which distributions are installed in it."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(_METADATA)]
    except OSError:
        return frozenset()
    return frozenset((name, file_stamp(os.path.join(folder, name))) for name in names)
