"""A session that is driven with nobody at the keyboard: wakes, suggestions, and usage limits on the client."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.scripted_model import Say, ScriptedModel, ask, bash, usage_limit
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.queue.documents import ended_items, read_queue
from hookrouter.queue.items import Item
from hookrouter.sessions.limits import reset_time
from hookrouter.sessions.records import SessionRecord, read_record
from hookrouter.storage.engine import open_store
from hookrouter.storage.interface import DocumentStore
from hookrouter.util.clock import seconds
from support.matrix import mostly_long
from support.sample_agents import FORMS, SESSION, readme_config
from support.tested_client import VERSION

pytestmark = pytest.mark.live

STEPS = {"discuss": "discuss-phase", "plan": "plan-phase", "execute": "execute-phase", "verify": "verify-work"}
SCRIPT: dict[str, Any] = {
    "discuss": [
        ask({"questions": FORMS["single"]}),
        Say("Context gathered.\n\nNext: `/clear`, then `/gsd:plan-phase 1`"),
    ],
    "plan": Say("Planned.\n\nNext: `/clear` then `/gsd:execute-phase 1`"),
    "execute": [bash("npm test"), Say("Executed. Then run /gsd:verify-work 1")],
    "verify": Say("All verified: phase 1 is complete."),
}
LONG = 240.0


def program() -> str:
    found = find_client()
    assert found is not None
    return found


class Driven:
    """A logged-in client of a project with GSD's commands."""

    def __init__(self, folder: Path, config: str, *, is_known: bool = True) -> None:
        """``is_known``: the installation finds the client, and so registers also what older ones do not know."""
        self.stage = Stage(str(folder), config)
        if is_known:
            self.stage.variables["PATH"] = os.pathsep.join([os.path.dirname(program()), os.environ["PATH"]])
        self.stage.client_home.log_in()
        # The scripted Claude searches for no tool.
        self.stage.variables["ENABLE_TOOL_SEARCH"] = "false"
        commands = Path(self.stage.client_home.project, ".claude", "commands", "gsd")
        commands.mkdir(parents=True)
        for script, name in STEPS.items():
            (commands / f"{name}.md").write_text(f"RUN {script} for $ARGUMENTS")
        self.stage.record("UserPromptSubmit", "Stop", "StopFailure", "SessionStart", "PermissionRequest")
        self.stage.install()

    def client(self, server: PrivateTmux, model: ScriptedModel) -> ClientSession:
        """Return the client, not yet started; a fresh one would choose auto mode, in which nobody is asked."""
        return self.stage.client(program(), server, model, words=("--permission-mode", "default"), session=SESSION)

    @property
    def store(self) -> DocumentStore:
        return open_store(self.stage.home, lambda text: pytest.fail(text))

    @property
    def record(self) -> SessionRecord | None:
        return read_record(self.store, SESSION)

    def send(self, *texts: str) -> None:
        done = self.stage.run("send", "--session", SESSION, *texts)
        assert done.returncode == 0, done.stdout + done.stderr

    def ended(self) -> list[Item]:
        return [item for _, item in ended_items(self.store)]

    def told(self, outcome: str = "delivered") -> list[str]:
        """Return the kinds of the messages that went out, in their order."""
        found = [
            one for one in self.stage.journal() if one.get("event") == "delivery" and one.get("outcome") == outcome
        ]
        return [str(one["kind"]) for one in found]

    def state(self) -> str:
        return f"{self.record}\n{read_queue(self.store, SESSION)}\n{self.ended()}\n{self.stage.journal()[-5:]}"

    def wait_known(self) -> None:
        wait_until(lambda: self.record is not None, 20, "record of the session", self.state)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(SCRIPT) as found:
        yield found


