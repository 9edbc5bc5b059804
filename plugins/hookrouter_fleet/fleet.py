"""What the plugin contributes by the hook ``machines``. What either part needs is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.sharing import Sharing

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Services
    from hookrouter.machines import Machines

__all__ = ["Fleet"]


class Fleet(Sharing):
    """Shares documents by whatever engine a plugin brings."""

    name = "fleet"

    def machines(self, services: Services) -> Machines:
        """See :class:`hookrouter.sharing.Sharing`."""
        from hookrouter_fleet.others import Others

        return Others(services)

    def bring(self, services: Services, *, stay: bool, is_outdated: Callable[[], bool]) -> None:
        """See :class:`hookrouter.sharing.Sharing`."""
        from hookrouter_fleet.process import Process

        Process(services, stay=stay, is_outdated=is_outdated).run()
