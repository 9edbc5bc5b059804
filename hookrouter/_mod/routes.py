"""Which of hookrouter's entries the mod stands in for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from hookrouter._contract.hook_names import command_word, concerns, event_facts
from hookrouter._contract.tables import TOOL_ALIASES
from hookrouter._mod.results import FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._installation.registrations import Registration, RegistrationSource

__all__ = ["Route", "routes"]

_ANYTHING = ".*"


@frozen
class Route:
    """One entry of hookrouter's in the settings whose calls the mod brings to the router."""

    event: str
    matcher: str | None
    command: str
    """The entry's shell command line, by which the mod knows it."""

    def to_json(self) -> dict[str, Any]:
        """Return it as the mod's source has it: with the ``names`` that it takes (null: every call).

        They are what matchers of the event look at, such as tools. ``part`` is what stands in the names of tools of MCP
        servers that it takes as well.
        """
        known, part = None, None
        if self.matcher is not None:
            # The only expressions among the matchers: the tools of all servers, of one, or those that begin alike.
            if self.matcher.endswith(_ANYTHING):
                part, names = self.matcher.removesuffix(_ANYTHING), []
            else:
                names = self.matcher.split("|")
            known = sorted({*names, *(TOOL_ALIASES.get(name, name) for name in names)})
        return {"event": self.event, "matcher": self.matcher, "command": self.command, "names": known, "part": part}


def routes(wanted: Sequence[Registration], sources: Sequence[RegistrationSource]) -> list[Route]:
    """Return the entries among ``wanted`` that the mod takes the place of.

    Not http hooks, not those that may begin a turn, not those in which scripts run, and not those of events whose
    replies a module cannot give. Nor those of guards: an entry that refuses the call if hookrouter fails, and every
    entry of an event that Claude Code cannot refuse for a failure but that a plugin which is set to fail closed listens
    to, stay command hooks.
    """
    return [
        Route(want.event, want.matcher, want.command)
        for want in wanted
        if want.event in FIELDS
        and want.http is None
        and not want.wakes
        and not want.is_scripted
        and not want.block_on_failure
        and not _is_guarded_whole(want.event, wanted, sources)
    ]


def _is_guarded_whole(event: str, wanted: Sequence[Registration], sources: Sequence[RegistrationSource]) -> bool:
    """Say whether a plugin that is set to fail closed listens to an event at which no entry says so."""
    if any(want.event == event and want.block_on_failure for want in wanted):
        return False
    facts = event_facts(command_word(event))
    return facts is not None and any(
        source.closed and any(concerns(hook, facts.hook) for hook in source.hooks) for source in sources
    )
