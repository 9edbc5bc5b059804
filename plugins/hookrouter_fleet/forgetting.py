"""Removes what stands in the engine of a machine that is gone for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.text import did_you_mean
from hookrouter_fleet.kinds import FLEET, SHARED
from hookrouter_fleet.replica import PRESENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.storage.interface import Storage

__all__ = ["OWN_KINDS", "forget"]

OWN_KINDS = (FLEET, "errand", "taking")
"""The kinds of documents that stand in the engine about a machine itself, in the area of the fleet."""


def forget(
    storage: Storage, machine: str, here: str, report: Callable[[str], None], *, dry_run: bool = False
) -> dict[str, int]:
    """Remove all documents of a machine from the engine, in one transaction; return how many there were, by kind.

    ``here`` is what this machine is called. Its history stays, as long as the engine keeps any. ``dry_run``: remove
    nothing. Raises StoreError if there is no such machine, if it is this one, or if it is at work.
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
    places = [
        *((area, kind) for area, kinds in SHARED.items() for kind in kinds),
        *((FLEET, kind) for kind in OWN_KINDS),
    ]
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
    return found
