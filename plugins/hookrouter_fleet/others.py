"""The other machines that share this one's engine, and what stands in it of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hookrouter.machines import Machines
from hookrouter.messaging import trace_context
from hookrouter.sharing import machine_name, open_engine
from hookrouter.storage.history import history_of
from hookrouter_fleet import state
from hookrouter_fleet.errands import run_elsewhere
from hookrouter_fleet.everywhere import everywhere
from hookrouter_fleet.kinds import FLEET
from hookrouter_fleet.replica import PRESENCE, problems
from hookrouter_fleet.returning import wait_until_looked

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookrouter.context import Services
    from hookrouter.machines import Done
    from hookrouter.storage.history import HistoryStore
    from hookrouter.storage.interface import DocumentStore, Everywhere, Storage

__all__ = ["Others"]


class Others(Machines):
    """The machines that share the engine of ``[storage]``. May be used by several threads: one of them opens it."""

    def __init__(self, services: Services) -> None:
        """Opens nothing."""
        self._services = services
        self._opened: tuple[Storage, Everywhere] | None = None
        self._opening = threading.Lock()
        self.here = machine_name(services.config.storage)

    @property
    def _storage(self) -> Storage:
        return self._engine()[0]

    @property
    def _everywhere(self) -> Everywhere:
        return self._engine()[1]

    def _engine(self) -> tuple[Storage, Everywhere]:
        with self._opening:
            if self._opened is None:
                services = self._services
                storage = open_engine(services)
                self._opened = storage, everywhere(storage, services.warn)
            return self._opened

    def open(self) -> None:
        """See :class:`hookrouter.machines.Machines`."""
        self._engine()

    def names(self) -> list[str]:
        """See :class:`hookrouter.machines.Machines`."""
        return [name for name in self._storage.machines() if name != self.here]

    def problems(self) -> list[str]:
        """See :class:`hookrouter.machines.Machines`."""
        services, config = self._services, self._services.config.storage
        if found := problems(services.home, self._storage, self.here, services.warn):
            return found
        # The process that brings documents has another environment, perhaps.
        said = state.problem(services.store, config.engine, self.here, services.home.config_file)
        return [said] if said else []

    def is_there(self, machine: str) -> bool:
        """See :class:`hookrouter.machines.Machines`."""
        return self._storage.store(FLEET, self._services.warn, machine).lock_holder(*PRESENCE) is not None

    def history(self) -> HistoryStore | None:
        """See :class:`hookrouter.machines.Machines`."""
        return history_of(self._storage)

    def store(self, machine: str) -> DocumentStore:
        """See :class:`hookrouter.machines.Machines`."""
        return self._storage.store("", self._services.warn, machine)

    def entries(self, kind: str) -> list[tuple[str, str, dict[str, object]]]:
        """See :class:`hookrouter.machines.Machines`."""
        return [row for row in self._everywhere.entries("", kind) if row[0] != self.here]

    def changed(self, kinds: Collection[str], since: object | None) -> tuple[object, set[str]]:
        """See :class:`hookrouter.machines.Machines`."""
        place, changed = self._everywhere.changed("", kinds, since)
        return place, {kind for machine, kind in changed if machine != self.here}

    def run(self, machine: str, words: Sequence[str], given: str = "", *, person: str = "") -> Done:
        """See :class:`hookrouter.machines.Machines`."""
        trace = self._services.environ.get(trace_context.VARIABLE, "")
        return run_elsewhere(self._storage, machine, words, given, self._services.warn, person=person, trace=trace)

    def returned(self) -> None:
        """See :class:`hookrouter.machines.Machines`."""
        wait_until_looked(self._services)

    def close(self) -> None:
        """See :class:`hookrouter.machines.Machines`."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[0].close()
