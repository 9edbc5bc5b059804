"""The monitor, as the router keeps it. What it tells is in :mod:`hookrouter_monitor.app`, which no router loads."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from hookrouter.serving.resident import Plan, ResidentProcess, extra_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.serving.resident import Place, State

__all__ = ["MonitorProcess"]


class MonitorProcess(ResidentProcess):
    """Runs where ``[monitor]`` has an address."""

    name = "monitor"
    target = "hookrouter_monitor.process:main"

    def plan(self, place: Place) -> Plan | None:
        """Listen at the address; whoever runs has read the whole table."""
        address = str(place.settings.get("address", ""))
        if place.problems:
            return Plan(problem=place.problems[0])
        if not address:
            return None
        is_there = importlib.util.find_spec("uvicorn") is not None
        problem = "" if is_there else extra_missing(self.name)
        return Plan(addresses=(address,), problem=problem, depends=dict(place.settings))

    def faults(self, place: Place) -> Iterable[tuple[str, str]]:
        """Say why nobody is told the figures, if the file of their token cannot be used."""
        if place.problems or not place.settings.get("address") or not place.settings.get("token_file"):
            return
        # Not in the router.
        from hookrouter.messaging.secrets import SecretError, read_secret

        try:
            read_secret(place.settings, "token", {})
        except SecretError as error:
            yield "monitor.token_file", f"nobody can read /metrics: [monitor] {error}"

    def status(self, plan: Plan, state: State) -> dict[str, object]:
        """Return its process and its address, and what is wrong."""
        address = plan.addresses[0] if plan.addresses else ""
        return {"pid": state.pid, "address": address, "problem": state.trouble}

    def line(self, status: Mapping[str, object]) -> str:
        """Return where it is."""
        is_there = status["pid"]
        return f"metrics and probes: http://{status['address']}" if is_there else f"no monitor: {status['problem']}"
