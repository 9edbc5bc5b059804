"""The hook by which plugins have processes beside the router."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.serving.resident import ResidentProcess

__all__ = ["ResidentSpecs"]


class ResidentSpecs:
    """The hook of resident processes. Also a base class: override what the plugin implements."""

    @hookspec
    def resident_process(self) -> Sequence[ResidentProcess] | None:
        """When: ``hookrouter serve`` begins, and once more if other plugins are active; never in a hook process.

        Returns: ``None`` for nothing, or a list of :class:`~hookrouter.serving.resident.ResidentProcess`: processes
        that live as long as the router. The router asks each how it is to run (``plan``), makes its sockets, starts the
        process always, on a connection, or on an errand, and starts it again after growing pauses if it fails.

        Combined: All are kept, in plugin order. Of two with one name the first is used, and the other is reported. One
        that cannot be used is reported, and stops nothing else.

        Args:
            (none): What a plan is made from comes with each call of ``plan``.

        Example::

            @hookimpl
            def resident_process():
                from hookrouter_bulletin.board import Board

                return [Board()]
        """
