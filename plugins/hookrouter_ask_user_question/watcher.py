"""Opens the dialogs that could not be saved when they were asked, as on a full disk, once they can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs.unsaved import open_unsaved

if TYPE_CHECKING:
    from hookrouter.context import Services

__all__ = ["UnsavedWatcher"]


class UnsavedWatcher:
    """The watcher of this plugin."""

    name = "unsaved-dialogs"

    def look(self, services: Services) -> None:
        """Look once. See :class:`hookrouter.sessions.watching.SessionWatcher`. Raises StoreError."""
        open_unsaved(services)
