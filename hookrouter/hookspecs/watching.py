"""The hook by which plugins look at sessions from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookspec

if TYPE_CHECKING:
    from hookrouter.sessions.watching import SessionWatcher

__all__ = ["WatchSpecs"]


class WatchSpecs:
    """The hooks of watching. Also a base class: override what the plugin implements."""

    @hookspec
    def session_watcher(self) -> SessionWatcher | None:
        """When: every few seconds while ``hookrouter serve`` or ``hookrouter watch`` runs, never in a hook process.

        Returns: ``None`` for no watcher, or an object with the members of
        :class:`~hookrouter.sessions.watching.SessionWatcher`. Its ``name`` is what it is known by.

        Combined: All watchers look, one after the other, in plugin order. Of two plugins with one name the first in
        plugin order is used, and the other is reported.

        Args:
            (none): What a watcher works on comes with each call of its ``look``.

        Example::

            @hookimpl
            def session_watcher():
                from hookrouter_carrier.watcher import CarrierWatcher

                return CarrierWatcher()
        """
