"""The gateway ``webhook``: sends the message to any HTTP endpoint.

``[gateways.NAME]``, with ``type = "webhook"``:

- ``url``, or ``url_env`` or ``url_file`` if the address itself is a secret; https, or http to this machine, and to
  others with ``allow_http = true``; ``ca_file`` names certificates to trust instead of the usual ones;
- ``method``: ``POST`` (default), ``PUT`` or ``PATCH``;
- ``headers``: a table; a value that is a secret is named as ``NAME_env`` or ``NAME_file``, as in
  ``headers = { Authorization_env = "WAKE_AUTH" }``, whose variable holds the whole value, ``Bearer ...``;
- ``body``: a template in which ``$text``, ``$subject``, ``$kind``, ``$agent``, ``$session``, ``$session_id``,
  ``$tool_use_id``, ``$id``, ``$created_at`` and ``$link`` stand for the message, escaped as the header
  Content-Type wants it (JSON by default, so ``{"text": "$text"}`` is right); without it, the whole message as one JSON
  object;
- ``secret_env`` or ``secret_file``: signs each request, see :func:`hookrouter_webhook.posting.signature`;
- ``success``: the statuses that mean delivered, default all from 200 to 299;
- ``timeout``: seconds for all of it, default 20.

Every request carries the message id as ``Idempotency-Key``.
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
    from hookrouter_webhook.posting import WebhookGateway

    return WebhookGateway()
