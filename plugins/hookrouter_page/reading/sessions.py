"""The sessions as the page lists them, each with its state, its queue and what Claude said last."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.queue.overview import SessionView, overview, overview_elsewhere
from hookrouter.sessions.records import BUSY, IDLE, LIMITED, STOPPED, WAITING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter import machines as fleet
    from hookrouter.context import Services
    from hookrouter_page.machines import Machines

__all__ = ["PlacedSession", "Sessions"]

_FRESH_SECONDS = 1.0
"""For how long one look at all sessions serves whoever asks: many pages may be told of one change."""

_RANK = {state: rank for rank, state in enumerate((WAITING, LIMITED, STOPPED, IDLE, BUSY))}


class PlacedSession(NamedTuple):
    """A session, and where it is."""

    machine: str
    """The machine; empty if none share an engine."""
    view: SessionView
    """The session."""
    is_here: bool = True
    """Whether that is this machine."""


class Sessions:
    """All sessions of all machines, looked at once for all who ask at the same time."""

    def __init__(self, machines: Machines) -> None:
        """Look at nothing yet."""
        self._machines = machines
        self._lock = threading.Lock()
        self._found: list[PlacedSession] = []
        self._read_at = float("-inf")

    def all(self, services: Services) -> list[PlacedSession]:
        """Return the sessions: those that wait first, those that have ended last.

        Raises StoreError if this machine's documents cannot be read; :attr:`Machines.problem` tells of the others.
        """

        def elsewhere(others: fleet.Machines) -> list[PlacedSession]:
            return [
                PlacedSession(name, view, is_here=False)
                for name in others.names()
                for view in overview_elsewhere(services, others.store(name))
            ]

        with self._lock:
            if time.monotonic() - self._read_at >= _FRESH_SECONDS:
                here = self._machines.here(services)
                found = [PlacedSession(here, view) for view in overview(services)]
                found += self._machines.ask(services, elsewhere, list[PlacedSession]())
                self._found = sorted(found, key=_rank)
                self._read_at = time.monotonic()
            return self._found

    def one(self, services: Services, name: str, machine: str) -> SessionView | None:
        """Return a session of a machine by its name, as it is now; None if it is not known. Raises StoreError."""
        if machine == self._machines.here(services):
            return _named(name, overview(services, every=True))

        def elsewhere(others: fleet.Machines) -> SessionView | None:
            return _named(name, overview_elsewhere(services, others.store(machine), every=True))

        return self._machines.ask(services, elsewhere, None)

    def machines_with(self, services: Services, name: str) -> list[str]:
        """Return the machines that know a session of this name, by name. Raises StoreError.

        :attr:`Machines.problem` says why it may not be all of them.
        """

        def elsewhere(others: fleet.Machines) -> list[str]:
            views = (
                (machine, overview_elsewhere(services, others.store(machine), every=True)) for machine in others.names()
            )
            return [machine for machine, found in views if _named(name, found) is not None]

        here = self._machines.here(services)
        found = [] if self.one(services, name, here) is None else [here]
        return sorted(found + self._machines.ask(services, elsewhere, list[str]()))


def _named(name: str, views: Iterable[SessionView]) -> SessionView | None:
    return next((view for view in views if view.session == name), None)


def _rank(one: PlacedSession) -> tuple[int, str, str]:
    return _RANK.get(one.view.state.state, len(_RANK)), one.view.session, one.machine
