"""Documents as rows of a table: one area of one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreError
from hookrouter.util import fastjson
from hookrouter.util.text import printable
from hookrouter_postgresql import names
from hookrouter_postgresql.locks import Lock, forget_ended, holder
from hookrouter_postgresql.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter_postgresql.access import Access

__all__ = ["DELETED_STAY", "PostgresqlStore"]

_KEY = "machine = %s AND area = %s AND kind = %s AND digest = %s"
_KEY_COLUMNS = "machine, area, kind, digest"
_ALL = "machine = %s AND area = %s AND kind = %s AND body IS NOT NULL"
_CHANGED = "version = nextval('{schema}.version'), written_by = pg_current_xact_id(), written_at = clock_timestamp()"
_TOLD = "SELECT version, pg_notify(%s, %s || ' ' || version) FROM changed"
"""Ends a statement that changes a document: whoever listens is told which one, and which version."""

_PUT = (
    "WITH changed AS (INSERT INTO {schema}.document AS old (machine, area, kind, digest, name, body) "
    "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (machine, area, kind, digest) "
    f"DO UPDATE SET body = excluded.body, {_CHANGED} "
)
_WRITE = f"{_PUT} RETURNING version) {_TOLD}"
_CREATE = f"{_PUT} WHERE old.body IS NULL RETURNING version) {_TOLD}"
_REPLACE = (
    f"WITH changed AS (UPDATE {{schema}}.document SET body = %s, {_CHANGED} WHERE {_KEY} AND version = %s "
    f"RETURNING version) {_TOLD}"
)
_DELETE = (
    f"WITH changed AS (UPDATE {{schema}}.document SET body = NULL, {_CHANGED} WHERE {_KEY} AND body IS NOT NULL "
    f"RETURNING version) {_TOLD}"
)
_PUT_ASIDE = (
    f"WITH changed AS (UPDATE {{schema}}.document SET body = NULL, {_CHANGED} WHERE {_KEY} AND version = %s "
    "RETURNING version), aside AS (INSERT INTO {schema}.put_aside (machine, area, kind, name, body, reason) "
    f"SELECT %s, %s, %s, %s, %s, %s FROM changed) {_TOLD}"
)
_READ = f"SELECT body, version FROM {{schema}}.document WHERE {_KEY} AND body IS NOT NULL"
_NAMES = f"SELECT name, version FROM {{schema}}.document WHERE {_ALL}"
_ENTRIES = f"SELECT name, body, version FROM {{schema}}.document WHERE {_ALL} ORDER BY name"
_CHOSEN = f"SELECT name, body, version FROM {{schema}}.document WHERE {_ALL} AND digest = ANY(%s) ORDER BY name"
_ASIDE = "SELECT kind, name, put_aside_at FROM {schema}.put_aside WHERE machine = %s AND area = %s ORDER BY id"
_PRUNE_ASIDE = (
    "DELETE FROM {schema}.put_aside WHERE machine = %s AND area = %s "
    "AND put_aside_at < clock_timestamp() - %s * interval '1 second'"
)
_PRUNE_DELETED = (
    f"WITH gone AS (DELETE FROM {{schema}}.document WHERE ({_KEY_COLUMNS}) IN (SELECT {_KEY_COLUMNS} "
    "FROM {schema}.document WHERE machine = %s AND area = %s AND body IS NULL "
    # In a SELECT of its own it is read once, so that the index leads to the rows.
    "AND written_at < (SELECT clock_timestamp()) - %s * interval '1 second' "
    "ORDER BY written_at LIMIT %s FOR UPDATE SKIP LOCKED) AND body IS NULL RETURNING 1) SELECT count(*) FROM gone"
)
DELETED_STAY = 86_400.0
"""Seconds that the row of a deleted document stays, so that whoever was cut off from the news learns of it.

