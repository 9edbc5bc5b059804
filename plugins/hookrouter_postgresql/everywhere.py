"""The documents of all machines at once, each look in one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.util import fastjson
from hookrouter_postgresql import names
from hookrouter_postgresql.store import DELETED_STAY

if TYPE_CHECKING:
    from collections.abc import Collection

    from hookrouter_postgresql.access import Access

__all__ = ["AllMachines"]

_ENTRIES = (
    "SELECT machine, name, body FROM {schema}.document WHERE area = %s AND kind = %s AND body IS NOT NULL "
    "ORDER BY machine, name"
)
_PLACE = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text, extract(epoch FROM clock_timestamp())::float8"
_KNOWN = (
    # The machines, each found by one look into the index; DISTINCT would read all rows.
    "WITH RECURSIVE known AS ("
    "(SELECT machine FROM {schema}.document ORDER BY machine LIMIT 1) UNION ALL SELECT ("
    "SELECT d.machine FROM {schema}.document d WHERE d.machine > known.machine ORDER BY d.machine LIMIT 1"
    ") FROM known WHERE known.machine IS NOT NULL) "
)
_MACHINES = f"{_KNOWN} SELECT machine FROM known WHERE machine IS NOT NULL"
_CHANGED = (
    f"{_KNOWN} SELECT changed.machine, changed.kind, array_agg(changed.version) FROM known "
    "JOIN {schema}.document changed ON changed.machine = known.machine "
    "WHERE changed.area = %s AND changed.kind = ANY(%s) AND changed.written_by >= %s::xid8 "
    # Rows of a restored backup may have numbers that this server has not come to.
    "AND changed.written_by < pg_snapshot_xmax(pg_current_snapshot()) GROUP BY changed.machine, changed.kind"
)


class AllMachines:
    """The documents of all machines: :class:`hookrouter.storage.interface.Everywhere`."""

    def __init__(self, access: Access) -> None:
        """Connects nothing."""
        self._access = access

    def entries(self, area: str, kind: str) -> list[tuple[str, str, dict[str, object]]]:
        """Return machine, name and document of all documents of a kind, without corrupt ones."""
        found = []
        for machine, name, body in self._access.run(_ENTRIES, (area, names.checked(kind))):
            try:
                document = fastjson.loads(body)
            except ValueError:
                continue
            if isinstance(document, dict):
                found.append((machine, names.text_of(name), document))
        return found

    def changed(
        self, area: str, kinds: Collection[str], since: object | None
    ) -> tuple[object, Collection[tuple[str, str]]]:
        """Return where the changes are by now, and machine and kind of what has changed since another place.

        A place is the number of a transaction before which all have ended, with the versions that were told since, and
        the server's time. After so long that rows of deleted documents may have gone, as for a machine that was asleep,
        all counts as changed.
        """
        ((now, at),) = self._access.run(_PLACE, ())
        if not isinstance(since, tuple):
            return (now, {}, at), ()
        before, told, seen_at = since
        if at - seen_at > DELETED_STAY / 2:
            known = [machine for (machine,) in self._access.run(_MACHINES, ())]
            return (now, {}, at), [(machine, kind) for machine in known for kind in kinds]
        rows = self._access.run(_CHANGED, (area, list(kinds), before))
        found = {(machine, kind): set(versions) for machine, kind, versions in rows}
        return (now, found, at), [place for place, versions in found.items() if versions - told.get(place, set())]
