"""The gateway ``command``: runs a program of the user's with the message on its stdin.

``[gateways.NAME]``, with ``type = "command"``:

- ``argv``: the program and its arguments, a list; no shell reads it;
- ``timeout``: seconds, default 60; ``cwd``: default the home folder;
- ``format``: ``"text"``: the message; ``"json"``: all of it as one object;
- ``env``: names and globs, such as ``["PATH", "HOME", "LC_*"]``, of the variables that are passed on; without it, all
  of them. What belongs to the session that asks is never passed on: ``CLAUDECODE``, ``CLAUDE_PID``,
  ``CLAUDE_PROJECT_DIR``, ``CLAUDE_ENV_FILE``, ``CLAUDE_EFFORT``, those that begin with ``CLAUDE_PLUGIN_``, the
  ``CLAUDE_CODE_`` variables of the session (its id, entrypoint, sockets, ports and messaging token),
  ``TMUX_PANE``, ``TRACEPARENT`` and ``TRACESTATE``. ``TMUX`` is passed on, as a program may need the server, and so
  is what is the user's, such as ``CLAUDE_CONFIG_DIR`` and ``CLAUDE_CODE_OAUTH_TOKEN``, which an agent may need. The
  values are those of the hook that started the deliverer. ``HOOKROUTER_WAKE_*`` always say what the message is about;
- ``set``: a table of further variables. A secret is named as ``NAME_env`` or ``NAME_file``, as in
  ``set = { API_TOKEN_file = "~/.config/token" }``.

Exit code 0 means that the message was taken; 64, 65 and 78 (``EX_USAGE``, ``EX_DATAERR``, ``EX_CONFIG``) that trying
again cannot help; all others, such as 75 (``EX_TEMPFAIL``), ask for another try.

What the program writes is kept in ``logs/gateway-<name>.log`` (0600); one that has grown large is set aside once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.messaging.gateway import Gateway


@hookimpl
@stateless
def gateway() -> Gateway:
    """Contribute the gateway."""
    from hookrouter_command.program import CommandGateway

    return CommandGateway()
