"""The gateway ``command``: runs a program of the user's with the message on its stdin.

``[gateways.NAME]``, with ``type = "command"``:

- ``argv``: the program and its arguments, a list; no shell reads it;
- ``timeout``: seconds, default 60; ``cwd``: default the home folder;
- ``format``: ``"text"``: the message; ``"json"``: all of it as one object;
- ``env``: names and globs, such as ``["PATH", "HOME", "LC_*"]``, of the variables that are passed on; without it, all
  of them. Those that say which session asks, or that open it, are never passed on, and ``HOOKROUTER_WAKE_*`` always
  say what the message is about;
- ``set``: a table of further variables. A secret is named as ``NAME_env`` or ``NAME_file``, as in
  ``set = { API_TOKEN_file = "~/.config/token" }``.

What the program writes is kept in ``logs/gateway-<name>.log`` (0600); one that has grown large is set aside once.
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
