"""kill -9 at any point of `run` and of `answer`: every document stays readable, and the next question works."""

from __future__ import annotations

import json
import random
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.storage.documents import Store
from hookrouter.util.program import script_argv
from support.fronts import COLD_ONLY, THROUGH_FRONTS, Front

if TYPE_CHECKING:
    from pathlib import Path

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = THROUGH_FRONTS

TIMES = {"cold": (0.01, 0.15), "python": (0.005, 0.06), "native": (0.0005, 0.03)}
"""After how many seconds a hook is killed, at the least and at the most: for each front, until it may have ended."""

FORM = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": label, "description": f"about {label}"} for label in ("Red", "Green", "Blue")],
            "multiSelect": False,
        },
        {
            "question": "Which sizes?",
            "header": "Sizes",
            "options": [{"label": label, "description": ""} for label in ("S", "M", "L, XL")],
            "multiSelect": True,
        },
    ]
}
DECISIONS = [
    {"action": "select", "optionIndex": 2},
    {"action": "multi-select", "selectedIndices": [0, 2], "text": "and one more"},
]


def payload(number: int, event: str = "PreToolUse") -> bytes:
    document: dict[str, Any] = {
        "session_id": "11111111-2222-3333-4444-555555555555",
        "transcript_path": "",
        "cwd": "/tmp",
        "hook_event_name": event,
        "tool_name": "AskUserQuestion",
        "tool_input": FORM,
        "tool_use_id": f"toolu_{number}",
    }
    if event == "PostToolUse":
        document["tool_response"] = {**FORM, "answers": {"Which colour?": "Red", "Which sizes?": "S"}}
    return json.dumps(document).encode()


def assert_readable(stage: Stage) -> None:
    """Read every document, so that a broken one would be reported and set aside."""
    problems: list[str] = []
    for folder in (stage.home.state, f"{stage.home.state}/outbox"):
        store = Store(folder, problems.append)
        for kind in ("question", "pending-answer", "wake", "notice"):
            store.entries(kind)
    assert problems == []
    stage.journal()


def test_hook_runs_that_are_killed_anywhere_leave_a_home_that_works(tmp_path: Path, front: Front) -> None:
    stage = Stage(str(tmp_path))
    stage.run("plugins", "list")
    rng = random.Random(7)
    for number in range(40):
        event = rng.choice(("PreToolUse", "PostToolUse"))
        command = [*script_argv(), "run", "pre-tool-use" if event == "PreToolUse" else "post-tool-use"]
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=stage.environ)
        assert run.stdin is not None
        run.stdin.write(payload(number, event))
        run.stdin.close()
        try:
            run.wait(rng.uniform(*TIMES[front.name]))
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
        assert_readable(stage)
    done = stage.run("run", "pre-tool-use", stdin=payload(99).decode())
    assert (done.returncode, done.stdout) == (0, "")
    waiting = json.loads(stage.run("questions", "--json").stdout)["questions"]
    assert waiting[-1]["tool_use_id"] == "toolu_99"
    deliver = subprocess.run([*script_argv(), "deliver"], env=stage.environ, check=False, timeout=60)
    assert deliver.returncode == 0


@COLD_ONLY  # its hooks are those of the settings
@pytest.mark.tmux
def test_an_answer_that_is_killed_anywhere_can_be_given_again(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    stage = Stage(str(tmp_path))
    stage.install()
    rng = random.Random(11)
    arguments = ["answer", "--session", "claude", "--json", json.dumps(DECISIONS)]
    client = stage.stand_in({"form": FORM}, tmux_server)
    client.start()
    for number in range(8):
        client.submit("ASK form")
        identifier = wait_until(partial(asked, stage, number), 15, "question document", client.screen)
        killed = subprocess.Popen([*script_argv(), *arguments], env=stage.environ, stdout=subprocess.DEVNULL)
        try:
            killed.wait(rng.uniform(0.05, 1.6))
        except subprocess.TimeoutExpired:
            killed.kill()
            killed.wait()
        assert_readable(stage)
        again = stage.run(*arguments)
        result = json.loads(again.stdout)
        assert again.returncode in (0, 4), result
        record = wait_until(partial(verified, stage, identifier), 15, "verification", client.screen)
        assert record["outcome"] == "verified", record
        assert not stage.documents("question")
        assert not stage.documents("pending-answer")
        client.wait_idle()


def asked(stage: Stage, number: int) -> str | None:
    """Return the id of the question that waits, once it is another one than those answered before."""
    done = {record["tool_use_id"] for record in stage.journal() if record.get("event") == "PostToolUse"}
    waiting = [entry["tool_use_id"] for entry in json.loads(stage.run("questions", "--json").stdout)["questions"]]
    fresh = [identifier for identifier in waiting if identifier not in done]
    return fresh[0] if fresh and len(done) == number else None


def verified(stage: Stage, identifier: str) -> dict[str, Any] | None:
    """Return the journal record of one question's PostToolUse."""
    records = [record for record in stage.journal() if record.get("event") == "PostToolUse"]
    return next((record for record in records if record["tool_use_id"] == identifier), None)
