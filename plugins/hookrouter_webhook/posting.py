"""Sends messages to an HTTP endpoint: template, signature, and what each answer means."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import time
from difflib import get_close_matches
from string import Template
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote_plus

import attrs

from hookrouter import checking, http
from hookrouter.answering import Wake, Woken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["WebhookGateway", "signature"]

METHODS = ("POST", "PUT", "PATCH")
DEFAULT_TIMEOUT = 20.0
LONGEST_TIMEOUT = 3600.0
LONGEST_BODY = 64 * 1024

TIMESTAMP = "X-Hookrouter-Timestamp"
SIGNATURE = "X-Hookrouter-Signature"
KEY = "Idempotency-Key"

FIELDS = tuple(field for field in Wake._fields if field != "gateway")
"""What a template may name."""

_OURS = {name.lower() for name in (TIMESTAMP, SIGNATURE, KEY, "Content-Length", "Host", "Transfer-Encoding")}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


@attrs.frozen
class _Table:
    """A ``[gateways.NAME]`` table that was checked."""

    url: str = ""
    url_env: str = ""
    url_file: str = ""
    method: str = "POST"
    headers: dict[str, str] = attrs.field(factory=dict)
    body: str | None = None
    secret_env: str = ""
    secret_file: str = ""
    success: tuple[int, ...] = tuple(range(200, 300))
    timeout: float = DEFAULT_TIMEOUT
    allow_http: bool = False
    ca_file: str = ""


@attrs.frozen
class _Secrets:
    """What the table only names."""

    url: str
    headers: dict[str, str]
    signing: str | None

    def all(self, table: _Table) -> list[str]:
        hidden = [value for name, value in self.headers.items() if name not in table.headers]
        # Of "Bearer abc", the other side may repeat the second part alone.
        parts = [part for value in hidden for part in value.split() if len(part) > 7]
        return [*hidden, *parts, self.signing or "", "" if table.url else self.url]


class WebhookGateway:
    """Wakes an agent by an HTTP request."""

    type = "webhook"

    def check(self, settings: Mapping[str, object]) -> list[str]:
        """Return one problem for each key that is missing, unknown or wrong, or the secret that cannot be read.

        Sends nothing.
        """
        problems = _faults(settings)
        if problems:
            return problems
        table = _table(settings)
        try:
            _secrets(table, settings)
        except checking.SecretError as error:
            return [str(error)]
        if table.ca_file and not os.path.isfile(os.path.expanduser(table.ca_file)):
            return [f"ca_file: {table.ca_file} is not a file"]
        return []

    def deliver(self, wake: Wake, settings: Mapping[str, object]) -> Woken:
        """Send the message. Delivered is an answer with one of the ``success`` statuses within the timeout.

        A timeout leaves open whether the other side has it; the next try carries the same key.
        """
        problems = _faults(settings)
        if problems:
            return Woken(delivered=False, reason="; ".join(problems), retry=False)
        table = _table(settings)
        try:
            secrets = _secrets(table, settings)
        except checking.SecretError as error:
            return Woken(delivered=False, reason=str(error))
        woken = _send(wake, table, secrets)
        return woken._replace(reason=http.redact(woken.reason, secrets.all(table)))


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the value of ``X-Hookrouter-Signature``: ``sha256=`` and the hexadecimal HMAC-SHA256.

    Signed are the value of ``X-Hookrouter-Timestamp`` (seconds since 1970), a full stop, and the body as it was sent.
    A receiver computes the same, compares in constant time, and refuses old timestamps.
    """
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _table(settings: Mapping[str, object]) -> _Table:
    return _Table(**cast("dict[str, Any]", dict(settings)))


def _faults(settings: Mapping[str, object]) -> list[str]:
    problems = checking.flag_faults(settings, "allow_http")
    if "url" not in settings:
        problems += checking.secret_faults(settings, "url", "the address, if url does not")
    else:
        problems += http.url_faults(settings["url"], allow_http=settings.get("allow_http") is True)
        problems += [f"url: found together with {key}, allowed is one of them" for key in _named("url", settings)]
    problems += checking.choice_faults(settings, "method", METHODS)
    headers = settings.get("headers", {})
    problems += _header_faults(headers) if isinstance(headers, dict) else [f"headers: found {headers!r}, not a table"]
    if "body" in settings:
        problems += _body_faults(settings["body"], _content_type(headers))
    problems += checking.secret_faults(settings, "secret", "the secret that signs", required=False)
    success = settings.get("success", [200])
    if not isinstance(success, list) or not success or not all(_is_success(status) for status in success):
        problems.append(f"success: found {success!r}, allowed is a list of statuses from 200 to 299")
    if "timeout" in settings:
        problems += checking.seconds_faults(settings, "timeout", most=LONGEST_TIMEOUT)
    problems += checking.path_faults(settings, "ca_file")
    return problems + checking.unknown_keys(settings, [field.name for field in attrs.fields(_Table)])


