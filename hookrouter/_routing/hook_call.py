"""One hook call as Claude Code makes it: the command line's word and the payload, read and checked."""

from __future__ import annotations

from hookrouter._contract.hook_names import command_word, event_facts, hook_names
from hookrouter._contract.tables import CHECKED_TOOLS, COMMON_FIELDS, OBJECT_FIELDS
from hookrouter.util import fastjson
from hookrouter.util.text import printable
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hookrouter._contract.tables import EventFacts

__all__ = ["HANDLED_MARK", "MAX_PAYLOAD", "HookCall", "fits", "parse"]

MAX_PAYLOAD = 16 * 1024 * 1024
"""Bytes of the largest payload that is routed; a larger one is read to its end and refused."""

HANDLED_MARK = "hookrouter_handled"
"""The key by which the mod marks the payload of a call that it has brought already; its value is the call's id."""

_MAX_EVENT = 80
_MAX_NAME = 200
_NO_MEMORY = "no memory for the payload"


class HookCall(Value):
    """A hook call. It can be routed if it has no ``problem``."""

    __slots__ = ("event", "hooks", "is_known", "payload", "problem", "session_id", "tool", "tool_use_id", "warnings")

    event: str
    """The event's name, such as ``PreToolUse``; of an event that is not known, what can be shown of it."""
    is_known: bool
    """Whether the contract has the event."""
    hooks: tuple[str, ...]
    """The names of the hooks that are looked up, in order."""
    payload: dict[str, Any]
    """What Claude Code sent; empty if it could not be read."""
    session_id: str | None
    tool: str | None
    """The payload's ``tool_name``, printable and cut; None if it has none."""
    tool_use_id: str | None
    """The payload's ``tool_use_id``, printable and cut; None if it has none."""
    warnings: list[str]
    problem: str
    """Why the call is refused, or empty."""

    def __init__(
        self,
        event: str,
        record: EventFacts | None = None,
        payload: dict[str, Any] | None = None,
        warnings: list[str] | None = None,
        problem: str = "",
    ) -> None:
        """Take what was found out; the rest follows from the payload."""
        given = {} if payload is None else payload
        session_id, tool = given.get("session_id"), given.get("tool_name")
        self._set(
            event=event,
            is_known=record is not None,
            hooks=() if problem else hook_names(event, tool),
            payload=given,
            session_id=session_id if isinstance(session_id, str) else None,
            tool=_shown_name(tool),
            tool_use_id=_shown_name(given.get("tool_use_id")),
            warnings=warnings or [],
            problem=problem,
        )

    @property
    def is_handled(self) -> bool:
        """Whether the payload bears the mod's mark."""
        mark = self.payload.get(HANDLED_MARK)
        return isinstance(mark, str) and mark != ""


def parse(word: str, data: bytes | None, fault: str = "") -> HookCall:
    """Return the call that the word on the command line and the bytes on stdin make. Never raises.

    ``word`` is the event's name, ``pre-tool-use`` or ``PreToolUse``; ``data`` is None if there was more than
    MAX_PAYLOAD of it. ``fault`` says why there can be no call, whatever there was; empty if there can.
    """
    record = event_facts(word)
    name = printable(word)[:_MAX_EVENT] if record is None else record.name
    if fault:
        return HookCall(name, record, problem=fault)
    if data is None:
        return HookCall(name, record, problem=f"the payload is larger than {MAX_PAYLOAD} bytes")
    try:
        payload = fastjson.loads(data)
    except ValueError as error:
        return HookCall(name, record, problem=f"the payload is not JSON: {error}")
    except MemoryError:
        return HookCall(name, record, problem=_NO_MEMORY)
    if not isinstance(payload, dict):
        return HookCall(name, record, problem=f"the payload is a JSON {fastjson.json_type(payload)}, not an object")
    stated = payload.get("hook_event_name")
    if record is None:
        # An event of a newer client gets through to the raw hook, if its name fits the payload.
        if isinstance(stated, str) and command_word(stated) == command_word(word):
            return HookCall(printable(stated)[:_MAX_EVENT], None, payload)
        return HookCall(name, None, payload, problem=f"unknown event {_shown(word)}")
    if stated != record.name:
        problem = f"the payload's hook_event_name is {_shown(stated)}, not {record.name!r} as in run {word}"
        return HookCall(name, record, payload, problem=problem)
    try:
        errors, warnings = _faults(record, payload)
    except MemoryError:
        return HookCall(name, record, problem=_NO_MEMORY)
    return HookCall(name, record, payload, warnings, "; ".join(errors))


def _faults(record: EventFacts, payload: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return what of a payload does not fit the contract: errors and warnings, as :func:`records.check` says them."""
    errors: list[str] = []
    warnings: list[str] = []
    # Most payloads fit, and most calls need no class of an event: nobody listens.
    if not fits(COMMON_FIELDS, payload) or not fits(record.fields, payload):
        from hookrouter import events, records

        errors, warnings = records.check(getattr(events, record.name), payload)
    if not errors and record.is_tool and payload["tool_name"] in CHECKED_TOOLS:
        from hookrouter.records import check
        from hookrouter.tools.calls import tool_class

        errors, more = check(tool_class(payload["tool_name"], "Input"), payload["tool_input"])
        errors, warnings = [f"tool_input: {error}" for error in errors], warnings + more
    return errors, warnings


def fits(words: str, found: Mapping[str, object]) -> bool:
    """Say whether a JSON object certainly has nothing that :func:`hookrouter.records.check` would find.

    ``words`` are its fields as :mod:`hookrouter._contract.tables` has them. Of an object that may be right or wrong,
    this says False.
    """
    for word in words.split():
        name, _, kind = word.partition(":")
        wire = name.removesuffix("?")
        value = found.get(wire)
        if value is None:
            if wire != name or (wire in found and (kind == "any" or kind.endswith("|null"))):
                continue
            return False
        kind = kind.removesuffix("|null")
        if kind in OBJECT_FIELDS:
            if not isinstance(value, dict) or not fits(OBJECT_FIELDS[kind], value):
                return False
        elif type(value) not in _TYPES.get(kind, ()) and not (value == [] and kind.startswith("array")):
            return False
    return True


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "any": (str, int, float, bool, dict, list),
}
"""The kinds that are what they are whatever is in them, and the types of parsed JSON that are of such a kind."""


def _shown(value: object) -> str:
    return repr(printable(value)[:_MAX_EVENT]) if isinstance(value, str) else f"a {fastjson.json_type(value)}"


def _shown_name(value: object) -> str | None:
    return printable(value)[:_MAX_NAME] if isinstance(value, str) else None
