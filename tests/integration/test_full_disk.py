"""A disk that is really full: what Claude asks meanwhile stays with the person, and is told once there is space."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter.util.program import script_argv
from support.hook_place import HookPlace
from support.matrix import mostly_long

pytestmark = pytest.mark.linux

CONFIG = """\
[[agents]]
id = "night"

[[approvals.rules]]
tool = "Bash"
decide = "agent"

[[approvals.rules]]
tool = "Elicitation"
decide = "agent"
"""

FORM = {
    "header": "Database",
    "question": "Which database?",
    "multiSelect": False,
    "options": [{"label": "SQLite", "description": ""}, {"label": "PostgreSQL", "description": ""}],
}

# What a client calls, the event that asks, and what its registry says then.
ASKING: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "question": ("AskUserQuestion", {"questions": [FORM]}, {}, "input needed"),
    "permission": (
        "Bash",
        {"command": "touch a"},
        {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "touch a"}},
        "permission prompt",
    ),
    "elicitation": (
        "mcp__demo__form",
        {},
        {"hook_event_name": "Elicitation", "mcp_server_name": "demo", "message": "Who?", "mode": "form"},
        "input needed",
    ),
}


class Disk:
    """A small file system with a home on it, and a client whose own files are elsewhere."""

    def __init__(self, place: HookPlace, user: Path) -> None:
        self.place, self.user = place, user
        self._filler = place.home / "filler"
        place.config(CONFIG)
        place.environ |= {"HOME": str(user), "CLAUDE_PID": str(os.getpid())}

    def fill(self) -> None:
        with open(self._filler, "wb", buffering=0) as file:
            space = os.statvfs(self.place.home)
            file.write(bytes(space.f_bavail * space.f_frsize))

    def free(self) -> None:
        self._filler.unlink()

    def ask(self, kind: str) -> None:
        """Have the client ask, as its hooks, its transcript and its registry tell."""
        tool, given, request, waiting_for = ASKING[kind]
        claude = self.user / ".claude"
        transcript = claude / "projects" / "-p" / "s-1.jsonl"
        transcript.parent.mkdir(parents=True)
        block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": given}
        transcript.write_text(json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n")
        registry = claude / "sessions" / f"{os.getpid()}.json"
        registry.parent.mkdir()
        entry = {"pid": os.getpid(), "sessionId": "s-1", "cwd": "/", "status": "waiting", "waitingFor": waiting_for}
        registry.write_text(json.dumps(entry))
        common = {"session_id": "s-1", "transcript_path": str(transcript), "cwd": "/", "permission_mode": "default"}
        call = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "tool_use_id": "toolu_1"}
        for event in filter(None, (call, request)):
            self.place.start({**common, **event}).communicate(timeout=60)

    def questions(self) -> subprocess.CompletedProcess[str]:
        """Run `hookrouter questions`."""
        words = [*script_argv(), "questions", "--json"]
        return subprocess.run(words, env=self.place.environ, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mounted)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")
    try:
        yield Disk(HookPlace(mounted), tmp_path)
    finally:
        # A deliverer may be about to end.
        subprocess.run(["umount", "--lazy", str(mounted)], check=True)


@pytest.mark.parametrize("kind", mostly_long(ASKING, "permission"))
def test_what_was_asked_meanwhile_is_told_once_there_is_space(disk: Disk, kind: str) -> None:
    disk.fill()
    disk.ask(kind)
    full = disk.questions()
    assert (full.returncode, "No space left" in full.stderr) == (1, True), full
    disk.free()
    for _ in range(2):
        found = disk.questions()
        assert found.returncode == 0, found
        assert [one["kind"] for one in json.loads(found.stdout)["questions"]] == [kind]
