"""The schema of the tables: numbered migrations, each applied or taken back in one transaction and written down."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter.storage.interface import StoreError
from hookrouter_postgresql.failures import RowsRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter_postgresql.connections import Connections

__all__ = ["NEWEST", "Migration", "Schema", "migrations"]

NEWEST = 3
"""The version that this hookrouter makes."""

_OLDEST = 2
"""The oldest version that this hookrouter works with, so that machines can be updated one after the other."""

_OLDEST_SERVER = 13
_WORKS_WITH = "-- works with "
"""Begins the first line of a step, before :attr:`Migration.works_with`."""
_SECONDS = 600.0
"""How long a migration may take, waiting for another one included."""
_TABLES = ("document", "put_aside", "lock")
_HISTORY = ("history_machine", "history_file", "history_count", "story")
"""The tables that version 3 has beside."""
_HISTORY_STEP = "history"
_KEPT = "SELECT (SELECT count(*) FROM {schema}.story), EXISTS (SELECT FROM {schema}.history_count)"
_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_LACKING = (
    "SELECT name, right_ FROM unnest(%s::text[]) AS name, unnest(%s::text[]) WITH ORDINALITY AS r (right_, place) "
    "WHERE NOT has_table_privilege(format('%%I.%%I', %s::text, name), right_) ORDER BY name, place"
)
_VERSION_TABLE = "to_regclass(format('%%I.migration', nspname))"
_UNREADABLE = (
    "SELECT CASE WHEN NOT has_schema_privilege(oid, 'USAGE') THEN 'USAGE on the schema' "
    f"WHEN {_VERSION_TABLE} IS NULL THEN '' "
    f"WHEN NOT has_table_privilege({_VERSION_TABLE}, 'SELECT') THEN 'SELECT on its table migration' END "
    "FROM pg_namespace WHERE nspname = %s"
)
"""What the user lacks to read which version is there: empty if none is, NULL if nothing is lacking."""
_PROBE = (
    "INSERT INTO {schema}.document (machine, area, kind, digest, name) VALUES (%s, 'fleet', 'probe', %s, '') "
    "RETURNING machine"
)
_NAMED = "SELECT machine FROM {schema}.machine_role WHERE role = current_user"


class _NotKept(Exception):
    """Ends a transaction of which nothing is to be kept."""


@attrs.frozen
class Migration:
    """One step from a version of the schema to the next one, and back."""

    version: int
    name: str
    works_with: int
    """The oldest :data:`NEWEST` of a hookrouter that works with the tables of this version."""
    up: str
    down: str

    @property
    def checksum(self) -> str:
        """What tells whether the step was changed after it was applied."""
        return hashlib.sha256(f"{self.up}\0{self.down}".encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return all steps, the first one first."""
    # Longer to import than this module, and no hook migrates anything.
    from importlib.resources import files

    folder = files("hookrouter_postgresql").joinpath("migrations")
    found = []
    for path in folder.iterdir():
        if path.name.endswith(".up.sql"):
            title = path.name.removesuffix(".up.sql")
            down = folder.joinpath(f"{title}.down.sql").read_text("utf-8")
            number, _, name = title.partition("_")
            up = path.read_text("utf-8")
            works_with = int(up.partition("\n")[0].removeprefix(_WORKS_WITH))
            found.append(Migration(int(number), name, works_with, up, down))
    return sorted(found, key=lambda step: step.version)


