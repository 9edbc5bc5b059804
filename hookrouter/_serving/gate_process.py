"""The gate, as the router keeps it. What it does is in :mod:`hookrouter._serving.gate`, which no router loads."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from hookrouter._serving import address
from hookrouter.serving.resident import Plan, ResidentProcess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.serving.resident import Place, State

__all__ = ["GateProcess"]


class GateProcess(ResidentProcess):
    """Runs where ``[serve]`` asks for http hooks or the mod; mods reach it by a socket of this user alone."""

    name = "gate"
    target = "hookrouter._serving.gate.process:main"

    def plan(self, place: Place) -> Plan | None:
        """Listen at the own socket, and at the address for http hooks if there is one."""
        serve = place.config.serve
        if not serve.http and not serve.mod:
            return None
        is_there = importlib.util.find_spec("uvicorn") is not None
        return Plan(
            addresses=(serve.http,) if serve.http else (),
            sockets=(address.HTTP,),
            problem="" if is_there else "the extra hookrouter[serve] is not installed",
            depends=(serve.http, serve.mod),
        )

    def status(self, plan: Plan, state: State) -> dict[str, object]:
        """Return its process, what it is for, and why a part of that is not there."""
        http, mod = plan.depends if isinstance(plan.depends, tuple) else ("", False)
        ended = plan.problem or state.ended
        return {"pid": state.pid, "http": http, "mod": mod, "ended": ended, "problem": state.problem}

    def line(self, status: Mapping[str, object]) -> str:
        """Return for whom there is one, or how it ended."""
        what = " and ".join(str(name) for name in (status["http"], "mod" if status["mod"] else "") if name)
        return f"gate for {what}: " + (
            f"process {status['pid']}" if status["pid"] else f"not there ({status['ended']})"
        )
