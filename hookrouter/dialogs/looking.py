"""Looks from outside for what no hook tells of: dialogs that could not be saved, and what the watchers of plugins know.

The resident router has it done every few seconds; without one ``hookrouter watch`` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs.unsaved import open_unsaved
from hookrouter.sessions.watching import session_watchers
from hookrouter.storage.interface import StoreBusy
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Services

__all__ = ["have_looked"]


def have_looked(services: Services) -> None:
    """Look once for all that no hook tells of. What fails is a warning in the journal, and stops nothing else.

    Raises StoreError if the state folder cannot be used.
    """
    looks: dict[str, Callable[[Services], object]] = {"unsaved-dialogs": open_unsaved}
    looks |= {name: watcher.look for name, watcher in session_watchers(services.plugins).items()}
    try:
        with services.store.lock("watch", "look", 0.0):
            for name, look in looks.items():
                try:
                    look(services)
                except Exception as error:  # noqa: BLE001 - it may be a plugin's
                    services.warn(f"the watcher {name} failed: {describe_error(error)}")
    except StoreBusy:
        # Another process looks just now.
        return
