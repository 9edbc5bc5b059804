"""From an empty home to the first verified answer: ``hookrouter init``, the real client, and an agent of rules."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter_demo.scenes import SCENES

pytestmark = pytest.mark.live


def test_from_nothing_to_the_first_verified_answer(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    program = find_client()
    assert program is not None
    stage = Stage(str(tmp_path))
    os.unlink(stage.home.config_file)
    told = tmp_path / "agent.jsonl"
    agent = shlex.join([sys.executable, "-P", "-m", "hookrouter_demo.rule_agent", str(told)])
    (scene, *_) = SCENES
    started = time.monotonic()
    done = stage.run("init", "--yes", "--command", agent, "--format", "json", "--sessions", "work*", timeout=120)
    ready = time.monotonic()
    assert done.returncode == 0, done.stdout + done.stderr

    def history() -> list[dict[str, Any]]:
        """Return the questions whose answer Claude Code has recorded as it was meant."""
        listed = json.loads(stage.run("history", "--json").stdout or "[]")
        entries = listed["questions"] if isinstance(listed, dict) else listed
        return [entry for entry in entries if entry.get("outcome") == "verified"]

    with (
        ScriptedModel({"first": ask({"questions": scene.questions})}) as model,
        stage.client(program, tmux_server, model, session="work-1") as client,
    ):
        client.submit("please ASK first")
        (entry,) = wait_until(history, 60, "the verified answer", client.screen)
    seconds = time.monotonic() - started
    print(f"init took {ready - started:.1f} s, the first verified answer came after {seconds:.1f} s")
    assert entry["session"] == "work-1"
    # The agent notes a message once it has dealt with it, which is after the answer was recorded.
    lines = wait_until(
        lambda: found if len(found := told.read_text().splitlines()) > 1 else None, 30, "the agent's log"
    )
    assert [json.loads(line)["wake"]["kind"] for line in lines] == ["test", "question"]
