"""The table ``[gateways.NAME]`` of a webhook: its keys, what they allow, and the secrets that it names."""

from __future__ import annotations

import os
import re
from string import Template
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote_plus

import attrs

from hookrouter.messaging import http
from hookrouter.messaging.fields import FilePath, VariableName, Within, refuse
from hookrouter.messaging.secrets import SecretError, named_secret, read_secret, secret_faults
from hookrouter_webhook.answers import PATH
from hookrouter_webhook.templates import ABOUT, CLOSES, FIELDS, NAME, AddressError, fill_url, template_faults, url_form

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KEY", "SIGNATURE", "TIMESTAMP", "ClosedSettings", "Secrets", "WebhookSettings", "content_type", "faults"]

DEFAULT_TIMEOUT = 20.0
LONGEST_TIMEOUT = 3600.0
LONGEST_BODY = 64 * 1024
SHORTEST_TEXT = 200

TIMESTAMP = "X-Hookrouter-Timestamp"
SIGNATURE = "X-Hookrouter-Signature"
KEY = "Idempotency-Key"

_OURS = {name.lower() for name in (TIMESTAMP, SIGNATURE, KEY, "Content-Length", "Host", "Transfer-Encoding")}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


def _template(value: str) -> str:
    if len(value) > LONGEST_BODY:
        refuse(value, f"a text of up to {LONGEST_BODY} characters")
    if not Template(value).is_valid():
        refuse(value, "a text in which $ begins $name or ${name}, and $$ means the sign itself")
    return value


def _statuses(value: tuple[int, ...]) -> tuple[int, ...]:
    if not value or not all(200 <= status < 300 for status in value):
        refuse(list(value), "a list of statuses from 200 to 299")
    return value


_PATHS = "the keys on the way to a part of a JSON answer with dots between, as in result.message_id"


def _path(value: str) -> str:
    if value and not PATH.fullmatch(value):
        refuse(value, _PATHS)
    return value


