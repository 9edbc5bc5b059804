"""Payloads as Claude Code sends them, for the events that a test fires."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookrouter._contract.hook_names import event_facts
from hookrouter._contract.tables import TOOL_ALIASES, TOOLS
from hookrouter.events import EVENT_CLASSES
from hookrouter.records import check as check_payload
from hookrouter.samples import sample
from hookrouter.tools.calls import tool_class
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["closest", "payload_of"]


def payload_of(event: str | Mapping[str, Any], tool: str | None, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload to fire. Raises ValueError if Claude Code would not send it."""
    __tracebackhide__ = True
    if isinstance(event, str):
        payload = sample(event, tool)
    elif tool is not None:
        raise ValueError(f"the payload names its tool itself; leave {tool!r} out")
    else:
        payload = json.loads(json.dumps(dict(event)))
        if not isinstance(payload.get("hook_event_name"), str):
            raise ValueError("the payload has no hook_event_name, which says what event it is")
    name = payload["hook_event_name"]
    for key, value in changes.items():
        known = {str(field.wire) for field in EVENT_CLASSES[name].FIELDS.values()} if name in EVENT_CLASSES else {key}
        if key not in known:
            raise ValueError(f"{name} has no field {key!r}{closest(key, known)}")
        if value is None:
            payload.pop(key, None)
        else:
            payload[key] = value
    record = event_facts(name)
    if record is None:
        return payload
    errors, warnings = check_payload(EVENT_CLASSES[name], payload)
    tool_name = TOOL_ALIASES.get(payload.get("tool_name", ""), payload.get("tool_name"))
    if not errors and record.is_tool and tool_name in TOOLS:
        found = check_payload(tool_class(tool_name, "Input"), payload["tool_input"])
        errors, more = [f"tool_input: {fault}" for fault in found[0]], [f"tool_input: {fault}" for fault in found[1]]
        warnings += more
    # A whole payload is fired as it is, if hookrouter would call plugins for it.
    faults = errors + warnings if isinstance(event, str) else check_payload(EVENT_CLASSES[name], payload)[0]
    if faults:
        told = f"Claude Code sends no such {name}: {'; '.join(faults)}"
        if isinstance(event, str):
            told += (
                "; to see what the plugin does with it nevertheless, fire a whole payload: "
                f"fire({{**sample({name!r}{f', {tool_name!r}' if record.is_tool else ''}), ...}}), "
                "with hookrouter.testing.sample"
            )
        raise ValueError(told)
    return payload


def closest(name: str, known: Iterable[str]) -> str:
    """Return what to say of a name that is none of those: the one that may be meant, or which there are."""
    names = sorted(known)
    return "; " + did_you_mean(name, names, f"there are: {', '.join(names)}")
