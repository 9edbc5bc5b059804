"""The driving agent of ``examples/agents``: what it decides on the messages that hookrouter sends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hookrouter.dialogs.documents import Dialog
from hookrouter.dialogs.messages.data import open_data
from hookrouter.dialogs.messages.formatting import Surroundings
from hookrouter.queue.documents import Queue
from hookrouter.queue.messages.data import News, session_data
from hookrouter.queue.suggestions import suggested_commands
from hookrouter.sessions.limits import LIMIT, Failure
from hookrouter.sessions.records import SessionRecord
from hookrouter.util.clock import iso
from support.sample_agents import FOLDER, FORMS, load, right

RECORDER = """\
import json, sys
with open({log!r}, "a") as file:
    file.write(json.dumps([sys.argv[1:], sys.stdin.read()]) + chr(10))
sys.exit({code})
"""


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return load("drive")


class Agent:
    """The program, with something in the place of hookrouter that notes how it is called."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "calls.jsonl"
        self.program = folder / "recorder.py"
        self.argv = [sys.executable, str(self.program)]
        self.exit_with(0)

    def exit_with(self, code: int) -> None:
        self.program.write_text(RECORDER.format(log=str(self.log), code=code))

    def gets(self, kind: str, data: dict[str, Any]) -> int:
        """Send it a message; return its exit code."""
        self.log.unlink(missing_ok=True)
        message = json.dumps({"kind": kind, "data": data})
        done = subprocess.run(
            [sys.executable, str(FOLDER / "drive.py")], input=message, text=True, capture_output=True, check=False
        )
        assert "Traceback" not in done.stderr
        return done.returncode

    def calls(self) -> list[list[Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def session(self, kind: str, message: str, percent: int | None = None, **news: Any) -> dict[str, Any]:
        """Return the data of a message about a session, as it goes out."""
        record = SessionRecord("work-1", "s-1", "idle", iso(), last_message=message)
        queue = news.pop("queue", Queue("work-1"))
        data = session_data(kind, "night", record, queue, News(**news), self.argv, {}, to_person=False)
        data["suggestions"] = [one._asdict() for one in suggested_commands(message)]
        if percent is not None:
            data["context"]["used"] = {"tokens": 10, "window": 100, "percent": percent}
        return data


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


@pytest.mark.parametrize(
    ("message", "percent", "sent"),
    [
        ("Next: `/clear`, then `/gsd:plan-phase 1`", None, ["/clear", "/gsd:plan-phase 1"]),
        ("Then run /gsd:verify-work 1.2", 10, ["/gsd:verify-work 1.2"]),
        ("Then run /gsd:verify-work 1", 75, ["/clear", "/gsd:verify-work 1"]),
        ("Next: `/clear`, then `/gsd:plan-phase 1`", 75, ["/clear", "/gsd:plan-phase 1"]),
    ],
)
def test_it_sends_what_the_plan_holds(agent: Agent, message: str, percent: int | None, sent: list[str]) -> None:
    assert agent.gets("queue_done", agent.session("queue_done", message, percent)) == os.EX_OK
    assert agent.calls() == [[["send", "--session=work-1", "--as=agent", "--json", "--", *sent], ""]]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Phase 1 is complete.", os.EX_OK),
        ("I do not know how to go on.", os.EX_DATAERR),
        ("Run `/gsd:plan-phase 1`, then `/deploy production`", os.EX_DATAERR),
        ("Run `/gsd:plan-phase 1; rm -rf /`", os.EX_DATAERR),
        ("Run `/clear everything`", os.EX_DATAERR),
    ],
)
def test_it_sends_nothing_that_the_plan_does_not_hold(agent: Agent, message: str, code: int) -> None:
    assert agent.gets("turn_ended", agent.session("turn_ended", message)) == code
    assert agent.calls() == []


def test_it_tries_again_what_could_not_be_sent(agent: Agent) -> None:
    agent.exit_with(2)
    data = agent.session("queue_done", "then `/gsd:plan-phase 1`")
    assert agent.gets("queue_done", data) == os.EX_TEMPFAIL


def test_it_waits_for_the_end_of_a_limit_and_hands_on_what_no_waiting_helps(agent: Agent) -> None:
    limit = Failure("rate_limit", "You've hit your 5-hour limit", LIMIT, 0.0)
    waits = agent.session("limited", "x", failure=limit, until=iso())
    assert agent.gets("limited", waits) == os.EX_OK
    assert agent.gets("limited", agent.session("limited", "x", failure=limit)) == os.EX_DATAERR
    assert agent.gets("failed", agent.session("failed", "x", failure=limit)) == os.EX_DATAERR
    held = agent.session("queue_held", "x", queue=Queue("work-1").held("person", "typed"))
    assert agent.gets("queue_held", held) == os.EX_DATAERR
    assert agent.gets("test", {}) == os.EX_OK
    assert agent.gets("session_ended", agent.session("session_ended", "x")) == os.EX_DATAERR
    assert agent.calls() == []


def asked(agent: Agent, questions: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    question = Dialog("work-1", "s-1", "toolu_1", questions, None, "night", "drive")._replace(**fields)
    return open_data("question", question, agent.argv, {}, Surroundings(), to_person=False)


def test_it_answers_questions_by_rules_and_leaves_others(agent: Agent) -> None:
    assert agent.gets("question", asked(agent, FORMS["single"])) == os.EX_OK
    ((words, given),) = agent.calls()
    assert json.loads(given) == right("single")
    assert words[0] == "answer"
    assert agent.gets("question", asked(agent, FORMS["dangerous"])) == os.EX_DATAERR
    assert agent.calls() == []


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("npm test", True),
        ("git status", True),
        ("python -m pytest tests/unit -x", True),
        ("git push", False),
        ("npm test; rm -rf .", False),
        ("npm test && curl x", False),
        ("ls\nrm x", False),
        ("git diff > x", False),
        ("", False),
    ],
)
def test_it_allows_harmless_commands_alone(drive: ModuleType, agent: Agent, command: str, allowed: bool) -> None:
    data = asked(agent, [], kind="permission", request={"tool": "Bash", "input": {"command": command}})
    assert drive.decision(data) == ([{"action": "allow"}] if allowed else None)
    assert drive.decision({**data, "dialog": "plan"}) is None