@attrs.frozen
class ClosedSettings:
    """The table ``closed``: the request that withdraws or edits a message whose question is over."""

    url: Annotated[str, _template] = attrs.field(
        default="",
        metadata={
            "help": "the address, a template; without it, that of the gateway",
            "example": '"https://slack.com/api/chat.update"',
        },
    )
    method: Literal["POST", "PUT", "PATCH", "DELETE"] = attrs.field(
        default="POST", metadata={"help": "POST, PUT, PATCH or DELETE", "example": '"DELETE"'}
    )
    body: Annotated[str, _template] | None = attrs.field(
        default=None,
        metadata={
            "help": "a template, as that of the gateway; without it, the message as JSON, and nothing with DELETE",
            "example": '\'{"text": "$text"}\'',
        },
    )


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
    secrets: dict[str, str] = attrs.field(
        factory=dict,
        metadata={
            "help": "secrets that templates name, of which url is one then: NAME_env or NAME_file becomes $NAME",
            "example": '{ token_env = "BOT_TOKEN" }',
        },
    )
    text_bytes: Annotated[int, Within(SHORTEST_TEXT - 1, LONGEST_BODY, "bytes")] | None = attrs.field(
        default=None,
        metadata={"help": "how much of the text the service takes, in bytes of UTF-8", "example": "4096"},
    )
    entities: bool = attrs.field(
        default=False,
        metadata={"help": "whether `&`, `<` and `>` go out as entities, as Slack wants it", "example": "true"},
    )
    accepted: Annotated[str, _path] = attrs.field(
        default="",
        metadata={"help": "the part of a JSON answer that is true if the message was taken", "example": '"ok"'},
    )
    receipt: dict[str, str] = attrs.field(
        factory=dict,
        metadata={
            "help": "the parts of a JSON answer that templates of closed name",
            "example": '{ message = "result.message_id" }',
        },
    )
    closed: ClosedSettings | None = attrs.field(
        default=None,
        metadata={
            "help": "the request that withdraws or edits a message once it is over: url, method, body",
            "example": '{ url = "https://chat.example.org/messages/$closes", method = "DELETE" }',
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
class Secrets:
    """What the table only names."""

    url: str
    """The address, with its secrets."""
    headers: dict[str, str]
    named: dict[str, str]
    """The secrets of templates by their names."""
    signing: str | None

    @classmethod
    def read(cls, settings: WebhookSettings) -> Secrets:
        """Read them. Raises SecretError."""
        named = _read_table("secrets", settings.secrets, only_secrets=True)
        if not settings.url:
            url = read_secret(settings, "url", os.environ)
            problems = http.url_faults(url, *_given("url", settings), allow_http=settings.allow_http)
        else:
            try:
                url = fill_url(settings.url, named) if named else settings.url
            except AddressError as error:
                raise SecretError(f"url: {error}") from None
            problems = http.url_faults(url, allow_http=settings.allow_http) if named else []
        if problems:
            raise SecretError(problems[0])
        headers = _read_table("headers", settings.headers)
        signing = read_secret(settings, "secret", os.environ) if _given("secret", settings) else None
        return cls(url, headers, named, signing)

    def all(self, settings: WebhookSettings) -> list[str]:
        """Return what no reason may show."""
        hidden = [value for name, value in self.headers.items() if name not in settings.headers]
        # Of "Bearer abc", the other side may repeat the second part alone.
        parts = [part for value in hidden for part in value.split() if len(part) > 7]
        # As they stand in an address or a form, too.
        named = [form(value) for value in self.named.values() for form in (str, url_form, quote_plus)]
        # The path of an address in the table may be a secret as well.
        return [*hidden, *parts, *named, self.signing or "", *http.address_secrets(self.url)]


def content_type(headers: Mapping[str, str]) -> str:
    """Return the content type that the headers say, JSON without."""
    return next((value for key, value in headers.items() if key.lower() == "content-type"), "application/json")


def faults(settings: WebhookSettings) -> list[str]:
    """Return what is wrong with a table beside the types of its values, one line each. Reads no secret."""
    secrets = [named_secret(key)[0] for key in settings.secrets]
    names = (*FIELDS, ABOUT, *secrets)
    kind = content_type(settings.headers)
    if settings.url:
        problems = _address_faults("url", settings.url, secrets, settings) if secrets else []
        problems += [] if secrets else http.url_faults(settings.url, allow_http=settings.allow_http)
        problems += [f"url: found together with {key}; allowed: one of them" for key in _given("url", settings)]
    else:
        problems = secret_faults(settings, "url", "the address, if url does not")
    problems += _header_faults(settings.headers) + _name_faults(settings, secrets)
    if settings.body is not None:
        problems += template_faults("body", settings.body, names, kind)
    if settings.closed is not None:
        later = (*names, CLOSES, *settings.receipt)
        if settings.closed.url:
            problems += _address_faults("closed.url", settings.closed.url, later, settings)
        if settings.closed.body is not None:
            problems += template_faults("closed.body", settings.closed.body, later, kind, settings.receipt)
    elif settings.receipt:
        problems.append("receipt: found without closed; allowed: with it, whose templates name the parts")
    return problems + secret_faults(settings, "secret", "the secret that signs", required=False)


def _address_faults(
    key: str, template: str, names: tuple[str, ...] | list[str], settings: WebhookSettings
) -> list[str]:
    """Return what is wrong with an address that is a template."""
    if not Template(template).is_valid():
        return [f"{key}: allowed: an address in which $ begins $name or ${{name}}, and $$ means the sign itself"]
    problems = template_faults(key, template, names)
    try:
        filled = "" if problems else fill_url(template, dict.fromkeys(names, "x"))
    except AddressError:
        return [f"{key}: allowed: an address without a part that is . or .."]
    return problems or http.url_faults(filled, key, allow_http=settings.allow_http)


def _name_faults(settings: WebhookSettings, secrets: list[str]) -> list[str]:
    """Return what is wrong with names of one's own, and with how secrets are named."""
    problems = []
    for key, value in settings.secrets.items():
        name, indirect = named_secret(key)
        if not indirect:
            problems.append(f"secrets.{key}: allowed: {key}_env or {key}_file, which names where the secret is")
        else:
            problems += [f"secrets.{fault}" for fault in secret_faults({key: value}, name, "the secret")]
    for name, path in settings.receipt.items():
        if not PATH.fullmatch(path):
            problems.append(f"receipt.{name}: found {path!r}; allowed: {_PATHS}")
    taken = {*FIELDS, ABOUT, CLOSES}
    for table, name in [("secrets", name) for name in secrets] + [("receipt", name) for name in settings.receipt]:
        if not NAME.fullmatch(name):
            problems.append(f"{table}: found the name {name!r}; allowed: small letters, digits and _")
        elif name in taken:
            problems.append(f"{table}: ${name} is there already")
        taken.add(name)
    return problems


def _given(name: str, settings: WebhookSettings) -> list[str]:
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
        elif indirect and name.lower() == "content-type":
            problems.append(f"headers: found {key}; allowed: Content-Type itself, by which values are written")
        elif indirect:
            problems += [f"headers.{fault}" for fault in secret_faults({key: value}, name, "the header")]
        elif not _HEADER_VALUE.fullmatch(value):
            problems.append(f"headers.{key}: found {value!r}; allowed: one line of plain ASCII")
        seen.add(name.lower())
    return problems


def _read_table(place: str, table: Mapping[str, str], *, only_secrets: bool = False) -> dict[str, str]:
    """Return a table with what its ``_env`` and ``_file`` keys name. Raises SecretError."""
    found = {}
    for key, value in table.items():
        name, indirect = named_secret(key)
        if not indirect and only_secrets:
            raise SecretError(f"{place}.{key}: allowed: {key}_env or {key}_file")
        try:
            found[name] = read_secret({key: value}, name, os.environ) if indirect else value
        except SecretError as error:
            raise SecretError(f"{place}.{error}") from None
    return found
