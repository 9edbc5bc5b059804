"""What a client of the gate's own socket sends, checked."""

from __future__ import annotations

import re
from typing import Any

from hookrouter._serving.caller import BroughtCall
from hookrouter.util import fastjson
from hookrouter.util.value import Value

__all__ = [
    "LONGEST_WAIT",
    "MAX_BODY",
    "MAX_PAYLOAD",
    "BadRequest",
    "CallRequest",
    "Handing",
    "asking",
    "call_request",
    "ended",
    "handing",
    "session_of",
    "wait_of",
]

MAX_PAYLOAD = 16 * 1024 * 1024
"""Bytes of the longest payload, as of a hook's stdin."""

MAX_ENVIRON = 4 * 1024 * 1024
"""Characters of the largest environment."""

MAX_BODY = MAX_PAYLOAD + 2 * MAX_ENVIRON
"""Bytes of the longest request."""

LONGEST_WAIT = 60.0
"""Seconds that one request may wait at most."""

_MAX_PATH = 4096
_MAX_SAID = 4000
_MAX_HAS = 1000
_KINDS = ("prompt", "command")
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_EVENT = re.compile(r"[a-z][a-z0-9-]{0,63}")


class BadRequest(Exception):
    """What was sent is not what the gate takes; the text says why."""


class CallRequest(Value):
    """A request to make a call, or to wait for the one of this id."""

    id: str
    call: BroughtCall
    wait: float
    """Seconds to wait for its end."""
    before: float | None
    """Unix time in seconds after which it must not begin any more; None: it may at any time."""


class Handing(Value):
    """What a mod is to bring into its session."""

    id: str
    kind: str
    """``prompt`` or ``command``."""
    text: str
    """The prompt; of a command its name without the slash."""
    arguments: str
    """What follows a command's name."""

    def to_json(self) -> dict[str, object]:
        """Return it as the mod is given it."""
        return {"id": self.id, "kind": self.kind, "text": self.text, "arguments": self.arguments}


def call_request(body: bytes) -> CallRequest:
    """Return what the body of ``POST /v1/calls`` asks for. Raises BadRequest."""
    fields = _object(body)
    identifier = _identifier(fields, "id")
    event, cwd = _text(fields, "event"), _text(fields, "cwd")
    if not _EVENT.fullmatch(event):
        raise BadRequest("event: the word of an event is needed, as in hookrouter run pre-tool-use")
    if not cwd.startswith("/") or "\0" in cwd or len(cwd) > _MAX_PATH:
        raise BadRequest("cwd: an absolute path is needed")
    before = fields.get("before")
    if before is not None and not _is_number(before):
        raise BadRequest("before: a number of milliseconds is needed")
    call = BroughtCall(event, _payload(fields.get("payload")), cwd, _environ(fields.get("environ")))
    return CallRequest(identifier, call, _wait(fields), None if before is None else before / 1000)


def wait_of(body: bytes) -> float:
    """Return the seconds that the body of ``POST /v1/calls/ID`` asks to wait. Raises BadRequest."""
    return _wait(_object(body)) if body else 0.0


def session_of(body: bytes) -> str:
    """Return the session that the body of ``POST /v1/mods`` asks for. Raises BadRequest."""
    return _identifier(_object(body), "session_id")


def asking(body: bytes) -> tuple[str, frozenset[str], float]:
    """Return session, ids and seconds of the body of ``POST /v1/mods/MOD``. Raises BadRequest."""
    fields = _object(body)
    has = fields.get("has", [])
    if not isinstance(has, list) or len(has) > _MAX_HAS or not all(isinstance(one, str) for one in has):
        raise BadRequest(f"has: a list of at most {_MAX_HAS} ids is needed")
    return _identifier(fields, "session_id"), frozenset(has), _wait(fields)


def ended(body: bytes) -> tuple[str, dict[str, str]]:
    """Return id and outcome of the body of ``POST /v1/mods/MOD/ended``. Raises BadRequest."""
    fields = _object(body)
    said = {"outcome": _text(fields, "outcome"), "reason": _text(fields, "reason") if "reason" in fields else ""}
    return _identifier(fields, "id"), {name: text[:_MAX_SAID] for name, text in said.items()}


def handing(body: bytes) -> tuple[str, Handing, float]:
    """Return mod, prompt and seconds of the body of ``POST /v1/prompts``. Raises BadRequest."""
    fields = _object(body)
    kind, text, arguments = (_text(fields, name) for name in ("kind", "text", "arguments"))
    if kind not in _KINDS:
        raise BadRequest(f"kind: found {kind[:40]!r}, allowed: {', '.join(_KINDS)}")
    return _identifier(fields, "mod"), Handing(_identifier(fields, "id"), kind, text, arguments), _wait(fields)


def _identifier(fields: dict[str, Any], name: str) -> str:
    value = _text(fields, name)
    if not _ID.fullmatch(value):
        raise BadRequest(f"{name}: 1 to 128 letters, digits and _.:- are allowed")
    return value


def _object(body: bytes) -> dict[str, Any]:
    try:
        fields = fastjson.loads(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise BadRequest("the body: a JSON object is needed")
    return fields


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"{name}: a string is needed")
    return value


def _payload(value: object) -> bytes:
    if not isinstance(value, dict):
        raise BadRequest("payload: an object is needed")
    try:
        data = fastjson.dumps(value).encode("ascii")
    except (ValueError, RecursionError):
        raise BadRequest("payload: it holds a number that is too large, or is nested too deeply") from None
    if len(data) > MAX_PAYLOAD:
        raise BadRequest(f"payload: {len(data)} bytes; allowed: {MAX_PAYLOAD}")
    return data


_checked: dict[str, str] = {}
"""The last environment that was found in order: most calls come from the same place as the one before."""


def _environ(value: object) -> dict[str, str]:
    global _checked
    if _checked and value == _checked:
        return _checked
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise BadRequest("environ: an object of strings is needed")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name or "\0" in text:
            raise BadRequest("environ: a name is empty or holds =, or there is a NUL")
        try:
            f"{name}{text}".encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise BadRequest("environ: it holds something that is not text") from None
    if sum(len(name) + len(text) + 2 for name, text in value.items()) > MAX_ENVIRON:
        raise BadRequest(f"environ: more than {MAX_ENVIRON} characters")
    _checked = value
    return value


def _wait(fields: dict[str, Any]) -> float:
    value = fields.get("wait", 0)
    if not _is_number(value) or not 0 <= value <= LONGEST_WAIT:
        raise BadRequest(f"wait: a number of seconds from 0 to {LONGEST_WAIT:g} is needed")
    return float(value)


def _is_number(value: object) -> bool:
    # Larger ones are no time, and some of them no float.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18
