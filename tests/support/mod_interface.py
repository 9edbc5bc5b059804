"""The interface of Claude Code's mods: harvested from a client, and cut down to the shapes that the mod uses."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from hookrouter._sandbox.client import ClientHome, ClientSession
from hookrouter._sandbox.waiting import wait_until

if TYPE_CHECKING:
    from hookrouter._sandbox.scripted_model import ScriptedModel
    from hookrouter._sandbox.tmux_server import PrivateTmux

__all__ = ["harvest", "members", "shapes"]

TYPES = (
    "ClassicResult",
    "ClassicResultFields",
    "ClassicResultOf",
    "CommandInfo",
    "CommandRunArgs",
    "CommandRunInput",
    "CommandSource",
    "HookBudget",
    "HttpInit",
    "HttpResponse",
    "PermissionRequestDecision",
    "PreToolUseDecision",
    "PreToolUseResult",
    "ProcessRunInit",
    "ProcessRunResult",
    "ProcessSpawnChunk",
    "ProcessSpawnRequest",
    "ProcessSpawnResult",
    "PromptBox",
    "PromptSubmitArgs",
    "PromptSubmitInput",
    "PromptSubmitResult",
    "SettingsReadArgs",
    "TurnStartInput",
)
"""The types on which the mod relies."""

CALLS = {
    "command": ("list", "run"),
    "http": ("fetch",),
    "process": ("run", "spawn", "hookEnv"),
    "prompt": ("read", "submit"),
    "session": ("id", "cwd", "info"),
    "ui": ("log", "notice"),
}
"""The nouns and the calls of them that the mod makes."""

_COMMENT = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)
_BLANKS = re.compile(r"\s+")


def harvest(program: str, folder: str, server: PrivateTmux, model: ScriptedModel) -> str:
    """Return the typings that a client writes for the mods of a folder that it was told to load."""
    plugin = os.path.join(folder, "probe")
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": "probe", "version": "0.1.0", "description": "probe"}),
        "hooks/hooks.json": json.dumps({"description": "probe", "modules": ["./probe.js"]}),
        "hooks/probe.js": 'export const register = (on) => { on("session.start", ($, e, next) => next(e)) }\n',
    }
    for name, text in files.items():
        path = os.path.join(plugin, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    home = ClientHome(folder)
    environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **home.environ(model)}
    written = os.path.join(plugin, ".claude-plugin", "types", "claude-code", "index.d.ts")

    def whole() -> str:
        try:
            with open(written, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            return ""
        return text if text.rstrip().endswith("}") else ""

    client = ClientSession([program, "--plugin-dir", plugin], server, home, environ)
    try:
        client.start()
        return wait_until(whole, 30, "the typings", client.screen)
    finally:
        client.stop()


def shapes(typings: str) -> dict[str, str]:
    """Return what the mod relies on: name of a type, or ``$.noun.call`` -> its declaration on one line.

    Of what a client does not have, there is nothing.
    """
    text = _COMMENT.sub("", typings)
    found = {}
    for name in TYPES:
        start = re.search(rf"\btype {name} = ", text)
        if start:
            found[name] = _line(text, start.end())
    for noun, calls in CALLS.items():
        block = re.search(rf"^      {noun}: (?=\{{$)", text, re.MULTILINE)
        if block:
            inner = _until(text, block.end())
            for call in calls:
                start = re.search(rf"^          {call}: ", inner, re.MULTILINE)
                if start:
                    found[f"$.{noun}.{call}"] = _line(inner, start.end())
    # In the tables of what events carry and answer; a client before 2.1.310 does not raise it.
    found["settings.read"] = " | ".join(re.findall(r"'settings\.read': (\w+);", text))
    return found


def members(declaration: str) -> dict[str, set[str]]:
    """Return the names of each member of ``ClassicResultFields``: event -> the fields of its result."""
    found = re.findall(r"(\w+): ((?:'\w+'(?: \| )?)+);", declaration)
    return {event: set(re.findall(r"'(\w+)'", names)) for event, names in found}


def _line(text: str, start: int) -> str:
    return _BLANKS.sub(" ", _until(text, start)).strip()


def _until(text: str, start: int) -> str:
    """Return a declaration from ``start`` to the semicolon that ends it."""
    depth = 0
    for place in range(start, len(text)):
        letter = text[place]
        if letter in "{([":
            depth += 1
        elif letter in "})]":
            depth -= 1
        elif letter == ";" and depth == 0:
            return text[start:place]
    raise ValueError(f"a declaration without an end: {text[start : start + 80]!r}")
