"""Notes each call before it runs: a permission request does not say which call it is about.

It stands in the way of every call, so it imports next to nothing.
"""

from __future__ import annotations

from hookrouter.storage.home import DocumentKind
from hookrouter.util import fastjson
from hookrouter.util.clock import iso
from hookrouter.util.filenames import digest

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hookrouter import events
    from hookrouter.context import Context

__all__ = ["CALL", "call_name", "input_digest", "note", "note_call"]

CALL = DocumentKind("call")
VERSION = 1

_KEPT_CHARACTERS = 65536
"""How long an input may be, as JSON, that is noted as it is. It tells whose dialog is on a screen, and no pane shows a
longer one whole."""


def note_call(event: events.PreToolUse, context: Context) -> None:
    """Save that a call has begun, unless no agent may manage the session, whatever it is called. Raises StoreError."""
    # This is on the way of every call: asking the terminal for the session's name would cost more than all the rest.
    if context.config.agent_for(None, context.cwd) is None:
        context.debug(f"unmanaged session: no [[agents]] entry matches {context.cwd}")
        return
    tool_input = dict(event.raw.get("tool_input") or {})
    note(context, event.tool_use_id, event.tool_name, tool_input, event.agent_id or "", event.prompt_id or "")


def note(
    context: Context, tool_use_id: str, tool: str, tool_input: Mapping[str, Any], agent_id: str, prompt_id: str = ""
) -> None:
    """Save what a call is. Raises StoreError."""
    canonical = _canonical(tool_input)
    document = {
        "version": VERSION,
        "session_id": context.session_id,
        "tool_use_id": tool_use_id,
        "tool": tool,
        "input": digest(canonical),
        "prompt_id": prompt_id,
        "agent_id": agent_id,
        "at": iso(),
    }
    if len(canonical) <= _KEPT_CHARACTERS:
        document["asked"] = tool_input
    context.store.write(CALL, call_name(context.session_id, tool_use_id), document, durable=False)


def input_digest(tool_input: Mapping[str, Any]) -> str:
    """Return what tells one input of a tool from another, in whatever order its keys stand."""
    return digest(_canonical(tool_input))


def _canonical(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{fastjson.dumps(key)}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return fastjson.dumps(value)


def call_name(session_id: str, tool_use_id: str) -> str:
    """Return the name of the document of a call."""
    return f"{session_id}:{tool_use_id}"
