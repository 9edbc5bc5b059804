"""Transcripts of Claude Code with calls of the past, as many as are wanted."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

__all__ = ["called", "ended", "prompted", "session", "write_sessions"]

FOLDER = "/home/me/project"

_LINES = (
    "git status",
    "git diff --stat",
    "npm test",
    "npm run lint -- --fix",
    "python -m pytest -q tests/unit",
    "cd src && grep -rn TODO . | head -20",
    "git add -A && git commit -m 'Mend the reader'",
    'for f in *.py; do wc -l "$f"; done',
    "make build 2>&1 | tail -5",
    "git push origin main",
    "docker compose up -d",
    "ls -la > listing.txt",
)


def prompted(mode: str = "default", **more: Any) -> dict[str, Any]:
    """Return the line of a prompt."""
    return {
        "type": "user",
        "permissionMode": mode,
        "cwd": FOLDER,
        "message": {"role": "user", "content": "Go on"},
    } | more


def called(own_id: str, tool: str, tool_input: object, cwd: str = FOLDER, **more: Any) -> dict[str, Any]:
    """Return the line of a call."""
    block = {"type": "tool_use", "id": own_id, "name": tool, "input": tool_input}
    line = {"type": "assistant", "cwd": cwd, "timestamp": "2026-11-27T03:50:11.215Z"}
    return line | {"message": {"role": "assistant", "content": [block]}} | more


def ended(own_id: str, text: str = "done", *, is_error: bool = False) -> dict[str, Any]:
    """Return the line of a call's result."""
    block = {"type": "tool_result", "tool_use_id": own_id, "content": text, "is_error": is_error}
    return {"type": "user", "cwd": FOLDER, "message": {"role": "user", "content": [block]}}


def session(path: Path, *lines: dict[str, Any]) -> Path:
    """Write a transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def write_sessions(folder: Path, size: int, *, new: float = 0.1, seed: int = 1) -> int:
    """Write transcripts of about ``size`` bytes in all, and return how many calls they have.

    A call and its result take about 5 KB, as those of real sessions do; ``new`` of the lines are unlike any other.
    """
    drawn = random.Random(seed)
    # Drawn once: a text of its own for each result takes longer than reading it.
    results = ["x" * drawn.choice((200, 800, 3000, 12_000)) for _ in range(50)]
    written = calls = number = 0
    while written < size:
        number += 1
        path = folder / f"project-{number % 40}" / f"session-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            file.write(json.dumps(prompted()) + "\n")
            for _ in range(2000):
                calls += 1
                line = drawn.choice(_LINES)
                if drawn.random() < new:
                    line = f"{line} && echo {calls}"
                own_id = f"toolu_{seed}_{calls}"
                both = json.dumps(called(own_id, "Bash", {"command": line}))
                both += "\n" + json.dumps(ended(own_id, drawn.choice(results))) + "\n"
                file.write(both)
                written += len(both)
                if written >= size:
                    break
    return calls
