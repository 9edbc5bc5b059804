"""Example payloads: those recorded on a client, and if there is none, one built from the contract.

:func:`sample` is for tests and for trying a plugin by hand; ``hookrouter sample`` prints the same.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._contract.document import contract, recorded
from hookrouter._contract.hook_names import event_facts, mcp_name
from hookrouter._contract.tables import CLAUDE_CODE_VERSION, EVENTS, TOOL_ALIASES, TOOLS
from hookrouter.events import EVENT_CLASSES, Event
from hookrouter.util.text import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Sample", "find", "sample"]

_DEFAULT_TOOL = "Bash"

_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")

_CWD = "/home/u/project"

_EXAMPLES: dict[str, object] = {
    "agentId": "abc77209f43502dfe",
    "command": "echo hello",
    "cron": "0 9 * * 1-5",
    "error": "Exit code 1\nno such file",
    "file": "src/example.py",
    "filePath": f"{_CWD}/src/example.py",
    "file_path": f"{_CWD}/src/example.py",
    "filenames": "src/example.py",
    "humanSchedule": "every weekday at 09:00",
    "new_string": "hello, world",
    "newString": "hello, world",
    "notebook_path": f"{_CWD}/example.ipynb",
    "old_string": "hello",
    "oldString": "hello",
    "originalCwd": _CWD,
    "path": f"{_CWD}/src/example.py",
    "pattern": "**/*.py",
    "queued_at": "2026-11-21T12:00:00.000Z",
    "reason": "the command writes outside of the project",
    "task_id": "1",
    "taskId": "1",
    "task_subject": "Write the tests",
    "team_name": "default",
    "teammate_name": "reviewer",
    "tool_use_id": "toolu_17952928031350",
    "uri": "file:///home/u/project/README.md",
    "url": "https://example.com/",
    "worktreePath": "/home/u/worktrees/example",
    "worktree_path": "/home/u/worktrees/example",
}
"""Field name -> a value that such a field may well have."""


class Sample(NamedTuple):
    """A payload, and where it comes from."""

    payload: dict[str, Any]
    """A copy of its own: change it as you like."""
    recorded: bool
    """Whether a client sent exactly this; else it was built from the contract and from what was recorded."""
    origin: str
    """Where it comes from, in words."""


def sample(event: str, tool: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return a payload of an event as Claude Code sends it, for tests and for trying a plugin by hand.

    ``event`` is ``PreToolUse``, ``pre-tool-use`` or ``pre_tool_use``. ``tool`` is the tool of an event about a tool
    call, Bash by default, or a name ``mcp__<server>__<tool>``; for other events a value of what their matchers look
    at, for example ``compact`` for SessionStart. ``changes`` take the place of the payload's fields of these names; a
    change to None takes the field away.

    Raises ValueError, whose message says what is allowed, for an event, tool or value that the contract does not have.
    """
    payload = find(event, tool).payload
    for key, value in changes.items():
        if value is None:
            payload.pop(key, None)
        else:
            payload[key] = value
    return payload


def find(event: str, tool: str | None = None) -> Sample:
    """Return the payload that :func:`sample` starts from, and say where it comes from. Raises ValueError as it does."""
    record = event_facts(event) or event_facts(event.replace("_", "-").lower())
    if record is None:
        raise ValueError(f"there is no event {event!r}{_event_hint(event)}")
    if record.is_tool:
        found = _tool_sample(record.name, _tool_name(tool or _DEFAULT_TOOL))
    else:
        found = _event_sample(record.name, record.matcher, tool)
    return found._replace(payload=copy.deepcopy(found.payload))


def _tool_name(name: str) -> str:
    known = TOOL_ALIASES.get(name, name)
    if known in TOOLS or mcp_name(known) is not None:
        return known
    raise ValueError(f"there is no tool {name!r}{_hint(name, TOOLS)}; tools of MCP servers are mcp__<server>__<tool>")


def _event_hint(event: str) -> str:
    """Return what was meant by a name that is no event; it may be that of an event and a tool, or of a tool."""
    names = [known.name for known in EVENTS.values()]
    # A tool by itself first: of its events, the one before the call.
    tools = {tool: (_CALLED, tool) for tool in TOOLS}
    calls = {f"{known.name}{tool}": (known.name, tool) for known in EVENTS.values() if known.is_tool for tool in TOOLS}
    meant = {**calls, **tools}
    found = closest(event, [*names, *meant])
    if found in meant and found not in names:
        name, tool = meant[found]
        return f"; did you mean {name!r} of the tool {tool!r}?"
    return _hint(event, names)


_CALLED = "PreToolUse"


def _hint(name: str, known: Collection[str]) -> str:
    return "; " + did_you_mean(name, known, f"known are: {', '.join(sorted(known, key=str.lower))}")


