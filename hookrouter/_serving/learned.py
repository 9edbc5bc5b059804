"""Which modules the calls of a home needed: kept in the cache folder, so that the next router is warm at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter import __version__
from hookrouter.storage.own_file import read_own_json, write_own_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter.storage.home import Home

__all__ = ["Learned"]

_MAX_MODULES = 2000


class Learned:
    """The modules, of one home."""

    def __init__(self, home: Home) -> None:
        """Nothing is read yet."""
        self._path = os.path.join(home.cache, "router-modules.json")

    def modules(self) -> list[str]:
        """Return the modules, in the order in which they were loaded; none if this version has learned nothing."""
        document = read_own_json(self._path)
        modules = document.get("modules")
        if document.get("version") != __version__ or not isinstance(modules, list):
            return []
        return [name for name in modules if isinstance(name, str)][:_MAX_MODULES]

    def add(self, modules: Iterable[str]) -> None:
        """Note modules. What cannot be kept is learned again."""
        known = self.modules()
        write_own_json(self._path, {"version": __version__, "modules": list(dict.fromkeys([*known, *modules]))})
