"""The example package hookrouter-rewind on the real client: the list that Escape pressed twice opens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client, prompt_box
from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from support.tested_client import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = [
    pytest.mark.live,
    pytest.mark.tmux,
    pytest.mark.skipif(VERSION < (2, 1, 332), reason="the example knows the list of this version"),
]

PACKAGE = Path(__file__).parents[2] / "examples" / "hookrouter-rewind"
CONFIG = """\
[[agents]]
id = "tester"
sessions = ["managed*"]

[plugins.blocked.settings]
after = 0
"""
FIRST, SECOND = "say one", "say two"


class Left:
    """A session with two prompts in which the list was left open."""

    def __init__(self, folder: Path, server: PrivateTmux, model: ScriptedModel) -> None:
        site = folder / "site"
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "install", *options, "--target", str(site), str(PACKAGE)]
        subprocess.run(command, check=True)
        self.stage = Stage(str(folder), CONFIG)
        self.stage.variables["PYTHONPATH"] = str(site)
        self.stage.variables["TMUX"] = f"{server.socket},0,0"
        self.stage.install()
        program = find_client()
        assert program is not None
        environ = {**self.stage.environ, **self.stage.client_home.environ(model)}
        self.client = ClientSession(
            (program, "--permission-mode", "default"), server, self.stage.client_home, environ, session="managed"
        )
        self.client.start()
        for prompt in (FIRST, SECOND):
            self.client.submit(prompt)
            self.client.wait_idle()
        self.client.pane.press("Escape")
        self.client.pane.press("Escape")
        self.client.pane.wait_for("Restore the code and/or conversation")

    def looked(self) -> list[dict[str, Any]]:
        assert self.stage.run("watch", "--once").returncode == 0
        found: list[dict[str, Any]] = json.loads(self.stage.run("questions", "--json").stdout)["questions"]
        return found

    def answer(self, index: int) -> dict[str, Any]:
        decision = json.dumps([{"action": "select", "optionIndex": index}])
        done = self.stage.run("answer", "--session", "managed", "--json", "--wait", "20", decision)
        assert done.returncode == 0, (done.stdout, done.stderr, self.client.screen())
        result: dict[str, Any] = json.loads(done.stdout)
        return result


@pytest.fixture
def left(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Left]:
    with ScriptedModel() as model:
        one = Left(tmp_path, tmux_server, model)
        wait_until(one.looked, 20, "the list to be seen", one.client.screen)
        yield one


def test_an_agent_goes_back_to_before_a_prompt(left: Left) -> None:
    # Of this list "blocked" says nothing.
    [seen] = left.looked()
    assert (seen["kind"], seen["request"]["prompts"]) == ("rewind", [FIRST, SECOND])
    result = left.answer(0)
    assert (result["outcome"], result["channel"]) == ("verified", "keys")
    screen = left.client.screen()
    box = prompt_box(screen)
    assert box is not None
    assert box.text == FIRST
    assert SECOND not in screen
    assert left.looked() == []


def test_an_agent_closes_the_list(left: Left) -> None:
    assert left.answer(2)["outcome"] == "verified"
    screen = left.client.screen()
    assert "Restore the code" not in screen
    assert SECOND in screen


def test_a_person_closes_the_list(left: Left) -> None:
    left.client.pane.press("Escape")
    left.client.wait_idle()
    wait_until(lambda: left.looked() == [], 20, "the end to be seen", left.client.screen)
    [story] = json.loads(left.stage.run("history", "--json").stdout)["questions"]
    assert (story["kind"], story["outcome"]) == ("rewind", "answered_by_person")
