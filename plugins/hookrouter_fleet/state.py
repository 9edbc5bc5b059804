"""What the process that writes documents says of itself, for whoever looks: a local document."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.clock import iso
from hookrouter_fleet.kinds import FLEET

if TYPE_CHECKING:
    from hookrouter.storage.interface import DocumentStore

__all__ = ["Sharing", "forget", "note", "problem", "read"]

_NAME = "state"


class Sharing(NamedTuple):
    """Whether others see what this machine asks."""

    engine: str = ""
    """The engine's name."""
    machine: str = ""
    """What this machine is called."""
    problem: str = ""
    """Why nothing is brought; empty if it is."""
    since: str = ""
    """Since when that holds (ISO 8601); empty if nothing is known of it."""


def read(store: DocumentStore) -> Sharing:
    """Return what was noted last; ``store`` is the local one. Raises StoreError."""
    document = store.read(FLEET, _NAME) or {}
    return Sharing(**{name: str(document[name]) for name in Sharing._fields if isinstance(document.get(name), str)})


def problem(store: DocumentStore, engine: str, machine: str, config_file: str) -> str:
    """Return why nothing is brought, as it was noted last; empty if it is, or if it was noted of another configuration.

    Arguments: as :func:`note` has them, and the path of config.toml. Raises StoreError.
    """
    found = read(store)
    if (found.engine, found.machine) != (engine, machine):
        return ""
    try:
        status = os.stat(config_file)
    except OSError:
        return ""
    return found.problem if found.since > iso(max(status.st_mtime, status.st_ctime)) else ""


def forget(store: DocumentStore) -> None:
    """Forget a problem that is there no more; if it is, it will be noted again. Raises StoreError."""
    if read(store).problem:
        store.delete(FLEET, _NAME)


def note(store: DocumentStore, engine: str, machine: str, problem: str) -> bool:
    """Note how it stands; return whether that is news. Raises StoreError."""
    former = read(store)
    if (former.engine, former.machine, former.problem) == (engine, machine, problem) and former.since:
        return False
    found = Sharing(engine, machine, problem, iso())
    store.write(FLEET, _NAME, {"version": 1, **found._asdict()}, durable=False)
    return True