class Schema:
    """One schema of a database."""

    def __init__(self, connections: Connections) -> None:
        """Asks nothing yet."""
        self._connections = connections
        self._name = connections.settings.schema
        self._is_known = False

    def expect(self) -> None:
        """See to it, once for a process, that this hookrouter works with the tables. Raises StoreError."""
        if self._is_known:
            return
        # Outside of a transaction that is open: a table that is missing would be the end of it.
        with self._connections.apart():
            version = self._version()
            if not _OLDEST <= version <= NEWEST and not (version > NEWEST and self._works_with() <= NEWEST):
                raise StoreError(f"{self._place()}: {_wrong_version(version)}")
        self._is_known = True

    def has_history(self) -> bool:
        """Whether the tables of now have a history that this user may write. Raises StoreError.

        One who may not has documents all the same: :meth:`check` says which rights are missing.
        """
        self.expect()
        with self._connections.apart():
            known = [f"{self._name}.{table}" for table in _HISTORY]
            found = self._ask("SELECT to_regclass(name) IS NOT NULL FROM unnest(%s::text[]) AS name", (known,))
            return all(is_there for (is_there,) in found) and not self._lacking(_HISTORY)

    def init(self) -> list[str]:
        """Make what is missing up to the newest version; return in words what was done. Raises StoreError."""
        return self.migrate(None)

    def migrate(self, version: int | None) -> list[str]:
        """Go to a version, the newest one without; return in words what was done.

        Forward by any number of steps, back by one, which loses what the former version has no tables for. Raises
        StoreError.
        """
        steps = migrations()
        target = NEWEST if version is None else version
        done: list[str] = []
        first: int | None = None
        while True:
            with self._connections.together(_SECONDS):
                self._lock()
                done += self._prepare()
                now = self._applied()
                first = now if first is None else first
                if now > NEWEST:
                    raise StoreError(f"{self._place()}: {_wrong_version(now)}")
                lowest = max(first - 1, 0)
                if not 0 <= target <= NEWEST:
                    raise StoreError(f"there is no version {target} of the tables; allowed: {lowest} to {NEWEST}")
                if target < lowest:
                    raise StoreError(f"cannot go back from version {first} to {target}; allowed: {lowest} to {NEWEST}")
                if now == target:
                    break
                step = steps[now] if now < target else steps[now - 1]
                lost = "" if now < target else self._lost(step)
                self._step(step, forward=now < target)
            done.append(f"{'applied' if now < target else 'took back'} migration {step.version} ({step.name}){lost}")
        self._is_known = False
        return done

    def check(self, machine: str) -> list[str]:
        """Return what is wrong with the database for a machine, in words with what to do; empty if nothing is."""
        try:
            return self._problems() or self._refused_rows(machine)
        except StoreError as error:
            return [str(error)]

    def _problems(self) -> list[str]:
        server, standby, commit = self._ask(
            "SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), "
            "current_setting('synchronous_commit')"
        )[0]
        problems = []
        if server < _OLDEST_SERVER * 10_000:
            problems.append(f"the server is PostgreSQL {server // 10_000}; use {_OLDEST_SERVER} or newer")
        if standby:
            problems.append("the server is a standby, which can only be read; name the primary server in the DSN")
        if commit == "off":
            problems.append("synchronous_commit is off: what is saved may be lost with the server; set it to on")
        version = self._version()
        if version != NEWEST:
            return [*problems, f"{self._place()}: {_wrong_version(version)}"]
        recorded = dict(self._ask("SELECT version, checksum FROM {schema}.migration"))
        problems += [
            f"{self._place()}: migration {step.version} ({step.name}) was applied in another form than the one of "
            "this hookrouter; compare the tables with it, or restore a backup"
            for step in migrations()
            if recorded.get(step.version) != step.checksum
        ]
        lacking = self._lacking((*_TABLES, *_HISTORY))
        version_right = "SELECT has_sequence_privilege(format('%%I.version', %s::text), 'USAGE')"
        if not self._ask(version_right, (self._name,))[0][0]:
            lacking.append("USAGE on the sequence version")
        if lacking:
            problems.append(self._lacks("; ".join(lacking)))
        return problems

    def _refused_rows(self, machine: str) -> list[str]:
        """Return what is wrong if row-level security gives the user other rows than those of a machine."""
        is_active = self._ask("SELECT row_security_active(%s::text)", (f"{self._name}.document",))
        if not is_active[0][0] or self._may_write_of(machine):
            return []
        others = "others"
        (is_there,) = self._ask("SELECT to_regclass(%s::text) IS NOT NULL", (f"{self._name}.machine_role",))
        if is_there[0] and not self._lacking(("machine_role",), ("SELECT",)):
            named = self._ask(_NAMED)
            others = f"the machine {named[0][0]!r}" if named else "no machine, as no row of machine_role names it"
        problem = (
            f"{self._place()}: [storage] machine is {machine!r}, but row-level security gives the user of the DSN the "
            f"rows of {others}; correct the one or the other"
        )
        return [problem]

    def _may_write_of(self, machine: str) -> bool:
        """Whether the user may write a row of a machine, which is not kept."""
        try:
            with suppress(_NotKept), self._connections.together():
                self._ask(_PROBE, (machine, os.urandom(32)))
                raise _NotKept
        except RowsRefused:
            return False
        return True

    def _lacking(self, tables: Sequence[str], rights: Sequence[str] = _RIGHTS) -> list[str]:
        """Return in words what the user may not do with the tables; what is the same for several is said once."""
        by_table: dict[str, list[str]] = {}
        for table, right in self._ask(_LACKING, (list(tables), list(rights), self._name)):
            by_table.setdefault(table, []).append(right)
        by_rights: dict[str, list[str]] = {}
        for table, lacks in by_table.items():
            by_rights.setdefault(", ".join(lacks), []).append(table)
        return [f"{lacks} on {', '.join(found)}" for lacks, found in by_rights.items()]

    def _lacks(self, rights: str) -> str:
        return f"{self._place()}: the user of the DSN lacks {rights}; grant it, as the manual says"

    def _version(self) -> int:
        """Return the version that is there; 0 if there is none. Raises StoreError if that cannot be read."""
        for (unreadable,) in self._ask(_UNREADABLE, (self._name,)):
            if unreadable is None:
                return self._applied()
            if unreadable:
                raise StoreError(self._lacks(unreadable))
        return 0

    def _applied(self) -> int:
        return int(self._ask("SELECT coalesce(max(version), 0) FROM {schema}.migration")[0][0])

    def _works_with(self) -> int:
        rows = self._ask("SELECT works_with FROM {schema}.migration ORDER BY version DESC LIMIT 1")
        return int(rows[0][0])

    def _lock(self) -> None:
        """Keep other processes from migrating until the end of the transaction."""
        self._ask("SELECT pg_advisory_xact_lock(hashtextextended('hookrouter migrates ' || %s, 0))", (self._name,))

    def _prepare(self) -> list[str]:
        """Make the schema and the table of migrations if they are missing; return in words what was done."""
        unreadable = self._ask(_UNREADABLE, (self._name,))
        if unreadable and unreadable[0][0] is None:
            return []
        if unreadable and unreadable[0][0]:
            raise StoreError(self._lacks(unreadable[0][0]))
        # Not IF NOT EXISTS, which needs the right to make schemas even if there is one.
        if not unreadable:
            if not self._ask("SELECT has_database_privilege(current_database(), 'CREATE')")[0][0]:
                raise StoreError(self._lacks("CREATE on the database, or a schema of that name of its own"))
            self._ask("CREATE SCHEMA {schema}")
        self._expect_create()
        self._ask(
            "CREATE TABLE {schema}.migration (version integer PRIMARY KEY, name text NOT NULL, "
            "works_with integer NOT NULL, checksum text NOT NULL, "
            "applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        return [f"made the schema {self._name}"]

    def _lost(self, step: Migration) -> str:
        """Return in words what is lost if a step is taken back; empty if nothing is."""
        if step.name != _HISTORY_STEP:
            return ""
        ((stories, is_counted),) = self._ask(_KEPT)
        if not (stories or is_counted):
            return ""
        return (
            f": the history of all machines went with its tables, {stories} questions and all counts; when you migrate "
            "again, each machine adds what its journal still has"
        )

    def _expect_create(self) -> None:
        if not self._ask("SELECT has_schema_privilege(%s::text, 'CREATE')", (self._name,))[0][0]:
            raise StoreError(self._lacks("CREATE on the schema"))

    def _step(self, step: Migration, *, forward: bool) -> None:
        self._expect_create()
        self._ask(step.up if forward else step.down)
        if forward:
            self._ask(
                "INSERT INTO {schema}.migration (version, name, works_with, checksum) VALUES (%s, %s, %s, %s)",
                (step.version, step.name, step.works_with, step.checksum),
            )
        else:
            self._ask("DELETE FROM {schema}.migration WHERE version = %s", (step.version,))

    def _ask(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._connections.run(statement, parameters)

    def _place(self) -> str:
        return f"PostgreSQL, {self._connections.target().place}, schema {self._name}"


def _wrong_version(version: int) -> str:
    if version == 0:
        return "its tables are missing; run: hookrouter storage init"
    if version < NEWEST:
        return f"its tables are of version {version}, this hookrouter wants {NEWEST}; run: hookrouter storage migrate"
    return f"its tables are of version {version}, this hookrouter knows {NEWEST}; update hookrouter on this machine"
