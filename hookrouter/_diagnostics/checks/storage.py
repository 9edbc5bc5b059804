"""Do the other machines see what this one asks, if there is an engine that they share?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, Finding
from hookrouter._fleet import state
from hookrouter._fleet.replica import problems
from hookrouter._plugins.storage_engines import machine_name, open_engine
from hookrouter.config import FILES
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
        machine = machine_name(config)
        try:
            found = problems(app.home, open_engine(app.home, config, app.plugins), machine, app.warn)
            # The process that brings documents has another environment, perhaps.
            if not found and (said := state.problem(app.store, config.engine, machine, app.home.config_file)):
                found = [said]
        except StoreError as error:
            found = [str(error)]
        for problem in found:
            fix = "this machine works on its own until then; afterwards run: hookrouter storage check"
            yield Finding(ERROR, self.name, f"{config.engine}: {problem}", fix)
        if not found:
            yield Finding(OK, self.name, f"{config.engine} is shared; this machine is {machine}")
