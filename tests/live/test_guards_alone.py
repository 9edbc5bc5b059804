"""From an empty home to the first refusal: ``hookrouter init --guards``, the README's guard, and the real client."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from support.safety import safety

pytestmark = pytest.mark.live

README = Path(__file__).parents[2] / "README.md"


def test_the_first_guard_of_an_empty_home_refuses(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    program = find_client()
    assert program is not None
    guard = re.search(r"```python\n(# no_force_push\.py.*?)```", README.read_text(), re.DOTALL)
    assert guard is not None
    stage = Stage(str(tmp_path))
    Path(stage.home.config_file).unlink()
    (tmp_path / "no_force_push.py").write_text(guard[1])
    mine = {"permissions": {"allow": ["Bash"], "defaultMode": "default"}}
    stage.client_home.write_settings(mine)
    started = time.monotonic()

    def run(*words: str) -> str:
        done = stage.run(*words, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = ("--settings", stage.client_home.settings_file)
    run("init", "--guards", *where)
    run("plugins", "add", str(tmp_path / "no_force_push.py"))
    (entry,) = json.loads(run("install", "--json", *where))["registered"]
    assert (entry["event"], entry["matcher"], entry["plugins"]) == ("PreToolUse", "Bash", ["no_force_push"])
    assert stage.client_home.read_settings()["permissions"] == mine["permissions"]
    with ScriptedModel() as model:
        model.script("push", bash("git push --for''ce"))
        with stage.client(program, tmux_server, model) as client:
            client.submit("please RUN push")
            (result,) = wait_until(model.tool_results, 60, "what became of the call", client.screen).values()
            seconds = time.monotonic() - started
    print(f"the first refusal came after {seconds:.1f} s")
    with safety("a guard refuses what it is for"):
        assert "People force-push here, not agents." in result
