"""The gateway ``command``: runs a program of the user's with the message on its stdin.

``[gateways.NAME]``: ``type = "command"``, ``argv`` (a list, no shell), and optionally ``timeout`` (seconds, default
60), ``cwd`` (default: the home folder) and ``format`` (``"text"``: the message; ``"json"``: all of it as one object).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl

if TYPE_CHECKING:
    from hookrouter.answering import Gateway


@hookimpl
def gateway() -> Gateway:
    """Contribute the gateway."""
    from hookrouter_command.program import CommandGateway

    return CommandGateway()
