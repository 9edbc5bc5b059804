"""Posts messages to an OpenClaw gateway, and says what each of its answers means.

What the gateway answers was measured on openclaw 2026.9.6. A 200 on a hook route means that the run was admitted, not
that it has ended well. ``Idempotency-Key`` makes a repeated message the same run, on the routes ``agent`` and
``mapping``; the gateway remembers it for some minutes, and not over a restart.
"""

from __future__ import annotations

import json
import os
import re
from typing import Annotated, Literal, NamedTuple
from urllib.parse import quote

import attrs

from hookrouter.messaging import http
from hookrouter.messaging.fields import FilePath, Line, Matching, VariableName, Within
from hookrouter.messaging.gateway import Gateway, Message, Probe, SendResult
from hookrouter.messaging.secrets import SecretError, read_secret, secret_faults
from hookrouter.util.markdown import code
from hookrouter.util.text import printable

__all__ = ["OpenClawGateway", "notice"]

DEFAULT_URL = "http://127.0.0.1:18789"

ADMISSION = 15.0
"""Seconds after which the gateway itself gives a run up that could not begin: a timeout must be longer."""

DEFAULT_TIMEOUT = 20.0
OPERATOR_TIMEOUT = 600.0

VERSION_SECONDS = 2.0
"""How long the gateway may take to tell its version, which it does without a token and in milliseconds."""

IDEMPOTENT = (2026, 4)
"""The first releases after March 2026, when the hooks learned to know a repeated message by its key."""

VISIBLE = (
    "When you are done, end with one short sentence and never with NO_REPLY: on this way OpenClaw takes an empty reply "
    "for a failure."
)
"""Added on the route ``operator``, where a turn that ends in silence is answered with 500, and would be repeated."""

_ROUTES_OF = {
    "mapping": ("mapping",),
    "name": ("agent", "mapping"),
    "model": ("agent",),
    "session_key": ("agent", "wake", "operator"),
    "session_mode": ("agent",),
    "hooks_path": ("agent", "mapping", "wake"),
}
"""The keys that mean something on some routes only."""


def _timeout(value: float) -> float:
    return Within(ADMISSION, 3600, "seconds", ", because the gateway may take that long to begin")(value)


@attrs.frozen
class OpenClawSettings:
    """A ``[gateways.NAME]`` table."""

    url: str = attrs.field(
        default=DEFAULT_URL,
        metadata={
            "help": "the address of the OpenClaw gateway",
            "example": '"http://127.0.0.1:18789"',
        },
    )
    agent: Line = attrs.field(default="", metadata={"help": "the agent's id in OpenClaw", "example": '"main"'})
    token_env: VariableName = attrs.field(
        default="",
        metadata={
            "help": "the environment variable that holds the token (hooks.token; on route operator the gateway's own)",
            "example": '"OPENCLAW_TOKEN"',
        },
    )
    token_file: FilePath = attrs.field(
        default="",
        metadata={
            "help": "the file that holds the token, chmod 600",
            "example": '"~/.config/hookrouter/openclaw-token"',
        },
    )
    route: Literal["agent", "mapping", "wake", "operator"] = attrs.field(
        default="agent", metadata={"help": "agent, mapping, wake or operator", "example": '"wake"'}
    )
    mapping: Line = attrs.field(
        default="", metadata={"help": "the name of the mapping, on route mapping", "example": '"night"'}
    )
    name: Line = attrs.field(
        default="hookrouter",
        metadata={
            "help": "who the message is from, on routes agent and mapping",
            "example": '"hookrouter"',
        },
    )
    model: Line = attrs.field(
        default="", metadata={"help": "the model for the turn, on route agent", "example": '"sonnet"'}
    )
    timeout: Annotated[float, _timeout] = attrs.field(
        default=0.0, metadata={"help": "seconds for the request; 0: 20, on route operator 600", "example": "30"}
    )
    session_key: Annotated[str, Matching(r"[!-~]{1,256}", "plain ASCII without spaces")] = attrs.field(
        default="",
        metadata={
            "help": "the session of the agent that gets the turn, on routes agent, wake and operator",
            "example": '"night"',
        },
    )
    session_mode: Literal["isolated", "persistent"] | None = attrs.field(
        default=None, metadata={"help": "isolated or persistent, on route agent", "example": '"persistent"'}
    )
    hooks_path: Annotated[str, Matching(r"(?a:(/[\w.~-]+)+)", "a path such as '/hooks'")] = attrs.field(
        default="/hooks", metadata={"help": "where OpenClaw has its hooks", "example": '"/hooks"'}
    )
    format: Literal["text", "notice"] = attrs.field(
        default="text", metadata={"help": "text, the message; notice, only that there is one", "example": '"notice"'}
    )
    allow_http: bool = attrs.field(default=False, metadata=http.ALLOW_HTTP)
    ca_file: FilePath = attrs.field(default="", metadata=http.CA_FILE)

    @property
    def seconds(self) -> float:
        """The upper limit of one try."""
        return self.timeout or (OPERATOR_TIMEOUT if self.route == "operator" else DEFAULT_TIMEOUT)

    def address(self, path: str) -> str:
        """Return where a path of the gateway is."""
        return f"{self.url.rstrip('/')}{path}"


