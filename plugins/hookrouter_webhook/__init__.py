"""The gateway ``webhook``: sends the message to any HTTP endpoint.

``[gateways.NAME]``, with ``type = "webhook"``:

- ``url``, or ``url_env`` or ``url_file`` if the address itself is a secret; https, or http to this machine, and to
  others with ``allow_http = true``; ``ca_file`` names certificates to trust instead of the usual ones;
- ``method``: ``POST`` (default), ``PUT`` or ``PATCH``;
- ``headers``: a table; a value that is a secret is named as ``NAME_env`` or ``NAME_file``, as in
  ``headers = { Authorization_env = "WAKE_AUTH" }``, whose variable holds the whole value, ``Bearer ...``;
- ``body``: a template in which ``$text``, ``$subject``, ``$kind``, ``$agent``, ``$session``, ``$session_id``,
  ``$tool_use_id``, ``$id``, ``$created_at`` and ``$link`` stand for the message, escaped as the header
  Content-Type wants it (JSON by default, so ``{"text": "$text"}`` is right; form data, XML, HTML, text/plain and
  text/markdown, no other one, and no other charset than UTF-8), and ``$about`` for what all messages about
  one question share; without it, the whole message as one JSON object;
- ``secrets``: ``{ token_env = "BOT_TOKEN" }`` makes ``$token`` known to templates, of which ``url`` is then one;
- ``text_bytes``: how much of the text the service takes; a longer one is cut, and says so;
- ``entities``: ``&``, ``<`` and ``>`` go out as entities, so that Slack reads no mention and no link in them;
- ``accepted``: the part of a JSON answer, such as ``ok``, that must be true;
- ``receipt`` and the table ``closed`` (``url``, ``method``, ``body``): how a message is withdrawn or edited once its
  question is over. ``receipt = { message = "result.message_id" }`` takes a part of the answer to the delivery, which
  is ``$message`` in the templates of ``closed``; these know ``$closes`` too, the id of the earlier message;
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
