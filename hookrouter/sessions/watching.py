"""Watchers: what plugins have done every few seconds, because no hook tells of it.

The resident router has it done, in a process of its own for each time; without a router ``hookrouter watch`` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hookrouter._plugins.registry import Plugins
    from hookrouter.context import Services

__all__ = ["WATCH_SECONDS", "SessionWatcher", "session_watchers"]

WATCH_SECONDS = 10.0
"""Seconds from one look to the next."""


class SessionWatcher(Protocol):
    """Looks at the sessions of this machine from outside."""

    name: str

    def look(self, services: Services) -> None:
        """Look once, and do what is to be done. It is called again and again, each time in another process.

        So what it has to remember is kept in documents. Two never look at once. Should end within seconds.
        """


def session_watchers(plugins: Plugins) -> dict[str, SessionWatcher]:
    """Return what looks at sessions every few seconds, of the active plugins that contribute it, by name."""
    return plugins.contributions("session_watcher")