class _Request(NamedTuple):
    path: str
    body: dict[str, object]
    headers: dict[str, str]


class OpenClawGateway(Gateway):
    """Wakes an agent of an OpenClaw gateway."""

    type = "openclaw"
    settings = OpenClawSettings

    def check(self, settings: OpenClawSettings) -> list[str]:
        """Return what does not go together, or the token that cannot be read.

        Asks the gateway nothing: one that is down now may be up at the delivery.
        """
        return _faults(settings) or http.missing(lambda: read_secret(settings, "token", os.environ), settings.ca_file)

    def probe(self, settings: OpenClawSettings) -> Probe:
        """Ask the gateway for its version; wakes nobody and needs no token."""
        try:
            version = _version(settings)
        except http.HttpError as error:
            return Probe(False, str(error), "start the OpenClaw gateway, or correct url")
        if version is None:
            found = f"what listens at {http.origin(settings.url)} is not an OpenClaw gateway that is ready"
            return Probe(False, found, "wait until it has started, or correct url")
        found = f"OpenClaw {version} at {http.origin(settings.url)}"
        numbers = re.match(r"(\d+)\.(\d+)", version)
        if numbers is not None and tuple(map(int, numbers.groups())) < IDEMPOTENT:
            return Probe(
                False, f"{found} may run a message twice that is sent twice", "update OpenClaw to 2026.4 or newer"
            )
        return Probe(True, found)

    def deliver(self, message: Message, settings: OpenClawSettings) -> SendResult:
        """Post the message. Delivered is one that the gateway admitted, on the route ``operator`` one it answered.

        A timeout leaves open whether the gateway has it; the next try carries the same key.
        """
        try:
            token = read_secret(settings, "token", os.environ)
        except SecretError as error:
            return SendResult(delivered=False, reason=str(error))
        result = _post(message, settings, token)
        return result._replace(reason=http.redact(result.reason, [token]))


def _faults(settings: OpenClawSettings) -> list[str]:
    problems = http.url_faults(settings.url, allow_http=settings.allow_http)
    problems += secret_faults(settings, "token", "the token of OpenClaw's hooks (route operator: its gateway)")
    if not settings.agent and settings.route != "mapping":
        problems.append("agent: missing; the agent's id in OpenClaw is needed")
    if not settings.mapping and settings.route == "mapping":
        problems.append("mapping: missing; the name of a mapping is needed")
    if settings.session_mode == "persistent" and not settings.session_key:
        problems.append("session_mode: found 'persistent' without session_key; allowed: with one")
    if not problems:
        defaults = {field.name: field.default for field in attrs.fields(OpenClawSettings)}
        for key, routes in _ROUTES_OF.items():
            if getattr(settings, key) != defaults[key] and settings.route not in routes:
                allowed = " and ".join(map(repr, routes))
                problems.append(f"{key}: found with route {settings.route!r}; allowed: with {allowed}")
    return problems


def _post(message: Message, settings: OpenClawSettings, token: str) -> SendResult:
    request = _request(message, settings)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Idempotency-Key": message.id[:256],
        **request.headers,
    }
    try:
        answer = http.send(
            "POST",
            settings.address(request.path),
            headers=headers,
            body=json.dumps(request.body).encode("ascii"),
            timeout=settings.seconds,
            ca_file=settings.ca_file or None,
        )
    except http.HttpError as error:
        hint = "" if error.sent else "is the OpenClaw gateway running?"
        return http.not_sent(error, hint)
    document = _json(answer.text)
    whom = _whom(settings)
    if answer.status == 200:
        taken = _taken(document)
        if taken is not None:
            return SendResult(delivered=True, reason=f"{whom} {taken}")
        return SendResult(delivered=False, reason=f"{whom} answered 200, but not as OpenClaw does; correct url")
    return http.failed(answer, whom, said=_said(document), hint=_hint(answer.status, settings))


