"""Sends messages to an HTTP endpoint: template, signature, and what each answer means."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import time
from string import Template
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote_plus

import attrs

from hookrouter.messaging import http
from hookrouter.messaging.fields import FilePath, VariableName, Within, refuse
from hookrouter.messaging.gateway import Message, SendResult
from hookrouter.messaging.secrets import SecretError, named_secret, read_secret, secret_faults
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["WebhookGateway", "signature"]

DEFAULT_TIMEOUT = 20.0
LONGEST_TIMEOUT = 3600.0
LONGEST_BODY = 64 * 1024

TIMESTAMP = "X-Hookrouter-Timestamp"
SIGNATURE = "X-Hookrouter-Signature"
KEY = "Idempotency-Key"

FIELDS = tuple(field for field in Message._fields if field not in ("gateway", "data"))
"""What a template may name; without one, ``data`` is sent beside them."""

_OURS = {name.lower() for name in (TIMESTAMP, SIGNATURE, KEY, "Content-Length", "Host", "Transfer-Encoding")}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


def _template(value: str) -> str:
    if len(value) > LONGEST_BODY:
        refuse(value, f"a text of up to {LONGEST_BODY} characters")
    if not Template(value).is_valid():
        refuse(value, "a text in which $ begins $name or ${name}, and $$ stands for the sign itself")
    return value


def _statuses(value: tuple[int, ...]) -> tuple[int, ...]:
    if not value or not all(200 <= status < 300 for status in value):
        refuse(list(value), "a list of statuses from 200 to 299")
    return value


@attrs.frozen
class WebhookSettings:
    """A ``[gateways.NAME]`` table."""

    url: str = attrs.field(
        default="",
        metadata={
            "help": "the address; https, or http to this machine",
            "example": '"https://chat.example.org/hooks/x"',
        },
    )
    url_env: VariableName = attrs.field(
        default="",
        metadata={
            "help": "the environment variable that holds the address, if it is a secret",
            "example": '"CHAT_URL"',
        },
    )
    url_file: FilePath = attrs.field(
        default="",
        metadata={
            "help": "the file that holds the address, if it is a secret",
            "example": '"~/.config/chat-url"',
        },
    )
    method: Literal["POST", "PUT", "PATCH"] = attrs.field(
        default="POST", metadata={"help": "POST, PUT or PATCH", "example": '"PUT"'}
    )
    headers: dict[str, str] = attrs.field(
        factory=dict,
        metadata={
            "help": "further headers; a secret is named as NAME_env or NAME_file",
            "example": '{ X-Team = "night" }',
        },
    )
    body: Annotated[str, _template] | None = attrs.field(
        default=None,
        metadata={
            "help": "a template with $subject, $text, $kind, $session and so on; without it, the message as JSON",
            "example": '\'{"text": "$text"}\'',
        },
    )
    secret_env: VariableName = attrs.field(
        default="",
        metadata={
            "help": "the variable that holds the key with which timestamp and body are signed (HMAC-SHA256)",
            "example": '"CHAT_SIGNING_SECRET"',
        },
    )
    secret_file: FilePath = attrs.field(
        default="", metadata={"help": "the file that holds that key", "example": '"~/.config/chat-key"'}
    )
    success: Annotated[tuple[int, ...], _statuses] = attrs.field(
        default=tuple(range(200, 300)), metadata={"help": "the statuses that mean delivered", "example": "[200, 204]"}
    )
    timeout: Annotated[float, Within(0, LONGEST_TIMEOUT, "seconds")] = attrs.field(
        default=DEFAULT_TIMEOUT, metadata={"help": "seconds for the whole request", "example": "20"}
    )
    allow_http: bool = attrs.field(default=False, metadata=http.ALLOW_HTTP)
    ca_file: FilePath = attrs.field(default="", metadata=http.CA_FILE)


@attrs.frozen
class _Secrets:
    """What the table only names."""

    url: str
    headers: dict[str, str]
    signing: str | None

    def all(self, settings: WebhookSettings) -> list[str]:
        hidden = [value for name, value in self.headers.items() if name not in settings.headers]
        # Of "Bearer abc", the other side may repeat the second part alone.
        parts = [part for value in hidden for part in value.split() if len(part) > 7]
        # The path of an address in the table may be a secret as well.
        return [*hidden, *parts, self.signing or "", *http.address_secrets(self.url)]


class WebhookGateway:
    """Wakes an agent by an HTTP request."""

    type = "webhook"
    settings = WebhookSettings

    def check(self, settings: WebhookSettings) -> list[str]:
        """Return what is wrong with the address, headers and body, or the secret that cannot be read.

        Sends nothing.
        """
        return _faults(settings) or http.missing(lambda: _secrets(settings), settings.ca_file)

    def deliver(self, message: Message, settings: WebhookSettings) -> SendResult:
        """Send the message. Delivered is an answer with one of the ``success`` statuses within the timeout.

        A timeout leaves open whether the other side has it; the next try carries the same key.
        """
        try:
            secrets = _secrets(settings)
        except SecretError as error:
            return SendResult(delivered=False, reason=str(error))
        result = _send(message, settings, secrets)
        return result._replace(reason=http.redact(result.reason, secrets.all(settings)))


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the value of ``X-Hookrouter-Signature``: ``sha256=`` and the hexadecimal HMAC-SHA256.

    Signed are the value of ``X-Hookrouter-Timestamp`` (seconds since 1970), a full stop, and the body as it was sent.
    A receiver computes the same, compares in constant time, and refuses old timestamps.
    """
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _faults(settings: WebhookSettings) -> list[str]:
    if settings.url:
        problems = http.url_faults(settings.url, allow_http=settings.allow_http)
        problems += [f"url: found together with {key}; allowed: one of them" for key in _named("url", settings)]
    else:
        problems = secret_faults(settings, "url", "the address, if url does not")
    problems += _header_faults(settings.headers)
    if settings.body is not None:
        problems += _body_faults(settings.body, _content_type(settings.headers))
    return problems + secret_faults(settings, "secret", "the secret that signs", required=False)


