"""The monitor: metrics and probes for programs, in a process of its own beside the resident router.

It runs where ``[monitor]`` of config.toml has an address, and needs the extra ``hookrouter[serve]``. No event is
listened to, so no hook run is longer for it: what is counted is read from the journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.composing import MessageTracing
    from hookrouter.serving.resident import ResidentProcess
    from hookrouter_monitor.settings import MonitorSettings


@hookimpl
@stateless
def resident_process() -> list[ResidentProcess]:
    """Contribute the process."""
    from hookrouter_monitor.resident import MonitorProcess

    return [MonitorProcess()]


@hookimpl
@stateless
def plugin_settings() -> type[MonitorSettings]:
    """Declare what the table may hold."""
    from hookrouter_monitor.settings import MonitorSettings

    return MonitorSettings


@hookimpl
@stateless
def config_table() -> str:
    """Name the table."""
    return "monitor"


@hookimpl
@stateless
def message_tracing() -> MessageTracing:
    """Contribute what says whether messages hand on traces."""
    from hookrouter_monitor.tracing import MonitorTracing

    return MonitorTracing()
