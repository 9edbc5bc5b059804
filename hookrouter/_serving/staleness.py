"""Whether the code that a router has loaded is still the code that is installed.

Compared are the modification times of the files that hold loaded modules, but for the standard library's, and of the
folders in which distributions are installed. What the configuration and prompts say is read by each call itself.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LoadedCode"]

_METADATA = (".dist-info", ".egg-info", ".pth", ".egg-link")


class LoadedCode:
    """The code as it was when it was loaded."""

    def __init__(self) -> None:
        """Take what is loaded now."""
        self._standard = tuple({sysconfig.get_path("stdlib") + os.sep, sysconfig.get_path("platstdlib") + os.sep})
        self._stamps: dict[str, int] = {}
        self._folders = {path: _listing(path) for path in sys.path if _holds_distributions(path)}
        self._folder_stamps = {path: _stamp(path) for path in self._folders}
        self._seen: set[str] = set()
        self.extend()

    def extend(self) -> None:
        """Take in what was loaded since."""
        for path in self._files():
            self._stamps.setdefault(path, _stamp(path))

    def change(self) -> str:
        """Return what has changed since, empty for nothing."""
        for path, stamp in self._stamps.items():
            if _stamp(path) != stamp:
                return path
        for path, stamp in self._folder_stamps.items():
            now = _stamp(path)
            if now != stamp:
                # A folder changes with every cache and lock file in it, too.
                if _listing(path) != self._folders[path]:
                    return path
                self._folder_stamps[path] = now
        return ""

    def _files(self) -> Iterator[str]:
        for name, module in list(sys.modules.items()):
            if name in self._seen:
                continue
            self._seen.add(name)
            path = getattr(module, "__file__", None)
            if not isinstance(path, str) or not os.path.isabs(path):
                continue
            if not path.startswith(self._standard) or _holds_distributions(path.split("-packages")[0] + "-packages"):
                yield path


def _holds_distributions(path: str) -> bool:
    return path.rstrip("/").endswith(("site-packages", "dist-packages"))


def _listing(folder: str) -> frozenset[tuple[str, int]]:
    """Return what of a folder tells which distributions are installed in it."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(_METADATA)]
    except OSError:
        return frozenset()
    return frozenset((name, _stamp(os.path.join(folder, name))) for name in names)


def _stamp(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1
