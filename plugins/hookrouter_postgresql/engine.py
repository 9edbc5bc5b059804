"""The engine ``postgresql``: opens the documents of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreError
from hookrouter_postgresql.settings import PostgresqlSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager as ContextManager

    from hookrouter_postgresql.access import Access
    from hookrouter_postgresql.connections import Connections
    from hookrouter_postgresql.everywhere import AllMachines
    from hookrouter_postgresql.history import PostgresqlHistory
    from hookrouter_postgresql.schema import Schema
    from hookrouter_postgresql.store import PostgresqlStore

__all__ = ["PostgresqlEngine", "PostgresqlStorage"]

_MACHINES = "SELECT DISTINCT machine FROM {schema}.document WHERE body IS NOT NULL"


class PostgresqlEngine:
    """What ``[storage] engine = "postgresql"`` names."""

    name = "postgresql"
    settings = PostgresqlSettings

    def open(self, settings: PostgresqlSettings, machine: str, state: str) -> PostgresqlStorage:
        """Return the documents of the database; makes no connection, and imports no driver, yet.

        Raises StoreError for a name of this machine that is not one line of text.
        """
        if not machine.isprintable() or not machine.strip():
            raise StoreError(f"[storage] machine: found {machine!r}; allowed: one line of text that is not empty")
        return PostgresqlStorage(settings, machine, state)


class PostgresqlStorage:
    """The documents of all machines in one schema of a database."""

    def __init__(self, settings: PostgresqlSettings, machine: str, state: str) -> None:
        """``machine`` is this one's name; ``state`` the home's folder, where news of documents travel."""
        self._settings = settings
        self._machine = machine
        self._state = state
        self._access: Access | None = None

    def store(self, area: str, report: Callable[[str], None], machine: str | None = None) -> PostgresqlStore:
        """Return one area of a machine's documents, of this one's without ``machine``."""
        # First, because it says so if the driver is missing.
        access = self._opened()
        from hookrouter_postgresql.store import PostgresqlStore

        return PostgresqlStore(access, self._machine if machine is None else machine, area, report)

    def together(self) -> ContextManager[None]:
        """Return a block in which what is written is one transaction. Raises StoreError."""
        return self._connections().together()

    def machines(self) -> list[str]:
        """Return the machines that have documents, sorted. Raises StoreError."""
        return sorted(machine for (machine,) in self._opened().run(_MACHINES, ()))

    def everywhere(self) -> AllMachines:
        """Return a look at all machines at once. Raises StoreError if the driver is missing."""
        access = self._opened()
        from hookrouter_postgresql.everywhere import AllMachines

        return AllMachines(access)

    def history(self) -> PostgresqlHistory | None:
        """Return the history of all machines; None if the tables are those of the former release. Raises StoreError."""
        access = self._opened()
        if not access.schema.has_history():
            return None
        from hookrouter_postgresql.history import PostgresqlHistory

        return PostgresqlHistory(access, self._machine)

    def init(self) -> list[str]:
        """Make the schema and its tables; return in words what was done. Raises StoreError."""
        return self._schema().init()

    def migrate(self, version: int | None = None) -> list[str]:
        """Bring the tables to a version, the newest one without; return in words what was done. Raises StoreError."""
        return self._schema().migrate(version)

    def check(self) -> list[str]:
        """Return what is wrong, in words with what to do; empty if all is well."""
        try:
            return self._schema().check(self._machine)
        except StoreError as error:
            return [str(error)]

    def close(self) -> None:
        """Close the connections that are not in use."""
        if self._access is not None:
            self._access.connections.close_unused()

    def _connections(self) -> Connections:
        return self._opened().connections

    def _schema(self) -> Schema:
        return self._opened().schema

    def _opened(self) -> Access:
        if self._access is None:
            try:
                from hookrouter_postgresql.connections import Connections
            except ImportError as error:
                raise StoreError(
                    f"the engine postgresql needs psycopg ({error}); run: pip install 'hookrouter[postgres]'"
                ) from error
            from hookrouter_postgresql.access import Access
            from hookrouter_postgresql.listening import Listening
            from hookrouter_postgresql.markers import Markers
            from hookrouter_postgresql.schema import Schema

            connections, markers = Connections(self._settings), Markers(self._state)
            self._access = Access(connections, Schema(connections), markers, Listening(connections, markers))
        return self._access
