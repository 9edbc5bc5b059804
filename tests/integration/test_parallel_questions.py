"""Questions that one session asks at the same time: real hook processes side by side, none loses another's document."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.stage import Stage
from hookrouter.dialogs import documents
from hookrouter.storage.documents import Store
from hookrouter.util.program import script_argv
from support.fronts import THROUGH_FRONTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = THROUGH_FRONTS

SESSION_ID = "11111111-2222-3333-4444-555555555555"
ROUNDS = 20


def payload(tool_use_id: str, event: str) -> dict[str, Any]:
    text = f"Which for {tool_use_id}?"
    form = {
        "questions": [
            {
                "question": text,
                "header": "H",
                "options": [{"label": label, "description": ""} for label in ("A", "B")],
                "multiSelect": False,
            }
        ]
    }
    document: dict[str, Any] = {
        "session_id": SESSION_ID,
        "transcript_path": "",
        "cwd": "/tmp",
        "hook_event_name": event,
        "tool_name": "AskUserQuestion",
        "tool_input": form,
        "tool_use_id": tool_use_id,
    }
    if event == "PostToolUse":
        document["tool_response"] = {**form, "answers": {text: "B"}}
    return document


def at_once(stage: Stage, event: str, identifiers: tuple[str, ...]) -> None:
    """Run one hook for each of these tool calls, all at the same time."""
    name = "pre-tool-use" if event == "PreToolUse" else "post-tool-use"
    processes = [
        subprocess.Popen(
            [*script_argv(), "run", name],
            env=stage.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in identifiers
    ]
    # Every process waits for its payload, so this starts them all on the same mark.
    with ThreadPoolExecutor(len(processes)) as pool:
        inputs = [json.dumps(payload(identifier, event)).encode() for identifier in identifiers]
        ended = list(pool.map(lambda process, data: process.communicate(data, 30), processes, inputs))
    assert [process.returncode for process in processes] == [0] * len(processes)
    assert ended == [(b"", b"")] * len(processes)


def waiting(stage: Stage) -> list[str]:
    store = Store(stage.home.state, pytest.fail)
    return sorted(question.tool_use_id for question in documents.list_questions(store))


def test_hooks_that_run_at_the_same_time_keep_every_question(tmp_path: Path) -> None:
    stage = Stage(str(tmp_path))
    for number in range(ROUNDS):
        pair = (f"toolu_{number}a", f"toolu_{number}b")
        at_once(stage, "PreToolUse", pair)
        assert waiting(stage) == sorted(pair), f"round {number}"
        at_once(stage, "PostToolUse", pair)
        assert stage.documents("question") == [], f"round {number}"
    outcomes = [record["outcome"] for record in stage.journal() if record["event"] == "PostToolUse"]
    assert outcomes == ["answered_by_person"] * (2 * ROUNDS)
    assert not [record for record in stage.journal() if record.get("swept") or record.get("warnings")]


def test_many_questions_at_once(tmp_path: Path) -> None:
    stage = Stage(str(tmp_path))
    identifiers = tuple(f"toolu_{number}" for number in range(6))
    at_once(stage, "PreToolUse", identifiers)
    assert waiting(stage) == sorted(identifiers)
    at_once(stage, "PostToolUse", identifiers[:5])
    assert waiting(stage) == [identifiers[5]]
