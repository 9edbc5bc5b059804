"""Do the other machines see what this one asks, if there is an engine that they share?"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, Finding
from hookrouter.config import FILES
from hookrouter.sharing import machine_name
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place

__all__ = ["StorageCheck"]


class StorageCheck:
    """The engine of config.toml."""

    name = "storage"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found; nothing if files are the engine."""
        app = place.app
        config = app.config.storage
        if config.engine == FILES:
            return
        try:
            with closing(app.machines()) as machines:
                found = machines.problems()
        except StoreError as error:
            found = [str(error)]
        for problem in found:
            fix = "this machine works on its own until then; afterwards run: hookrouter storage check"
            yield Finding(ERROR, self.name, f"{config.engine}: {problem}", fix)
        if not found:
            yield Finding(OK, self.name, f"{config.engine} is shared; this machine is {machine_name(config)}")
