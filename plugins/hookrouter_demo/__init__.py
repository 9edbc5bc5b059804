"""The command ``hookrouter demo``: the whole question loop in a throw-away sandbox, with a rule for an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.hookspecs.commands import Command


@hookimpl
@stateless
def cli_commands() -> list[Command]:
    """Contribute the command."""
    from hookrouter.hookspecs.commands import Command

    return [
        Command(
            "demo",
            "Run the whole question loop in a throw-away sandbox.",
            "hookrouter_demo.command:demo",
            "See what happened",
        )
    ]