def _request(message: Message, settings: OpenClawSettings) -> _Request:
    text = message.text if settings.format == "text" else notice(message)
    keys = {"sessionKey": settings.session_key} if settings.session_key else {}
    if settings.route == "operator":
        headers = {"x-openclaw-session-key": settings.session_key} if settings.session_key else {}
        messages = [{"role": "user", "content": f"{text.rstrip()}\n\n{VISIBLE}"}]
        return _Request("/v1/chat/completions", {"model": f"openclaw/{settings.agent}", "messages": messages}, headers)
    if settings.route == "wake":
        return _Request(
            f"{settings.hooks_path}/wake", {"text": text, "mode": "now", "agentId": settings.agent, **keys}, {}
        )
    if settings.route == "mapping":
        fields = {key: value for key, value in message._asdict().items() if key not in ("gateway", "text")}
        agent = {"agentId": settings.agent} if settings.agent else {}
        path = f"{settings.hooks_path}/{quote(settings.mapping, safe='')}"
        return _Request(path, {**fields, "message": text, "name": settings.name, **agent}, {})
    optional = {"model": settings.model, "sessionMode": settings.session_mode}
    return _Request(
        f"{settings.hooks_path}/agent",
        # Without deliver: false, what the agent says goes to the last chat of a person too.
        {"message": text, "name": settings.name, "agentId": settings.agent, "deliver": False, **keys}
        | {key: value for key, value in optional.items() if value},
        {},
    )


def notice(message: Message) -> str:
    """Return the line about a message for ``format = "notice"``."""
    session = f"session {code(message.session)}" if message.session else "no session"
    about = f", question {code(message.tool_use_id)}" if message.tool_use_id else ""
    return f"hookrouter notice ({message.kind}): {session}{about}. {printable(message.subject)}"


def _taken(document: object) -> str | None:
    """Return what a good answer says was done; None for one that is not OpenClaw's."""
    if not isinstance(document, dict):
        return None
    if document.get("ok") is True:
        run, event = document.get("runId"), document.get("eventOutcome")
        if isinstance(run, str):
            return f"admitted it as run {printable(run)[:80]}"
        return f"took it as a system event ({printable(event)[:40]})" if isinstance(event, str) else "took it"
    return "ran the agent's turn to its end" if isinstance(document.get("choices"), list) else None


def _said(document: object) -> str | None:
    """Return the message of an error, which has two shapes; None if the body is not JSON."""
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) else None


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _hint(status: int, settings: OpenClawSettings) -> str:
    key = "token_env" if settings.token_env else "token_file"
    if status in (401, 403):
        which = "gateway.auth.token" if settings.route == "operator" else "hooks.token"
        return f"correct the token that {key} names: it must be {which} of OpenClaw's configuration"
    if status == 429:
        return f"is the token right that {key} names? The gateway locks out who sends wrong ones"
    if status in (404, 405):
        if settings.route == "operator":
            return "enable gateway.http.endpoints.chatCompletions in OpenClaw's configuration"
        if settings.route == "mapping":
            return f"enable OpenClaw's hooks, with a mapping {settings.mapping!r}, or correct url and hooks_path"
        return "enable OpenClaw's hooks, or correct url and hooks_path"
    if status == 400 and settings.route != "operator":
        return "compare agent, session_key and model with OpenClaw's configuration"
    return ""


def _whom(settings: OpenClawSettings) -> str:
    """Return how the gateway is called in a reason: with its version, if it tells it."""
    try:
        version = _version(settings)
    except http.HttpError:
        version = None
    return f"OpenClaw {version}" if version else "the OpenClaw gateway"


def _version(settings: OpenClawSettings) -> str | None:
    """Return the version that the gateway tells, or None if it tells none. Raises HttpError."""
    answer = http.send("GET", settings.address("/startupz"), timeout=VERSION_SECONDS, ca_file=settings.ca_file or None)
    document = _json(answer.text)
    version = document.get("version") if isinstance(document, dict) else None
    return printable(version)[:40] if isinstance(version, str) else None
