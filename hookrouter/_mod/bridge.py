"""Writes the source of the mod: one JavaScript file for the events that plugins listen to."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from typing import TYPE_CHECKING

from attrs import frozen

from hookrouter import __version__
from hookrouter._contract.hook_names import command_word, event_facts
from hookrouter._contract.tables import CLAUDE_CODE_VERSION
from hookrouter._mod.results import FIELDS, SILENT_ON_MESSAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._mod.routes import Route

__all__ = ["Surroundings", "bridge_source"]

_WATCHED = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "SubagentStart")
"""Events that the mod looks at also if nobody listens: PreToolUse lacks fields that they have."""

_COMMANDS = ("clear", "compact", "context", "effort", "new", "rename", "reset")
"""The built-in commands that the mod runs: of those that were tried (2.1.330), they open no panel at which all that
comes next would wait."""

_VARIABLES = "import json, os; print(json.dumps({**os.environ, 'CLAUDE_PID': str(os.getppid())}))"
"""A program whose parent is the client: a command hook's variables, before the client can name them itself."""


@frozen
class Surroundings:
    """Where the mod finds hookrouter."""

    socket: str
    """Path of the gate's Unix socket."""
    script: Sequence[str]
    """The words that start hookrouter."""
    home: str | None = None
    """The HOOKROUTER_HOME of the installation, if it names one."""
    takes_prompts: bool = False
    """Whether the mod asks the gate for prompts: ``mod`` is one of ``[sessions] channels``."""
    interpreter: str = sys.executable
    """A Python, to ask for the variables of a process that the client starts."""


def bridge_source(routes: Sequence[Route], around: Surroundings) -> str:
    """Return the mod's source for these routes.

    Claude Code reads the names of events off the source, so each registration is spelled out.
    """
    heard = {route.event for route in routes}
    if "PreToolUse" in heard or "PermissionRequest" in heard:
        heard.update(_WATCHED)
    events = [event for event in FIELDS if event in heard]
    setup = {
        "socket": around.socket,
        "run": [*around.script, "run"],
        "variables": [around.interpreter, "-I", "-S", "-c", _VARIABLES],
        "environ": {} if around.home is None else {"HOOKROUTER_HOME": around.home},
        "routes": [route.to_json() for route in routes],
        "words": {event: command_word(event) for event in events},
        "matched": {event: facts.matcher for event in events if (facts := event_facts(event)) and facts.matcher},
        "fields": {event: list(FIELDS[event]) for event in events},
        "takesPrompts": around.takes_prompts,
        "commands": list(_COMMANDS),
        "silent": [event for event in events if event in SILENT_ON_MESSAGES],
    }
    registrations = [f'  on("classic.{event}", ($, e, next) => handle($, "{event}", e, next))' for event in events]
    template = files("hookrouter._mod").joinpath("bridge.js").read_text(encoding="utf-8")
    header = f"The mod of hookrouter {__version__}, for the contract of Claude Code {CLAUDE_CODE_VERSION}."
    return (
        template.replace("__HEADER__", header, 1)
        .replace("__SETUP__", json.dumps(setup, indent=2), 1)
        .replace("__REGISTRATIONS__", "\n".join(registrations), 1)
    )
