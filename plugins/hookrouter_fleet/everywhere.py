"""All machines at once, for an engine that looks at one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hookrouter.storage.interface import Everywhere, Storage

__all__ = ["everywhere"]


def everywhere(storage: Storage, report: Callable[[str], None]) -> Everywhere:
    """Return a look at all machines. ``report`` hears of documents that were corrupt and put aside."""
    return storage.everywhere() or _OneByOne(storage, report)


class _OneByOne:
    def __init__(self, storage: Storage, report: Callable[[str], None]) -> None:
        self._storage = storage
        self._report = report

    def entries(self, area: str, kind: str) -> list[tuple[str, str, dict[str, object]]]:
        return [
            (machine, name, document)
            for machine in self._storage.machines()
            for name, document in self._storage.store(area, self._report, machine).entries(kind)
        ]

    def changed(
        self, area: str, kinds: Collection[str], since: object | None
    ) -> tuple[object, Collection[tuple[str, str]]]:
        seen: Mapping[tuple[str, str], object] = since if isinstance(since, dict) else {}
        found = {
            (machine, kind): dict(self._storage.store(area, self._report, machine).stamps(kind))
            for machine in self._storage.machines()
            for kind in kinds
        }
        if since is None:
            return found, ()
        return found, [place for place in found.keys() | seen.keys() if found.get(place, {}) != seen.get(place, {})]
