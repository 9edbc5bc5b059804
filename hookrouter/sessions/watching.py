"""Watchers: what plugins have done every few seconds, because no hook tells of it.

The resident router has it done, in a process of its own for each time; without a router ``hookrouter watch`` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from hookrouter.context import Services

__all__ = ["WATCH_SECONDS", "SessionWatcher", "have_looked"]

WATCH_SECONDS = 10.0
"""Seconds from one look to the next."""


class SessionWatcher(Protocol):
    """Looks at the sessions of this machine from outside."""

    name: str

    def look(self, services: Services) -> None:
        """Look once, and do what is to be done. It is called again and again, each time in another process.

        So what it has to remember is kept in documents. Two never look at once. Should end within seconds.
        """


def have_looked(services: Services) -> None:
    """Have each active plugin's watcher look once. One that raises is a warning in the journal, and stops no other."""
    from hookrouter.storage.interface import StoreBusy

    try:
        with services.store.lock("watch", "look", 0.0):
            for name, watcher in services.plugins.session_watchers().items():
                try:
                    watcher.look(services)
                except Exception as error:  # noqa: BLE001 - it is a plugin's
                    services.warn(f"the watcher {name} failed: {describe_error(error)}")
    except StoreBusy:
        # Another process looks just now.
        return
