"""hookrouter as a plugin of Claude Code, on the real client: it is called, once, and leaves way to settings.json."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.util.program import script_argv
from support.matrix import mostly_long

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.live

PLUGIN = Path(__file__).parents[2] / "claude-plugin"
FORM = {
    "questions": [
        {
            "question": "Which way should we go?",
            "header": "Way",
            "multiSelect": False,
            "options": [{"label": "Left", "description": ""}, {"label": "Right", "description": ""}],
        }
    ]
}


@pytest.fixture
def path() -> str:
    """Return a PATH on which hookrouter is found, as after pipx."""
    return os.pathsep.join([os.path.dirname(script_argv()[0]), os.environ["PATH"]])


@pytest.fixture
def server(path: str) -> Iterator[PrivateTmux]:
    """Return a tmux server whose programs find hookrouter."""
    with PrivateTmux({"PATH": path}) as server:
        yield server


def records(stage: Stage, event: str) -> list[dict[str, Any]]:
    return [record for record in stage.journal() if record.get("event") == event and "ms" in record]


@pytest.mark.parametrize("installed_too", mostly_long([False, True], True), ids=["plugin", "plugin and settings.json"])
def test_a_question_is_handled_once_and_answered(installed_too: bool, server: PrivateTmux, tmp_path: Path) -> None:
    program = find_client()
    assert program is not None
    stage = Stage(str(tmp_path))
    stage.record("PostToolUse")
    if installed_too:
        stage.install()
    with ScriptedModel({"form": ask(FORM)}) as model:
        environ = {**stage.environ, **stage.client_home.environ(model)}
        del environ["PATH"]
        command = [program, "--plugin-dir", str(PLUGIN)]
        with ClientSession(command, server, stage.client_home, environ, session="work") as client:
            client.submit("please ASK form")
            client.wait_dialog("Which way")
            wait_until(lambda: stage.documents("question"), 15, "the question", client.screen)
            decisions = json.dumps([{"action": "select", "optionIndex": 1}])
            done = stage.run("answer", "--session", "work", "--json", "-", stdin=decisions)
            assert json.loads(done.stdout)["outcome"] == "verified", done.stdout
            response = stage.wait_payload("PostToolUse")["tool_response"]
    assert response["answers"] == {"Which way should we go?": "Right"}
    called = {event: len(records(stage, event)) for event in ("SessionStart", "PreToolUse", "PostToolUse")}
    assert called == {"SessionStart": 1, "PreToolUse": 1, "PostToolUse": 1}
