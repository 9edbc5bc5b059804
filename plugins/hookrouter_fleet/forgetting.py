"""Removes what stands in the engine of a machine that is gone for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.text import did_you_mean
from hookrouter_fleet.kinds import FLEET, OWN_KINDS
from hookrouter_fleet.replica import PRESENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrouter.storage.home import DocumentKind
    from hookrouter.storage.interface import Storage

__all__ = ["forget"]


def forget(
    storage: Storage,
    machine: str,
    here: str,
    shared: Iterable[DocumentKind],
    report: Callable[[str], None],
    *,
    dry_run: bool = False,
) -> dict[str, int]:
    """Remove all documents of a machine from the engine, in one transaction; return how many there were, by kind.

    ``here`` is what this machine is called; ``shared`` are the kinds of documents that machines see of each other. Its
    history stays, as long as the engine keeps any. ``dry_run``: remove nothing. Raises StoreError if there is no such
    machine, if it is this one, or if it is at work. ``report`` hears of documents that are left: of other kinds.
    """
    names = storage.machines()
    if machine not in names:
        known = ", ".join(names) or "none"
        raise StoreError(
            f"no machine {machine!r} has documents in the engine; {did_you_mean(machine, names, f'those are: {known}')}"
        )
    if machine == here:
        raise StoreError(f"{machine!r} is this machine; run it on another one")
    found: dict[str, int] = {}
    places = [*((kind.area, kind.name) for kind in shared), *((FLEET, kind.name) for kind in OWN_KINDS)]
    try:
        # It does not begin meanwhile.
        with storage.store(FLEET, report, machine).lock(*PRESENCE, 0), storage.together():
            for area, kind in places:
                store = storage.store(area, report, machine)
                there = list(store.stamps(kind))
                if there:
                    found[kind] = len(there)
                for name in [] if dry_run else there:
                    store.delete(kind, name)
    except StoreBusy as busy:
        raise StoreError(
            f"the machine {machine!r} is at work ({busy.holder}); end hookrouter there first: hookrouter serve --stop"
        ) from None
    if not dry_run and machine in storage.machines():
        report(f"the engine still has documents of {machine!r}: those of plugins that are not active here")
    return found
