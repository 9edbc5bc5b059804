"""Is every agent reachable?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._diagnostics.configuration import unheard_warning, untold_warning
from hookrouter.util.clock import now
from hookrouter.util.fields import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place
    from hookrouter.config import Agent, Config

__all__ = ["AgentsCheck"]

_DAYS = 7
"""For how long a session is told of that nobody manages."""


class AgentsCheck:
    """The ``[[agents]]`` of config.toml."""

    name = "agents"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        app = place.app
        yield from place.problems(self.name, "agents")
        path = app.home.config_file
        if app.config.guards_alone:
            return
        agents = [agent for agent in app.config.agents if agent.enabled]
        if not agents:
            yield Finding(
                WARNING,
                "agents",
                "no agent is enabled, so no session is answered",
                f"enable an [[agents]] entry in {path}",
            )
            return
        reachable = True
        for agent in agents:
            if not reachable and not _is_handed_on_to(app.config, agent):
                yield Finding(
                    WARNING,
                    "agents",
                    f"agent {agent.id!r} never gets a session: an earlier one takes them all",
                    f"move its [[agents]] entry up in {path}",
                )
            if any(pattern in ("*", "**") for pattern in agent.sessions or ("*",)) and not agent.workdirs:
                reachable = False
            for name in (agent.gateway, *agent.fallbacks):
                if name not in app.config.gateways:
                    yield Finding(
                        ERROR,
                        "agents",
                        f"agent {agent.id!r} has the gateway {name!r}, which is not configured",
                        f"add [gateways.{name}] to {path}, or name one of: {', '.join(sorted(app.config.gateways))}",
                    )
            for folder in agent.workdirs:
                if not set(folder) & set("*?[") and not os.path.isdir(os.path.expanduser(folder)):
                    yield Finding(
                        WARNING,
                        "agents",
                        f"agent {agent.id!r} has the workdir {folder!r}, which is not a folder",
                        f"correct workdirs in {path}",
                    )
        yield from _untold(app.config, path)
        yield from _unmanaged(place)
        yield Finding(OK, "agents", f"enabled: {', '.join(agent.id for agent in agents)}")


def _is_handed_on_to(config: Config, agent: Agent) -> bool:
    """Whether messages come to an entry without a session of its own: through another one's fallback, or escalated."""
    others = [name for one in config.agents if one.enabled and one.id != agent.id for name in one.fallbacks]
    return not {agent.gateway, *agent.fallbacks}.isdisjoint([*others, config.answer.escalate_to])


def _untold(config: Config, path: str) -> Iterator[Finding]:
    """Say of whose silence nobody is told."""
    for warning in filter(None, (untold_warning(config), unheard_warning(config))):
        fix = f"set escalate_to in [answer] of {path} to a gateway by which a person is told"
        yield Finding(WARNING, "agents", warning, fix)


def _unmanaged(place: Place) -> Iterator[Finding]:
    """Look for sessions that asked in the last days, and that no agent manages."""
    app, found = place.app, {}
    for record in app.journal.search(('"unmanaged":{',), now() - _DAYS * 86400):
        about = record.get("unmanaged")
        if isinstance(about, dict):
            found[text(about, "session"), text(about, "cwd")] = text(about, "nearest")
    for (session, folder), nearest in sorted(found.items()):
        if app.config.agent_for(session, folder) is not None:
            continue
        hint = f"; the nearest is sessions = [{nearest!r}]" if nearest else ""
        yield Finding(
            WARNING,
            "agents",
            f"session {session} in {folder} has asked a question, and no agent manages it{hint}",
            f"correct sessions or workdirs of an [[agents]] entry in {app.home.config_file}, if one is meant to",
        )