@pytest.mark.skipif(VERSION < (2, 1, 250), reason="Claude Code 2.1.200 opens a choice at a limit, and waits")
def test_one_send_drives_a_phase_from_discussion_to_verification(
    tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel
) -> None:
    driven = Driven(tmp_path, readme_config("drive"))
    model.limit("execute", 10.0)
    with driven.client(tmux_server, model):
        driven.wait_known()
        driven.send("/gsd:discuss-phase 1")

        def is_verified() -> bool:
            return any(item.text == "/gsd:verify-work 1" and item.state == "done" for item in driven.ended())

        wait_until(is_verified, LONG, "end of the phase", driven.state)
        # The last thing that is told: the agent has nothing to send.
        wait_until(lambda: driven.told().count("queue_done") == 4, 60, "last message", driven.state)
    ended = driven.ended()
    assert [(item.text, item.state) for item in sorted(ended, key=lambda one: one.ended_at)] == [
        ("/gsd:discuss-phase 1", "done"),
        ("/clear", "done"),
        ("/gsd:plan-phase 1", "done"),
        ("/clear", "done"),
        ("/gsd:execute-phase 1", "failed"),
        ("/gsd:execute-phase 1", "done"),
        ("/gsd:verify-work 1", "done"),
    ]
    repeat = next(item for item in ended if item.repeats)
    assert repeat.repeats == next(item.id for item in ended if item.state == "failed")
    # The client went on by itself after the limit, and nothing was typed beside that.
    assert repeat.proof["continued_by"] == "client"
    prompts = [payload["prompt"] for payload in driven.stage.payloads("UserPromptSubmit")]
    assert prompts.count("/gsd:execute-phase 1") == 1
    told = driven.told()
    assert [kind for kind in told if kind != "queue_done"] == ["question", "limited", "question"]
    assert driven.stage.payloads("PermissionRequest")[-1]["tool_name"] == "Bash"
    questions = driven.stage.run("questions", "--json")
    assert '"questions": []' in questions.stdout


@pytest.mark.parametrize("is_known", mostly_long([True, False], True), ids=["with StopFailure", "without StopFailure"])
def test_if_the_client_does_not_go_on_after_a_limit_the_queue_does(
    tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel, is_known: bool
) -> None:
    driven = Driven(tmp_path, '[sessions]\nchannels = ["keys"]\n', is_known=is_known)
    model.limit("plan", 12.0)
    with driven.client(tmux_server, model) as client:
        driven.wait_known()
        driven.send("/gsd:plan-phase 1")
        client.pane.wait_for("Esc to cancel", 30)
        client.pane.press("Escape")
        wait_until(lambda: any(item.state == "done" for item in driven.ended()), 90, "repeat", driven.state)
    items = sorted(driven.ended(), key=lambda one: one.ended_at)
    assert len(items) == 2, driven.state()
    failed, repeat = items
    assert (failed.state, repeat.state, repeat.repeats) == ("failed", "done", failed.id)
    assert repeat.channel == "keys"
    until = seconds(failed.reason.split("holds until ")[1].split(": ")[0])
    started = seconds(repeat.started_at)
    assert until is not None
    assert started is not None
    assert started >= until
    assert [one["prompt"] for one in driven.stage.payloads("UserPromptSubmit")] == ["/gsd:plan-phase 1"] * 2


@pytest.mark.parametrize(
    ("zone", "claim", "days"),
    [
        pytest.param("Europe/Berlin", "five_hour", 0.1, marks=pytest.mark.long),
        ("Asia/Kathmandu", "seven_day", 5.0),
    ],
)
def test_the_end_of_a_limit_is_known_to_the_second_and_by_its_text_to_the_minute(
    tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel, zone: str, claim: str, days: float
) -> None:
    driven = Driven(tmp_path, "")
    driven.stage.variables["TZ"] = zone
    until = int(time.time() + days * 86400)
    with driven.client(tmux_server, model) as client:
        driven.wait_known()
        model.refuse(usage_limit(until, claim))
        client.submit("hello")
        text = driven.stage.wait_payload("StopFailure")["last_assistant_message"]
        wait_until(lambda: driven.record is not None and driven.record.state == "limited", 20, "limit", driven.state)
    record = driven.record
    assert record is not None
    assert seconds(record.limited_until) in (until, reset_time(text, time.time()))
    read = reset_time(text, time.time())
    assert read is not None
    assert 0 < read - until <= 60
