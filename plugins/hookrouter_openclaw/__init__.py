"""The gateway ``openclaw``: wakes an agent of an OpenClaw gateway over HTTP. Measured on openclaw 2026.9.6.

``[gateways.NAME]``, with ``type = "openclaw"``:

- ``agent``: the agent's id in OpenClaw;
- ``token_env`` or ``token_file``: where the token is: of the hooks, for the route ``operator`` of the gateway;
- ``url``: the gateway, default ``http://127.0.0.1:18789``; plain http to other machines wants ``allow_http = true``,
  ``ca_file`` names certificates to trust;
- ``route``: ``agent`` (default: a turn of its own, ``/hooks/agent``), ``mapping`` (``/hooks/<mapping>``, a mapping of
  OpenClaw's configuration, named by ``mapping``), ``wake`` (a system event in the agent's main session,
  ``/hooks/wake``) or ``operator`` (a chat completion, ``/v1/chat/completions``, which lasts as long as the turn);
- ``timeout``: seconds, default 20, and 600 for ``operator``;
- ``format``: ``text`` (default: the whole message) or ``notice`` (one line that names session and question; the
  agent's skill says how to see more);
- ``name``, ``model`` (route ``agent``), ``session_key``, ``session_mode`` (``isolated`` or ``persistent``, route
  ``agent``), ``hooks_path`` (default ``/hooks``): as OpenClaw knows them.
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
    from hookrouter_openclaw.posting import OpenClawGateway

    return OpenClawGateway()