def _named(name: str, settings: WebhookSettings) -> list[str]:
    return [key for key in (f"{name}_env", f"{name}_file") if getattr(settings, key)]


def _header_faults(headers: Mapping[str, str]) -> list[str]:
    problems, seen = [], set()
    for key, value in headers.items():
        name, indirect = named_secret(key)
        if not _HEADER_NAME.fullmatch(name):
            problems.append(f"headers: found the name {key!r}; allowed: letters, digits and dashes")
        elif name.lower() in _OURS:
            problems.append(f"headers: {name} is set by hookrouter")
        elif name.lower() in seen:
            problems.append(f"headers: {name} is there twice")
        elif indirect:
            problems += [f"headers.{fault}" for fault in secret_faults({key: value}, name, "the header")]
        elif not _HEADER_VALUE.fullmatch(value):
            problems.append(f"headers.{key}: found {value!r}; allowed: one line of plain ASCII")
        seen.add(name.lower())
    return problems


def _content_type(headers: Mapping[str, str]) -> str:
    return next((value for key, value in headers.items() if key.lower() == "content-type"), "application/json")


def _body_faults(body: str, content_type: str) -> list[str]:
    template = Template(body)
    problems = []
    for name in template.get_identifiers():
        if name not in FIELDS:
            hint = did_you_mean(name, FIELDS, f"known are {', '.join(FIELDS)}")
            problems.append(f"body: ${name} is unknown; {hint}")
    if not problems and _is_json(content_type):
        try:
            json.loads(template.substitute(dict.fromkeys(FIELDS, "1")))
        except ValueError as error:
            problems.append(f'body: the template makes no JSON: {error}; a text needs its quotes, as in "$text"')
    return problems


def _is_json(content_type: str) -> bool:
    return "json" in content_type.lower()


def _secrets(settings: WebhookSettings) -> _Secrets:
    """Read what the table names. Raises SecretError."""
    url = settings.url
    if not url:
        url = read_secret(settings, "url", os.environ)
        faults = http.url_faults(url, *_named("url", settings), allow_http=settings.allow_http)
        if faults:
            raise SecretError(faults[0])
    headers = {}
    for key, value in settings.headers.items():
        name, indirect = named_secret(key)
        try:
            headers[name] = read_secret({key: value}, name, os.environ) if indirect else value
        except SecretError as error:
            raise SecretError(f"headers.{error}") from None
    signing = read_secret(settings, "secret", os.environ) if _named("secret", settings) else None
    return _Secrets(url, headers, signing)


def _send(message: Message, settings: WebhookSettings, secrets: _Secrets) -> SendResult:
    content_type = _content_type(settings.headers)
    body = _body(message, settings.body, content_type)
    headers = {"Content-Type": content_type, **secrets.headers, KEY: message.id}
    if secrets.signing is not None:
        headers[TIMESTAMP] = str(int(time.time()))
        headers[SIGNATURE] = signature(secrets.signing, headers[TIMESTAMP], body)
    whom = http.origin(secrets.url)
    try:
        answer = http.send(
            settings.method,
            secrets.url,
            headers=headers,
            body=body,
            timeout=settings.timeout,
            ca_file=settings.ca_file or None,
        )
    except http.HttpError as error:
        return http.not_sent(error)
    if answer.status in settings.success:
        return SendResult(delivered=True, reason=f"{whom} answered {answer.status}")
    hint = "correct the secrets that this gateway's table names" if answer.status in (401, 403) else ""
    return http.failed(answer, whom, hint=hint)


def _body(message: Message, template: str | None, content_type: str) -> bytes:
    fields = {name: getattr(message, name) for name in FIELDS}
    if template is None:
        return json.dumps({**fields, "data": dict(message.data)}).encode("ascii")
    escape = _escape(content_type)
    text = Template(template).substitute({name: escape(value) for name, value in fields.items()})
    # Half of a surrogate pair has no UTF-8 form, and the payload may hold one.
    return text.encode("utf-8", "backslashreplace")


def _escape(content_type: str) -> Callable[[str], str]:
    if _is_json(content_type):
        return lambda value: json.dumps(value)[1:-1]
    if "x-www-form-urlencoded" in content_type.lower():
        return lambda value: quote_plus(value, errors="backslashreplace")
    return lambda value: value
