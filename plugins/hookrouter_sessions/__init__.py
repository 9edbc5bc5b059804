"""Follows sessions from hook to hook, submits what waits in their queues, and wakes agents when a turn ends.

This module holds the hooks only. What they need is imported when they are called, because it is on the way of every
``hookrouter run`` that reaches this plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl

if TYPE_CHECKING:
    from hookrouter.hookspecs.commands import Command

__all__: list[str] = []


@hookimpl
def cli_commands() -> list[Command]:
    """Contribute what people and agents type: ``hookrouter send``, ``queue`` and ``sessions``."""
    from hookrouter.hookspecs.commands import Command

    return [
        Command(
            name="send",
            help="Put prompts and commands into a session's queue.",
            target="hookrouter.cli.queue.commands:send",
        ),
        Command(
            name="queue",
            help="Show what waits to be submitted in sessions, and change it.",
            target="hookrouter.cli.queue.commands:app",
        ),
        Command(
            name="sessions",
            help="List the sessions that are known, and what each does.",
            target="hookrouter.cli.queue.commands:sessions",
        ),
    ]
