"""A home, a folder of plugins, and hook processes that run on both."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookrouter._contract.tables import EVENT_NAMES
from hookrouter.util.program import script_argv

__all__ = ["BASH", "HookPlace"]

BASH: dict[str, Any] = {
    "session_id": "s",
    "transcript_path": "",
    "cwd": "/",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}
"""The payload of a tool call."""


class HookPlace:
    payload: Mapping[str, Any] = BASH
    """What the hooks get if a call names no other."""

    def __init__(self, folder: Path) -> None:
        self.home, self.plugins = folder / "home", folder / "plugins"
        self.home.mkdir()
        self.environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self.environ |= {"HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(self.plugins)}

    def config(self, text: str) -> None:
        (self.home / "config.toml").write_text(text)

    def start(self, payload: Mapping[str, Any] | None = None) -> subprocess.Popen[bytes]:
        """Start the hook process of a payload, and give it that."""
        payload = self.payload if payload is None else payload
        process = subprocess.Popen(
            [*script_argv(), "run", EVENT_NAMES[payload["hook_event_name"]]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environ,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, payload: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run one hook; return its output."""
        out, errors = self.start(payload).communicate(timeout=120)
        assert errors == b""
        return json.loads(out) if out else {}

    def record(self) -> dict[str, Any]:
        """Return the last record of the session in the journal."""
        record: dict[str, Any] = json.loads((self.home / "logs" / "s.jsonl").read_text().splitlines()[-1])
        return record

    def calls(self) -> list[tuple[str, str]]:
        """Return plugin and outcome of each call of that record."""
        return [(call["plugin"], call["outcome"]) for call in self.record()["plugins"]]
