"""A question is not left behind because the configuration is broken for a while, or a terminal cannot be asked."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrouter.util.program import script_argv
from support.fronts import THROUGH_FRONTS

pytestmark = THROUGH_FRONTS

GOOD = '[[agents]]\nid = "night"\nsessions = ["work-*"]\ngateways = ["inbox"]\n'
ASK: dict[str, Any] = {
    "session_id": "11111111-2222",
    "transcript_path": "",
    "cwd": "/",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "AskUserQuestion",
    "tool_use_id": "toolu_1",
    "tool_input": {
        "questions": [
            {
                "question": "Deploy?",
                "header": "Deploy",
                "options": [{"label": "Yes", "description": "now"}, {"label": "No", "description": "later"}],
                "multiSelect": False,
            }
        ]
    },
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text(GOOD)
    return tmp_path


def run(home: Path, payload: dict[str, Any], event: str = "pre-tool-use", **environ: str) -> Any:
    kept = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
    done = subprocess.run(
        [*script_argv(), "run", event],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env={**kept, "HOOKROUTER_HOME": str(home), **environ},
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout) if done.stdout else {}


def record(home: Path) -> dict[str, Any]:
    lines = [json.loads(line) for file in (home / "logs").glob("*.jsonl") for line in file.read_text().splitlines()]
    return max((line for line in lines if line.get("tool_use_id") == "toolu_1"), key=lambda line: line["at"])


def questions(home: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in (home / "state").glob("question-*.json")]


def test_a_question_of_a_session_whose_terminal_cannot_be_asked_goes_to_its_agent(home: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "empty"
    nothing.mkdir()
    reply = run(home, ASK, PATH=str(nothing), TMUX="/tmp/no-such,1,0", TMUX_PANE="%0")
    assert [question["agent"] for question in questions(home)] == ["night"]
    assert "terminal tmux" in reply["systemMessage"]
    assert record(home)["level"] == "error"


def test_outside_every_terminal_a_session_is_unmanaged_as_ever(home: Path) -> None:
    assert run(home, ASK) == {}
    assert questions(home) == []
    # An agent has globs that do not fit: that is said once, and no error.
    assert record(home)["level"] == "warning"


def test_a_broken_config_leaves_the_agents_as_they_were_and_says_so(home: Path) -> None:
    (home / "config.toml").write_text(GOOD.replace("work-*", "claude-*"))
    run(home, {**ASK, "hook_event_name": "Stop"}, "stop")
    (home / "config.toml").write_text(GOOD + "\n[answer]\nremind_aftr = 60\n")
    reply = run(home, ASK)
    assert [question["agent"] for question in questions(home)] == ["night"]
    assert "answer.remind_aftr: unknown key, did you mean 'remind_after'?" in reply["systemMessage"]
    assert "what it said before holds" in reply["systemMessage"]
    assert record(home)["level"] == "warning"
    # Said once, until the file changes; and at the start of each session.
    assert run(home, {**ASK, "tool_use_id": "toolu_2"}) == {}
    start = {
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/",
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    assert "answer.remind_aftr" in run(home, start, "session-start")["systemMessage"]