def _event_sample(event: str, matcher: str | None, value: str | None) -> Sample:
    found = recorded()
    if value is None:
        key = next((key for key in found if key.partition(":")[0] == event), None)
        return _built_event(event) if key is None else _as_recorded(key)
    if matcher is None or matcher not in EVENT_CLASSES[event].FIELDS:
        raise ValueError(f"{event} takes no tool; leave {value!r} out")
    if f"{event}:{value}" in found:
        return _as_recorded(f"{event}:{value}")
    known = contract()["events"][event]["matcher_values"]
    if all(word.replace("_", "").isalnum() for word in known) and value not in known:
        raise ValueError(f"{event} has no {matcher} {value!r}{_hint(value, known)}")
    base = _event_sample(event, matcher, None)
    if base.payload[matcher] == value:
        return base
    return Sample({**base.payload, matcher: value}, False, f"{base.origin}, {matcher} changed")


def _built_event(event: str) -> Sample:
    """Build the payload of an event that no recording has: what every event has, and its own required fields."""
    carries_mode = contract()["events"][event]["carries_permission_mode"]
    payload = recorded()["PreToolUse:Edit" if carries_mode else "WorktreeCreate"]["payload"]
    return _completed(event, {name: payload[name] for name in payload if name in Event.FIELDS})


def _tool_sample(event: str, tool: str) -> Sample:
    found = recorded()
    if f"{event}:{tool}" in found:
        return _as_recorded(f"{event}:{tool}")
    like = f"{event}:{_DEFAULT_TOOL}"
    payload = dict(found[like if like in found else "PreToolUse:Edit"]["payload"])
    for key in ("agent_id", "agent_type", "permission_suggestions"):
        payload.pop(key, None)
    payload |= {"tool_name": tool, "tool_input": _tool_value(tool, "input")}
    if "tool_response" in EVENT_CLASSES[event].FIELDS:
        payload["tool_response"] = _tool_value(tool, "output")
    server = mcp_name(tool)
    if server is not None:
        payload["mcp_server"] = {"name": server[0], "source": "user"}
    return _completed(event, payload)


def _completed(event: str, payload: dict[str, Any]) -> Sample:
    """Add the event's name, and the required fields that are still missing."""
    payload["hook_event_name"] = event
    for field in EVENT_CLASSES[event].FIELDS.values():
        if field.required and field.wire not in payload:
            payload[field.wire] = _value(field.kind, field.wire)
    return Sample(payload, False, _BUILT)


_BUILT = f"built from the contract of Claude Code {CLAUDE_CODE_VERSION}; no client was seen to send exactly this"


def _tool_value(tool: str, direction: str) -> Any:
    """Return an input or output of a tool: a recorded one, else one built of the fields that it always has."""
    field = "tool_input" if direction == "input" else "tool_response"
    for key, entry in recorded().items():
        if key.partition(":")[2] == tool and field in entry["payload"]:
            return entry["payload"][field]
    if mcp_name(tool) is not None:
        return {"q": "x"} if direction == "input" else [{"type": "text", "text": "done"}]
    shape = contract()["tools"].get(tool, {}).get(direction)
    return {} if shape is None else _value(shape, tool)


def _value(shape: Any, name: str) -> Any:
    """Return a value of a type as the contract writes it; ``name`` is the field that it is for."""
    if isinstance(shape, str):
        return _scalar(shape, name)
    if isinstance(shape, list):
        return [_value(shape[0], name)]
    if "oneOf" in shape:
        return _value(shape["oneOf"][0], name)
    if "array" in shape:
        return [_value(shape["array"], name) for _ in range(max(1, shape.get("minItems", 1)))]
    if "properties" in shape or isinstance(shape.get("type"), str):
        return _schema_value(shape, name)
    return {
        key: _value(field["type"], key)
        for key, field in shape.items()
        if isinstance(field, dict) and field.get("required") is True
    }


def _schema_value(schema: dict[str, Any], name: str) -> Any:
    """Return a value of a JSON Schema."""
    if "anyOf" in schema:
        return _schema_value(schema["anyOf"][0], name)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        return {key: _schema_value(properties[key], key) for key in schema.get("required", ())}
    if schema.get("type") == "array":
        return [_schema_value(schema.get("items", {}), name)]
    return schema.get("default") or _scalar(schema.get("type", "string"), name)


def _scalar(kind: str, name: str) -> object:
    quoted = _QUOTED.match(kind)
    if quoted:
        return quoted[1] if quoted[1] is not None else quoted[2]
    word = re.split(r"[ |<]", kind, maxsplit=1)[0]
    if word in ("number", "integer"):
        return 1
    if word in ("boolean", "true", "false"):
        return word == "true"
    if word in ("object", "record", "map"):
        return {}
    if word == "array":
        return []
    return _EXAMPLES.get(name, f"example {name}")


def _as_recorded(key: str) -> Sample:
    entry = recorded()[key]
    return Sample(entry["payload"], True, f"recorded: {entry['captured_from']}")
