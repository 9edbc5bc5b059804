"""What `hookrouter sessions` says of the real client: its state where no hook tells, and its context as it does."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.scripted_model import Say, ScriptedModel, ask, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.sessions.usage import context_used
from support.managed_client import press_until, question
from support.tested_client import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._sandbox.tmux_server import PrivateTmux


pytestmark = [
    pytest.mark.live,
    pytest.mark.tmux,
    pytest.mark.skipif(VERSION < (2, 1, 330), reason="older clients' registries say less"),
]

CONFIG = '[[agents]]\nid = "tester"\nsessions = ["managed*"]\ngateway = "inbox"\n'


class Watched:
    """A client of a managed session on a stage, and what is said of it."""

    def __init__(self, folder: Path, server: PrivateTmux, model: ScriptedModel, *words: str) -> None:
        self.stage = Stage(str(folder), CONFIG)
        self.stage.record("SessionStart", "Stop", "PreToolUse")
        self.status_file = folder / "status.jsonl"
        home = self.stage.client_home
        status = {"type": "command", "command": f"cat >> {self.status_file}; echo >> {self.status_file}"}
        home.write_settings({**home.read_settings(), "statusLine": status})
        self.stage.install()
        self.model = model
        client = find_client()
        assert client is not None
        environ = {**self.stage.environ, **home.environ(model)}
        self.client = ClientSession(
            [client, "--permission-mode", "default", *words], server, home, environ, session="managed"
        )

    def listed(self) -> list[dict[str, Any]]:
        done = self.stage.run("sessions", "--json")
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)["sessions"]
        return found

    def wait_state(self, state: str, waiting_for: str | None = None) -> dict[str, Any]:
        """Wait until the one session is said to be in a state."""

        def is_so() -> dict[str, Any] | None:
            (entry,) = self.listed()
            return entry if (entry["state"], entry["waiting_for"]) == (state, waiting_for) else None

        return wait_until(is_so, 20, f"{state} {waiting_for}", self.told)

    def told(self) -> str:
        return f"{self.client.screen()}\n{self.listed()}"

    def last_status(self) -> dict[str, Any] | None:
        """Return what the client has given to its status line after its newest request; None before one."""
        lines = self.status_file.read_text().splitlines() if self.status_file.exists() else []
        found = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return next((one for one in reversed(found) if one["context_window"]["current_usage"]), None)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def test_its_states(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    watched = Watched(tmp_path, tmux_server, model)
    model.script("way", [ask({"questions": [question("Which way?")]}), Say("on it")])
    model.script("sleep", [bash("python3 -c 'import time; time.sleep(600)'"), Say("slept")])
    with watched.client as client:
        entry = watched.wait_state("idle")
        assert (entry["session"], entry["agent"]) == ("managed", "tester")
        assert os.path.realpath(entry["cwd"]) == os.path.realpath(watched.stage.client_home.project)
        pid = entry["client_pid"]
        client.submit("ASK way")
        client.wait_dialog("Which way?")
        entry = watched.wait_state("waiting", "question")
        assert entry["client_pid"] == pid
        # No hook tells of this: the question's document stays.
        press_until(client, "Escape", lambda: watched.listed()[0]["state"] != "waiting", watched.told)
        watched.wait_state("idle")
        client.submit("RUN sleep")
        client.wait_dialog("time.sleep")
        watched.wait_state("waiting", "permission prompt")
        press_until(client, "Enter", lambda: watched.listed()[0]["state"] != "waiting", watched.told)
        watched.wait_state("busy")
        press_until(client, "Escape", lambda: watched.listed()[0]["state"] != "busy", watched.told)
        watched.wait_state("idle")
        client.submit("/model")
        watched.wait_state("waiting", "dialog open")
        press_until(client, "Escape", lambda: watched.listed()[0]["state"] != "waiting", watched.told)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(one["state"] == "gone" for one in watched.listed()), 20, "its end", watched.told)


@pytest.mark.parametrize("name", ["claude-opus-5-5", "claude-sonnet-4-6", "claude-sonnet-4-6[1m]", "claude-haiku-5-5"])
def test_its_context_is_what_the_client_says(
    tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel, name: str
) -> None:
    watched = Watched(tmp_path, tmux_server, model, "--model", name)
    with watched.client as client:
        client.submit("hello")
        watched.stage.wait_payload("Stop")
        status = wait_until(watched.last_status, 20, "the status line", client.screen)
    told = watched.stage.payloads("SessionStart")[0]["model"]
    used = context_used(status["transcript_path"], told)
    assert used is not None
    window = status["context_window"]
    assert (used.tokens, used.window) == (window["total_input_tokens"], window["context_window_size"])
    assert used.percent == window["used_percentage"]
