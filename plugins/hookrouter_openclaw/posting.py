"""Posts messages to an OpenClaw gateway, and says what each of its answers means.

What the gateway answers was measured on openclaw 2026.9.6. A 200 on a hook route means that the run was admitted, not
that it has ended well. ``Idempotency-Key`` makes a repeated message the same run, on the routes ``agent`` and
``mapping``; the gateway remembers it for some minutes, and not over a restart.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import quote

import attrs

from hookrouter import checking, http
from hookrouter.answering import Probe, Wake, Woken
from hookrouter.names import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OpenClawGateway"]

ROUTES = ("agent", "mapping", "wake", "operator")
FORMATS = ("text", "notice")
MODES = ("isolated", "persistent")

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


@attrs.frozen
class _Table:
    """A ``[gateways.NAME]`` table that was checked."""

    url: str = DEFAULT_URL
    agent: str = ""
    token_env: str = ""
    token_file: str = ""
    route: str = "agent"
    mapping: str = ""
    name: str = "hookrouter"
    model: str = ""
    timeout: float = 0.0
    session_key: str = ""
    session_mode: str = ""
    hooks_path: str = "/hooks"
    format: str = "text"
    allow_http: bool = False
    ca_file: str = ""

    @property
    def seconds(self) -> float:
        return self.timeout or (OPERATOR_TIMEOUT if self.route == "operator" else DEFAULT_TIMEOUT)

    @property
    def certificates(self) -> str | None:
        return os.path.expanduser(self.ca_file) or None

    def address(self, path: str) -> str:
        return f"{self.url.rstrip('/')}{path}"


class _Request(NamedTuple):
    path: str
    body: dict[str, object]
    headers: dict[str, str]


class OpenClawGateway:
    """Wakes an agent of an OpenClaw gateway."""

    type = "openclaw"

    def check(self, settings: Mapping[str, object]) -> list[str]:
        """Return one problem for each key that is missing, unknown or wrong, or the token that cannot be read.

        Asks the gateway nothing: one that is down now may be up at the delivery.
        """
        problems = _faults(settings)
        if problems:
            return problems
        try:
            checking.read_secret(settings, "token", os.environ)
        except checking.SecretError as error:
            return [str(error)]
        table = _table(settings)
        if table.certificates is not None and not os.path.isfile(table.certificates):
            return [f"ca_file: {table.certificates} is not a file"]
        return []

    def probe(self, settings: Mapping[str, object]) -> Probe:
        """Ask the gateway for its version; wakes nobody and needs no token."""
        table = _table(settings)
        try:
            version = _version(table)
        except http.HttpError as error:
            return Probe(False, str(error), "start the OpenClaw gateway, or correct url")
        if version is None:
            found = f"what listens at {http.origin(table.url)} is not an OpenClaw gateway that is ready"
            return Probe(False, found, "wait until it has started, or correct url")
        found = f"OpenClaw {version} at {http.origin(table.url)}"
        numbers = re.match(r"(\d+)\.(\d+)", version)
        if numbers is not None and tuple(map(int, numbers.groups())) < IDEMPOTENT:
            return Probe(
                False, f"{found} may run a message twice that is sent twice", "update OpenClaw to 2026.4 or newer"
            )
        return Probe(True, found)

    def deliver(self, wake: Wake, settings: Mapping[str, object]) -> Woken:
        """Post the message. Delivered is one that the gateway admitted, on the route ``operator`` one it answered.

        A timeout leaves open whether the gateway has it; the next try carries the same key.
        """
        problems = _faults(settings)
        if problems:
            return Woken(delivered=False, reason="; ".join(problems), retry=False)
        try:
            token = checking.read_secret(settings, "token", os.environ)
        except checking.SecretError as error:
            return Woken(delivered=False, reason=str(error))
        woken = _post(wake, _table(settings), token)
        return woken._replace(reason=http.redact(woken.reason, [token]))


def _table(settings: Mapping[str, object]) -> _Table:
    return _Table(**cast("dict[str, Any]", dict(settings)))


def _faults(settings: Mapping[str, object]) -> list[str]:
    route = settings.get("route", "agent")
    problems = checking.choice_faults(settings, "route", ROUTES)
    problems += checking.flag_faults(settings, "allow_http")
    problems += http.url_faults(settings.get("url", DEFAULT_URL), allow_http=settings.get("allow_http") is True)
    problems += checking.secret_faults(settings, "token", "the token of OpenClaw's hooks (route operator: its gateway)")
    problems += checking.text_faults(
        settings, "agent", "the agent's id in OpenClaw", required=route in ("agent", "wake", "operator")
    )
    problems += checking.text_faults(settings, "mapping", "the name of a mapping", required=route == "mapping")
    for key in ("name", "model"):
        problems += checking.text_faults(settings, key, "a text of one line")
    session_key = settings.get("session_key", "main")
    if not isinstance(session_key, str) or not re.fullmatch(r"[!-~]{1,256}", session_key):
        problems.append(f"session_key: found {session_key!r}, allowed is plain ASCII without spaces")
    problems += checking.choice_faults(settings, "format", FORMATS)
    problems += checking.choice_faults(settings, "session_mode", MODES)
    if settings.get("session_mode") == "persistent" and "session_key" not in settings:
        problems.append("session_mode: found 'persistent' without session_key, allowed with one")
    if "timeout" in settings:
        problems += checking.seconds_faults(
            settings, "timeout", above=ADMISSION, most=3600, why=", because the gateway may take that long to begin"
        )
    hooks_path = settings.get("hooks_path", "/hooks")
    if not isinstance(hooks_path, str) or not re.fullmatch(r"(/[\w.~-]+)+", hooks_path, re.ASCII):
        problems.append(f"hooks_path: found {hooks_path!r}, allowed is a path such as '/hooks'")
    problems += checking.path_faults(settings, "ca_file")
    if not problems:
        for key, routes in _ROUTES_OF.items():
            if key in settings and route not in routes:
                problems.append(f"{key}: found with route {route!r}, allowed with {' and '.join(map(repr, routes))}")
    return problems + checking.unknown_keys(settings, [field.name for field in attrs.fields(_Table)])


def _post(wake: Wake, table: _Table, token: str) -> Woken:
    request = _request(wake, table)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Idempotency-Key": wake.id[:256],
        **request.headers,
    }
    try:
        answer = http.send(
            "POST",
            table.address(request.path),
            headers=headers,
            body=json.dumps(request.body).encode("ascii"),
            timeout=table.seconds,
            ca_file=table.certificates,
        )
    except http.HttpError as error:
        hint = "" if error.sent else "is the OpenClaw gateway running?"
        return http.not_sent(error, hint)
    document = _json(answer.text)
    whom = _whom(table)
    if answer.status == 200:
        taken = _taken(document)
        if taken is not None:
            return Woken(delivered=True, reason=f"{whom} {taken}")
        return Woken(delivered=False, reason=f"{whom} answered 200, but not as OpenClaw does; correct url")
    return http.failed(answer, whom, said=_said(document), hint=_hint(answer.status, table))


def _request(wake: Wake, table: _Table) -> _Request:
    text = wake.text if table.format == "text" else _notice(wake)
    keys = {"sessionKey": table.session_key} if table.session_key else {}
    if table.route == "operator":
        headers = {"x-openclaw-session-key": table.session_key} if table.session_key else {}
        messages = [{"role": "user", "content": f"{text.rstrip()}\n\n{VISIBLE}"}]
        return _Request("/v1/chat/completions", {"model": f"openclaw/{table.agent}", "messages": messages}, headers)
    if table.route == "wake":
        return _Request(f"{table.hooks_path}/wake", {"text": text, "mode": "now", "agentId": table.agent, **keys}, {})
    if table.route == "mapping":
        fields = {key: value for key, value in wake._asdict().items() if key not in ("gateway", "text")}
        agent = {"agentId": table.agent} if table.agent else {}
        path = f"{table.hooks_path}/{quote(table.mapping, safe='')}"
        return _Request(path, {**fields, "message": text, "name": table.name, **agent}, {})
    optional = {"model": table.model, "sessionMode": table.session_mode}
    return _Request(
        f"{table.hooks_path}/agent",
        # Without deliver: false, what the agent says goes to the last chat of a person too.
        {"message": text, "name": table.name, "agentId": table.agent, "deliver": False, **keys}
        | {key: value for key, value in optional.items() if value},
        {},
    )


def _notice(wake: Wake) -> str:
    about = f", question {wake.tool_use_id}" if wake.tool_use_id else ""
    return f"hookrouter notice ({wake.kind}): session {printable(wake.session)}{about}. {printable(wake.subject)}"


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
    """Return the message of an error, which has two shapes; None where the body is not JSON."""
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) else None


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _hint(status: int, table: _Table) -> str:
    key = "token_env" if table.token_env else "token_file"
    if status in (401, 403):
        which = "gateway.auth.token" if table.route == "operator" else "hooks.token"
        return f"correct the token that {key} names: it must be {which} of OpenClaw's configuration"
    if status == 429:
        return f"is the token right that {key} names? The gateway locks out who sends wrong ones"
    if status in (404, 405):
        if table.route == "operator":
            return "enable gateway.http.endpoints.chatCompletions in OpenClaw's configuration"
        if table.route == "mapping":
            return f"enable OpenClaw's hooks, with a mapping {table.mapping!r}, or correct url and hooks_path"
        return "enable OpenClaw's hooks, or correct url and hooks_path"
    if status == 400 and table.route != "operator":
        return "compare agent, session_key and model with OpenClaw's configuration"
    return ""


def _whom(table: _Table) -> str:
    """Return how the gateway is called in a reason: with its version, where it tells it."""
    try:
        version = _version(table)
    except http.HttpError:
        version = None
    return f"OpenClaw {version}" if version else "the OpenClaw gateway"


def _version(table: _Table) -> str | None:
    """Return the version that the gateway tells, or None where it tells none. Raises HttpError."""
    answer = http.send("GET", table.address("/startupz"), timeout=VERSION_SECONDS, ca_file=table.certificates)
    document = _json(answer.text)
    version = document.get("version") if isinstance(document, dict) else None
    return printable(version)[:40] if isinstance(version, str) else None
