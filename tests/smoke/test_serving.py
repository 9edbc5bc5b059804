"""What the router serves beside hooks: the page, metrics, the gate. What machines share, and the demo."""

from __future__ import annotations

import html.parser
import json
import os
import subprocess
import urllib.parse
from typing import TYPE_CHECKING

import pytest
import requests

from hookrouter.util.program import script_argv
from support.fleet import Machine, made_engine
from support.gate_client import GateClient
from support.hook_place import BASH
from support.monitor import Monitor
from support.ports import free_port
from support.resident import Resident, eventually
from support.smoke import PATIENCE, SmokeStage, form, question

if TYPE_CHECKING:
    from pathlib import Path

WAY = form(question("Which way?", "Left", "Right"))
GUARD = """
from hookrouter import PreToolUseReply, hookimpl

@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    return PreToolUseReply.deny("not while I watch")
"""


class _Forms(html.parser.HTMLParser):
    """The forms of a page: where each is sent, and its fields with their values."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((fields.get("action", ""), {}))
        elif self.found and fields.get("name") and fields.get("type") != "radio":
            self.found[-1][1][fields["name"]] = fields.get("value", "")


def _send(browser: requests.Session, shown: requests.Response, number: int, **entered: str) -> requests.Response:
    """Send a form of a page, as a browser without scripts does; return the page that comes."""
    action, fields = _Forms(shown.text).found[number]
    address = urllib.parse.urljoin(shown.url, action)
    origin = "http://" + urllib.parse.urlsplit(address).netloc
    answer = browser.post(address, {**fields, **entered}, headers={"Origin": origin}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer


def test_a_person_logs_in_to_the_page_and_answers_there(stage: SmokeStage) -> None:
    stage.configure(f'{stage.agent}\n[page]\naddress = "127.0.0.1:{free_port()}"\n')
    stage.install()
    with Resident(stage.environ), stage.starts({"way": WAY}) as claude, requests.Session() as browser:
        claude.submit("please ASK way")
        stage.hears()
        link = stage.json("open")
        shown = _send(browser, browser.get(link["url"], timeout=PATIENCE), 0)
        assert "Which way?" in shown.text
        for page in ("sessions", "history", "statistics", "health", "logins"):
            assert browser.get(f"{link['base_url']}/{page}", timeout=PATIENCE).status_code == 200
        review = _send(browser, shown, 1, q0="1")
        assert "Right" in review.text
        _send(browser, review, 1)
        stage.turn_ends()
        assert "Which way? → Right" in claude.screen()
    (kept,) = stage.json("history")["questions"]
    assert (kept["outcome"], kept["by"]) == ("verified", "person")


def test_metrics_count_what_hooks_decided_and_probes_say_that_all_is_well(stage: SmokeStage) -> None:
    monitor = Monitor()
    stage.plugin("guard", GUARD)
    stage.configure(f"{stage.agent}\n[page]\nenabled = false\n{monitor.config}")
    stage.install("--front", "python")
    with Resident(stage.environ):
        eventually(monitor.lives)
        (served,) = stage.hooks("PreToolUse", "Bash", {"command": "ls"})
        assert served.decision == "deny"
        metrics = monitor.get("/metrics")
        assert (metrics.status, monitor.get("/readyz").status) == (200, 200)
        assert "PreToolUse" in metrics.text


def test_the_gate_makes_a_call_and_says_how_it_ended(stage: SmokeStage) -> None:
    stage.plugin("guard", GUARD)
    stage.configure(f'{stage.agent}\n[page]\nenabled = false\n[serve]\nhttp = "127.0.0.1:{free_port()}"\n')
    with Resident(stage.environ) as router:
        gate = GateClient(router)
        gate.wait()
        ended = gate.call("one", "pre-tool-use", BASH)
    assert (ended["state"], ended["exit_code"]) == ("done", 0)
    assert json.loads(ended["stdout"])["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_question_of_one_machine_is_answered_from_another(tmp_path: Path) -> None:
    engine = made_engine("shelf", tmp_path, lambda: pytest.fail("no server is wanted"))
    one, two = Machine(tmp_path, "one", engine), Machine(tmp_path, "two", engine)
    try:
        one.ask()
        eventually(lambda: two.machines_of("questions", "questions") == ["one"])
        (entry,) = two.told("questions")["questions"]
        right = json.dumps([{"action": "select", "optionIndex": 1}])
        result = two.told("answer", f"--tool-use-id={entry['tool_use_id']}", right)
        assert (result["outcome"], result["questions"][0]["recorded"]) == ("verified", "Right")
    finally:
        for machine in (one, two):
            machine.stage.configure("")
        for machine in (one, two):
            machine.close()


def test_the_demo_shows_the_loop_without_any_other_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [*script_argv(), "demo"],
        env={**os.environ, "TMPDIR": str(tmp_path), "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dialogs verified" in done.stdout
    assert os.listdir(tmp_path) == []
