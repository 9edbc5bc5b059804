"""The names of hooks: which ones a call of an event, for a tool, concerns."""

from __future__ import annotations

import os

from hookrouter._contract.tables import EVENT_NAMES, EVENTS, TOOL_ALIASES, TOOLS

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._contract.tables import EventFacts

__all__ = [
    "DIALOG_EVENT",
    "RAW_HOOK",
    "WAKE_VARIABLE",
    "WAKING_HOOK",
    "command_word",
    "concerns",
    "event_facts",
    "hook_names",
    "matched_value",
    "mcp_name",
]

RAW_HOOK = "raw_event"
"""The hook that gets every payload, also of events that this version does not know."""

WAKING_HOOK = "file_changed"
"""The hook that may begin a turn of Claude's, if it is marked so (:func:`hookrouter.markers.wakes`)."""

WAKE_VARIABLE = "HOOKROUTER_WAKE"
"""The environment variable that an entry with ``asyncRewake`` sets: its run is for hooks that wake, and no others."""

DIALOG_EVENT = "PermissionRequest"
"""The event that can be refused, but not by exit code 2: Claude Code's dialog stays then, for a person to answer."""

_BASE_NAME = "basename(file_path)"


def event_facts(event: str) -> EventFacts | None:
    """Return the record of an event by either of its names, ``PreToolUse`` or ``pre-tool-use``; None if unknown."""
    return EVENTS.get(EVENT_NAMES.get(event, event))


def mcp_name(tool_name: str) -> tuple[str, str] | None:
    """Return server and tool of a name ``mcp__<server>__<tool>``, or None for any other."""
    prefix, _, rest = tool_name.partition("__")
    server, _, tool = rest.partition("__")
    return (server, tool) if prefix == "mcp" and server and tool else None


def hook_names(event: str, tool_name: str | None = None) -> tuple[str, ...]:
    """Return the hooks that one payload concerns, in the order in which they are called.

    ``event`` is either of the event's names; ``tool_name`` the payload's tool, whose former names are understood. The
    tool's hook comes first, then the event's, then ``raw_event``, which alone is called for an unknown event.
    """
    record = event_facts(event)
    if record is None:
        return (RAW_HOOK,)
    if record.is_tool and tool_name is not None:
        suffix = TOOLS.get(TOOL_ALIASES.get(tool_name, tool_name))
        if suffix is None and mcp_name(tool_name) is not None:
            suffix = "mcp"
        if suffix is not None:
            return (f"{record.hook}_{suffix}", record.hook, RAW_HOOK)
    return (record.hook, RAW_HOOK)


def concerns(hook: str, event_hook: str) -> bool:
    """Say whether a hook may be called for an event, whatever its tool."""
    if hook in (event_hook, RAW_HOOK):
        return True
    prefix, suffix = f"{event_hook}_", hook[len(event_hook) + 1 :]
    return hook.startswith(prefix) and (suffix == "mcp" or suffix in TOOLS.values())


def matched_value(event: str, payload: Mapping[str, object]) -> str | None:
    """Return what Claude Code's matchers look at in a payload; None if they look at nothing in it."""
    record = event_facts(event)
    field = None if record is None else record.matcher
    if field is None:
        return None
    value = payload.get("file_path" if field == _BASE_NAME else field)
    if not isinstance(value, str):
        return None
    return os.path.basename(value) if field == _BASE_NAME else value


def command_word(event: str) -> str:
    """Return the word that stands for an event in ``hookrouter run WORD``: ``pre-tool-use`` for ``PreToolUse``."""
    derived = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("-")
    return EVENT_NAMES.get(event, derived)
