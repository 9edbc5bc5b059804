"""The command ``hookrouter traces``: passes what the journal tells of questions on as OpenTelemetry spans.

It needs the extra ``hookrouter[otel]``. No hook is implemented, so no hook run is longer for it: the spans are made of
the journal's records, by a process of its own.
"""

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
            "traces",
            "Export questions to OpenTelemetry as traces.",
            "hookrouter_opentelemetry.command:traces",
            "See what happened",
        )
    ]
