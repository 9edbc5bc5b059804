"""Whether messages hand on traces, as ``[monitor] traces`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.composing import MessageTracing
from hookrouter_monitor.settings import MonitorSettings

if TYPE_CHECKING:
    from hookrouter.context import Services

__all__ = ["MonitorTracing"]


class MonitorTracing(MessageTracing):
    """Goes by the table."""

    name = "monitor"

    def is_on(self, services: Services, /) -> bool:
        """Return what it says."""
        return services.settings(MonitorSettings).traces
