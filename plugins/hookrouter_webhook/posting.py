"""Sends messages to an HTTP endpoint, and withdraws or edits them there: requests, signatures, what answers mean."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING

from hookrouter.messaging import http
from hookrouter.messaging.gateway import Gateway, SendResult
from hookrouter.messaging.secrets import SecretError
from hookrouter_webhook.answers import is_accepted, receipt_of
from hookrouter_webhook.settings import KEY, SIGNATURE, TIMESTAMP, Secrets, WebhookSettings, content_type, faults
from hookrouter_webhook.templates import FIELDS, AddressError, fill_body, fill_url, message_values

if TYPE_CHECKING:
    from hookrouter.messaging.gateway import Message, Sent
    from hookrouter.messaging.http import Response

__all__ = ["WebhookGateway", "WebhookSettings", "signature"]


class WebhookGateway(Gateway):
    """Wakes an agent, or tells a person, by an HTTP request."""

    type = "webhook"
    settings = WebhookSettings

    def check(self, settings: WebhookSettings) -> list[str]:
        """Return what is wrong with addresses, headers and templates, or the secret that cannot be read.

        Sends nothing.
        """
        return faults(settings) or http.missing(lambda: Secrets.read(settings), settings.ca_file)

    def deliver(self, message: Message, settings: WebhookSettings) -> SendResult:
        """Send the message. Delivered is an answer with one of the ``success`` statuses within the timeout.

        If ``accepted`` names a part of the answer, it must be true besides. A timeout leaves open whether the other
        side has it; the next try carries the same key. With ``closed`` the result has a receipt.
        """
        try:
            secrets = Secrets.read(settings)
        except SecretError as error:
            return SendResult(delivered=False, reason=str(error))
        values = message_values(message, text_bytes=settings.text_bytes, entities=settings.entities)
        if settings.body is None:
            body = _as_json(message)
        else:
            body = fill_body(settings.body, {**values, **secrets.named}, content_type(settings.headers))
        answer = _request(settings.method, secrets.url, body, message, settings, secrets)
        if isinstance(answer, SendResult):
            return answer
        result = _understood(answer, settings, secrets)
        if not result.delivered or settings.closed is None:
            return result
        receipt = receipt_of(answer.text, settings.receipt)
        if isinstance(receipt, str):
            return result._replace(reason=f"{result.reason}, without {receipt}: it cannot be closed later")
        return result._replace(receipt=receipt)

    def close(self, message: Message, sent: Sent, settings: WebhookSettings) -> SendResult:
        """Send the request of the table ``closed``, if it is still there.

        An answer that does not accept it is final: the service knows the earlier message no more, or edits none.
        """
        closed = settings.closed
        if closed is None:
            return SendResult(delivered=False, reason="the table has no closed any more", retry=False)
        missing = [name for name in settings.receipt if name not in sent.receipt]
        if missing:
            reason = f"the message was delivered before the table had receipt.{missing[0]}"
            return SendResult(delivered=False, reason=reason, retry=False)
        try:
            secrets = Secrets.read(settings)
        except SecretError as error:
            return SendResult(delivered=False, reason=str(error))
        own = message_values(message, text_bytes=settings.text_bytes, entities=settings.entities, closes=sent.id)
        values = {**sent.receipt, **own, **secrets.named}
        try:
            url = fill_url(closed.url, values) if closed.url else secrets.url
        except AddressError as error:
            return SendResult(delivered=False, reason=f"closed.url: {error}", retry=False)
        body: bytes | None = None
        if closed.body is not None:
            body = fill_body(closed.body, values, content_type(settings.headers))
        elif closed.method != "DELETE":
            body = _as_json(message, closes=sent.id, receipt=dict(sent.receipt))
        answer = _request(closed.method, url, body, message, settings, secrets)
        if isinstance(answer, SendResult):
            return answer
        result = _understood(answer, settings, secrets)
        is_final = not result.delivered and answer.status in settings.success
        return result._replace(retry=False) if is_final else result


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the value of ``X-Hookrouter-Signature``: ``sha256=`` and the hexadecimal HMAC-SHA256.

    Signed are the value of ``X-Hookrouter-Timestamp`` (seconds since 1970), a full stop, and the body as it was sent.
    A receiver computes the same, compares in constant time, and refuses old timestamps.
    """
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _as_json(message: Message, **more: object) -> bytes:
    fields = {name: getattr(message, name) for name in FIELDS}
    return json.dumps({**fields, "data": dict(message.data), **more}).encode("ascii")


def _request(
    method: str, url: str, body: bytes | None, message: Message, settings: WebhookSettings, secrets: Secrets
) -> Response | SendResult:
    """Send a request; return the answer, or what it means that there is none."""
    headers = {**secrets.headers, KEY: message.id}
    if body is not None:
        headers = {"Content-Type": content_type(settings.headers), **headers}
    if secrets.signing is not None:
        headers[TIMESTAMP] = str(int(time.time()))
        headers[SIGNATURE] = signature(secrets.signing, headers[TIMESTAMP], body or b"")
    try:
        return http.send(
            method, url, headers=headers, body=body, timeout=settings.timeout, ca_file=settings.ca_file or None
        )
    except http.HttpError as error:
        return _shown(http.not_sent(error), settings, secrets)


def _understood(answer: Response, settings: WebhookSettings, secrets: Secrets) -> SendResult:
    """Return what an answer means, for people without any secret."""
    whom = http.origin(answer.url or secrets.url)
    if answer.status not in settings.success:
        hint = "correct the secrets that this gateway's table names" if answer.status in (401, 403) else ""
        return _shown(http.failed(answer, whom, hint=hint), settings, secrets)
    if is_accepted(answer.text, settings.accepted):
        return SendResult(delivered=True, reason=f"{whom} answered {answer.status}")
    # It may be an outage of the service's inside, or a wrong channel: nothing tells which.
    hint = f"its answer is taken for a refusal, because {settings.accepted} is not true in it"
    refused = http.failed(answer, whom, hint=hint)._replace(retry=True)
    return _shown(refused, settings, secrets)


def _shown(result: SendResult, settings: WebhookSettings, secrets: Secrets) -> SendResult:
    return result._replace(reason=http.redact(result.reason, secrets.all(settings)))