def _named(name: str, settings: Mapping[str, object]) -> list[str]:
    return [f"{name}{suffix}" for suffix in ("_env", "_file") if f"{name}{suffix}" in settings]


def _is_success(status: object) -> bool:
    return isinstance(status, int) and not isinstance(status, bool) and 200 <= status < 300


def _header_faults(headers: Mapping[str, object]) -> list[str]:
    problems, seen = [], set()
    for key, value in headers.items():
        name, indirect = checking.named_secret(key)
        if not _HEADER_NAME.fullmatch(name):
            problems.append(f"headers: found the name {key!r}, allowed are letters, digits and dashes")
        elif name.lower() in _OURS:
            problems.append(f"headers: {name} is set by hookrouter")
        elif name.lower() in seen:
            problems.append(f"headers: {name} is there twice")
        elif indirect:
            problems += [f"headers.{fault}" for fault in checking.secret_faults({key: value}, name, "the header")]
        elif not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            problems.append(f"headers.{key}: found {value!r}, allowed is one line of plain ASCII")
        seen.add(name.lower())
    return problems


def _content_type(headers: object) -> str:
    found = headers.items() if isinstance(headers, dict) else ()
    return next((str(value) for key, value in found if key.lower() == "content-type"), "application/json")


def _body_faults(body: object, content_type: str) -> list[str]:
    if not isinstance(body, str) or len(body) > LONGEST_BODY:
        return [f"body: found {str(body)[:80]!r}, allowed is a text of up to {LONGEST_BODY} characters"]
    template = Template(body)
    if not template.is_valid():
        return ["body: found a $ without a name; allowed: $name, ${name}, and $$ for the sign itself"]
    problems = []
    for name in template.get_identifiers():
        if name not in FIELDS:
            close = get_close_matches(name, FIELDS, n=1)
            hint = f"did you mean ${close[0]}?" if close else f"known are {', '.join(FIELDS)}"
            problems.append(f"body: ${name} is unknown; {hint}")
    if not problems and _is_json(content_type):
        try:
            json.loads(template.substitute(dict.fromkeys(FIELDS, "1")))
        except ValueError as error:
            problems.append(f'body: the template makes no JSON: {error}; a text needs its quotes, as in "$text"')
    return problems


def _is_json(content_type: str) -> bool:
    return "json" in content_type.lower()


def _secrets(table: _Table, settings: Mapping[str, object]) -> _Secrets:
    """Read what the table names. Raises SecretError."""
    url = table.url
    if not url:
        url = checking.read_secret(settings, "url", os.environ)
        faults = http.url_faults(url, *_named("url", settings), allow_http=table.allow_http)
        if faults:
            raise checking.SecretError(faults[0])
    headers = {}
    for key, value in table.headers.items():
        name, indirect = checking.named_secret(key)
        try:
            headers[name] = checking.read_secret({key: value}, name, os.environ) if indirect else value
        except checking.SecretError as error:
            raise checking.SecretError(f"headers.{error}") from None
    signing = checking.read_secret(settings, "secret", os.environ) if _named("secret", settings) else None
    return _Secrets(url, headers, signing)


def _send(wake: Wake, table: _Table, secrets: _Secrets) -> Woken:
    content_type = _content_type(table.headers)
    body = _body(wake, table.body, content_type)
    headers = {"Content-Type": content_type, **secrets.headers, KEY: wake.id}
    if secrets.signing is not None:
        headers[TIMESTAMP] = str(int(time.time()))
        headers[SIGNATURE] = signature(secrets.signing, headers[TIMESTAMP], body)
    whom = http.origin(secrets.url)
    try:
        answer = http.send(
            table.method,
            secrets.url,
            headers=headers,
            body=body,
            timeout=table.timeout,
            ca_file=os.path.expanduser(table.ca_file) or None,
        )
    except http.HttpError as error:
        return http.not_sent(error)
    if answer.status in table.success:
        return Woken(delivered=True, reason=f"{whom} answered {answer.status}")
    hint = "correct the secrets that this gateway's table names" if answer.status in (401, 403) else ""
    return http.failed(answer, whom, hint=hint)


def _body(wake: Wake, template: str | None, content_type: str) -> bytes:
    fields = {name: getattr(wake, name) for name in FIELDS}
    if template is None:
        return json.dumps(fields).encode("ascii")
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