No longer, whatever else is kept: a busy day leaves thousands, and who watches a kind reads them.
"""
_PRUNED_AT_ONCE, _PRUNED_TIMES = 1000, 50
"""How many such rows one statement removes, and how many statements one call makes: the rest has time."""


class PostgresqlStore:
    """One area of a machine's documents: :class:`hookrouter.storage.interface.DocumentStore`."""

    def __init__(self, access: Access, machine: str, area: str, report: Callable[[str], None]) -> None:
        """``report`` hears of every document that had to be put aside."""
        self._access = access
        self._machine = machine
        self._area = area
        self._report = report
        self._channel = names.channel_of(access.connections.settings.schema, machine)

    def write(self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True) -> str:
        """Save one document in place of the former one; return its row in words."""
        body = fastjson.dumps(dict(document))
        values = (*self._key(kind, name), names.bytes_of(name), body)
        self._change(_WRITE, kind, name, values, durable=durable)
        return self._row(kind, name)

    def read(self, kind: str, name: str) -> dict[str, object] | None:
        """Return one document; None if there is none. A corrupt one is put aside and reported, and counts as none."""
        found = self._read(kind, name)
        return None if found is None else found[0]

    def delete(self, kind: str, name: str) -> bool:
        """Remove one document; return whether there was one."""
        return self._change(_DELETE, kind, name, self._key(kind, name))

    def entries(self, kind: str, named: Callable[[str], bool] | None = None) -> list[tuple[str, dict[str, object]]]:
        """Return name and document of all documents of one kind, sorted by name, or of those that are chosen."""
        if named is None:
            rows = self._access.run(_ENTRIES, self._place(kind))
        else:
            every = (names.text_of(name) for name, _ in self._access.run(_NAMES, self._place(kind)))
            chosen = [names.digest_of(name) for name in every if named(name)]
            rows = self._access.run(_CHOSEN, (*self._place(kind), chosen)) if chosen else []
        found = []
        for raw, body, version in rows:
            name = names.text_of(raw)
            document = self._parsed(kind, name, body, version)
            if document is not None:
                found.append((name, document[0]))
        return found

    def stamps(self, kind: str) -> dict[str, object]:
        """Return the version of each document of a kind by its name."""
        return {names.text_of(name): version for name, version in self._access.run(_NAMES, self._place(kind))}

    def create(
        self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True
    ) -> dict[str, object] | None:
        """Save a document if there is none of this name; return None, or else the document that was there first."""
        body = fastjson.dumps(dict(document))
        values = (*self._key(kind, name), names.bytes_of(name), body)
        while True:
            if self._change(_CREATE, kind, name, values, durable=durable):
                return None
            first = self.read(kind, name)
            if first is not None:
                return first
            # Deleted meanwhile, or corrupt and now put aside.

    def replace(
        self,
        kind: str,
        name: str,
        document: Mapping[str, object],
        *,
        unchanged: Mapping[str, object],
        durable: bool = True,
    ) -> bool:
        """Save a document if the one that is there equals ``unchanged``; return whether it was saved."""
        body = fastjson.dumps(dict(document))
        while True:
            found = self._read(kind, name)
            if found is None or found[0] != dict(unchanged):
                return False
            values = (body, *self._key(kind, name), found[1])
            if self._change(_REPLACE, kind, name, values, durable=durable):
                return True
            # Written meanwhile, perhaps with the same content.

    def watch(self, kind: str, name: str | None = None) -> Watch:
        """Return a watch on one document, or without ``name`` on all of a kind."""
        return Watch(self._access, self._place(kind), None if name is None else names.digest_of(name))

    def lock(self, kind: str, name: str, timeout: float) -> Lock:
        """Return a lock of this kind and name, for one ``with`` block."""
        return Lock(self._access, self._key(kind, name), f"{kind} {printable(name)!r}", timeout)

    def lock_holder(self, kind: str, name: str) -> str | None:
        """Return who holds a lock, in words for a person; None if nobody does."""
        return holder(self._access, self._key(kind, name))

    def put_aside(self) -> tuple[str, list[str]]:
        """Return the table of what was put aside, in words, and kind, name and time of each, oldest first."""
        rows = self._access.run(_ASIDE, (self._machine, self._area))
        table = f"table {self._access.connections.settings.schema}.put_aside"
        return table, [f"{kind}-{printable(names.text_of(name))} {at.isoformat()}" for kind, name, at in rows]

    def prune(self, seconds: float) -> None:
        """Remove what was put aside and locked longer ago than this, and the rows of documents long deleted.

        Also the markers of watchers that were killed. Raises nothing.
        """
        place = (self._machine, self._area)
        try:
            self._access.run(_PRUNE_ASIDE, (*place, seconds))
            for _ in range(_PRUNED_TIMES):
                ((gone,),) = self._access.run(_PRUNE_DELETED, (*place, DELETED_STAY, _PRUNED_AT_ONCE))
                if gone < _PRUNED_AT_ONCE:
                    break
            forget_ended(self._access, place, seconds)
        except StoreError:
            return
        finally:
            self._access.markers.sweep()

    def _place(self, kind: str) -> tuple[str, str, str]:
        return self._machine, self._area, names.checked(kind)

    def _key(self, kind: str, name: str) -> tuple[str, str, str, bytes]:
        return (*self._place(kind), names.digest_of(name))

    def _row(self, kind: str, name: str) -> str:
        schema = self._access.connections.settings.schema
        words = [f"machine {self._machine!r}", f"area {self._area!r}", f"kind {kind!r}", f"name {name!r}"]
        return f"row of {schema}.document: {', '.join(words)}"

    def _read(self, kind: str, name: str) -> tuple[dict[str, object], int] | None:
        """Return a document and its version."""
        rows = self._access.run(_READ, self._key(kind, name))
        return self._parsed(kind, name, *rows[0]) if rows else None

    def _change(self, statement: str, kind: str, name: str, values: Sequence[object], *, durable: bool = True) -> bool:
        """Run a statement that ends with :data:`_TOLD`; return whether it changed the document."""
        whole = names.kind_id(*self._place(kind))
        one = names.document_id(whole, names.digest_of(name))
        rows = self._access.run(statement, (*values, self._channel, f"{whole} {one}"), durable=durable)
        if not rows:
            return False
        # Whoever watches on this machine need not wait for the server to tell.
        self._access.connections.once_saved(lambda: self._access.markers.tell(whole, one, rows[0][0]))
        return True

    def _parsed(self, kind: str, name: str, body: str, version: int) -> tuple[dict[str, object], int] | None:
        try:
            document = fastjson.loads(body)
        except ValueError as error:
            return self._aside(kind, name, body, version, f"not JSON ({error})")
        if not isinstance(document, dict):
            return self._aside(kind, name, body, version, "not a JSON object")
        return document, version

    def _aside(
        self, kind: str, name: str, body: str, version: int, reason: str
    ) -> tuple[dict[str, object], int] | None:
        """Put a corrupt document aside and report it; return the good one that replaced it meanwhile, if any."""
        copy = (*self._place(kind), names.bytes_of(name), body, reason)
        if not self._change(_PUT_ASIDE, kind, name, (*self._key(kind, name), version, *copy)):
            return self._read(kind, name)
        schema = self._access.connections.settings.schema
        self._report(f"{printable(self._row(kind, name))} was corrupt ({reason}) and was moved to {schema}.put_aside")
        return None
