"""What was asked while config.toml was broken reaches its agent with whatever of hookrouter runs first afterwards."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.messaging.outbox import Outbox
from hookrouter.util.clock import iso, now
from support.fronts import THROUGH_FRONTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = THROUGH_FRONTS

KEEP = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"
QUESTION = {
    "question": "Which way?",
    "header": "Way",
    "multiSelect": False,
    "options": [{"label": "Left", "description": ""}, {"label": "Right", "description": ""}],
}


QUESTION_CALL = {
    "hook_event_name": "PreToolUse",
    "tool_name": "AskUserQuestion",
    "tool_use_id": "toolu_1",
    "tool_input": {"questions": [QUESTION]},
    "session_id": "s-1",
    "transcript_path": "",
}


@pytest.mark.parametrize("command", [["config", "check"], ["history"], ["run", "Stop"]], ids=" ".join)
def test_a_gateways_table_that_is_corrected_has_its_messages_go_out_at_once(tmp_path: Path, command: list[str]) -> None:
    told = tmp_path / "told"
    argv = json.dumps([sys.executable, "-c", KEEP, str(told)])
    agent = f'[[agents]]\nid = "night"\ngateway = "chat"\n[gateways.chat]\ntype = "command"\nargv = {argv}\n'
    alarm = tmp_path / "alarm"
    person = f'[gateways.phone]\ntype = "command"\nargv = {json.dumps([sys.executable, "-c", KEEP, str(alarm)])}\n'
    broken = f'[answer]\nreminders = 0\nescalate_to = "phone"\n{person}{agent}timeout = "x"\n'
    stage = Stage(str(tmp_path), broken)
    asked = stage.run("run", "PreToolUse", stdin=json.dumps({**QUESTION_CALL, "cwd": str(tmp_path)}))
    assert asked.returncode == 0, asked.stderr
    outbox = Outbox(stage.home, print)

    def reason() -> str:
        return outbox.pending()[0].last_error or ""

    wait_until(alarm.exists, 20, "a message to the person", lambda: json.dumps(stage.journal()[-6:], indent=1))
    wait_until(lambda: "> config.toml: gateways.chat.timeout: " in alarm.read_text(), 5, "the mistake")
    wait_until(lambda: "timeout" in reason(), 20, "a first try", reason)
    message = outbox.pending()[0]
    outbox.change(message.id, lambda _message: {"next_attempt_at": iso(now() + 500)})
    stage.configure(broken.replace('"x"', "5"))
    stop = {"session_id": "s-2", "cwd": str(tmp_path), "transcript_path": "", "hook_event_name": "Stop"}
    done = stage.run(*command, stdin=json.dumps({**stop, "stop_hook_active": False}))
    assert done.returncode == 0, done.stderr
    # A deliverer that stays would look at config.toml itself, but only after half a minute.
    wait_until(told.exists, 10, "the agent's message", lambda: json.dumps(stage.journal()[-6:], indent=1))
    wait_until(lambda: "Which way?" in told.read_text(), 5, "the question")


@pytest.mark.parametrize(
    "command",
    [
        ["config", "check"],
        ["outbox", "list"],
        ["history"],
        ["plugins", "list"],
        ["deliver"],
        ["run", "Stop"],
        ["run", "PreToolUse"],
    ],
    ids=" ".join,
)
def test_whatever_runs_first_brings_the_question_to_its_agent(tmp_path: Path, command: list[str]) -> None:
    told = tmp_path / "told"
    argv = json.dumps([sys.executable, "-c", KEEP, str(told)])
    # No reminder, so that no process stays to send one.
    agent = f'[[agents]]\nid = "night"\ngateway = "chat"\n[gateways.chat]\ntype = "command"\nargv = {argv}\n'
    stage = Stage(str(tmp_path), "[answer]\nremind_aftr = 1\n")
    about = {"session_id": "s-1", "cwd": str(tmp_path), "transcript_path": ""}
    call = {"hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", **about}
    asked = stage.run("run", "PreToolUse", stdin=json.dumps({**call, "tool_input": {"questions": [QUESTION]}}))
    assert asked.returncode == 0, asked.stderr
    assert len(stage.documents("question")) == 1
    # Whoever delivered to the inbox is done.
    wait_until(lambda: stage.run("outbox", "list", "--json").stdout.strip() == "[]", 20, "empty outbox")
    stage.configure("[answer]\nreminders = 0\n" + agent)
    elsewhere = {**about, "session_id": "s-2"}
    payloads = {
        "Stop": {**elsewhere, "hook_event_name": "Stop", "stop_hook_active": False},
        # Nobody listens to this one.
        "PreToolUse": {
            **call,
            **elsewhere,
            "tool_name": "Bash",
            "tool_use_id": "toolu_2",
            "tool_input": {"command": "ls"},
        },
    }
    done = stage.run(*command, stdin=json.dumps(payloads.get(command[-1], {})))
    assert done.returncode == 0, done.stderr
    wait_until(told.exists, 20, "the agent's message", lambda: json.dumps(stage.journal()[-6:], indent=1))
    wait_until(lambda: "Which way?" in told.read_text(), 5, "the question")
