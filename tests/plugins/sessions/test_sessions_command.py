"""`hookrouter sessions`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.main import main
from hookrouter.messaging import pauses
from hookrouter.queue.documents import change_queue
from hookrouter.queue.items import STARTED
from hookrouter.terminals import TerminalAddress
from hookrouter.util.clock import iso, now
from support.sessions import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def machine(hookrouter_home: Path) -> Iterator[Machine]:
    found = Machine()
    yield found
    found.close()


@pytest.fixture
def full(machine: Machine, tmp_path: Path) -> Machine:
    """A session of which everything is known."""
    transcript = tmp_path / "t.jsonl"
    message = {"model": "claude-opus-5-5", "usage": {"input_tokens": 150_000}}
    transcript.write_text(json.dumps({"type": "assistant", "message": message, "version": "2.1.330"}))
    machine.record(
        "work",
        machine.client("s-1", "busy"),
        "busy",
        since=iso(now() - 300),
        terminal=TerminalAddress("tmux", "work", "%1", ""),
        cwd="/project/sub",
        transcript_path=str(transcript),
        permission_mode="plan",
        last_message="\n  Phase 3 is \x1b[1mdone\x1b[0m.\nNext: /clear",
        background=("bash: sleep 5",),
    )
    first, _ = machine.put("work", "/gsd:plan-phase 3", "/clear")
    machine.set_state("work", first, STARTED)
    change_queue(machine.store, "work", lambda queue: queue.held("person", "a prompt that is not ours"))
    pauses.begin(machine.store, "work", "lunch")
    return machine


def told(capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert main(["sessions", "--json", *options]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["sessions"]
    return found


def said(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert main(["sessions", *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_no_session(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys) == ["No session is known."]
    assert said(capsys, "--session", "w\x1b") == ["No session w\\x1b is known."]
    assert told(capsys) == []


def test_all_that_is_known(full: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys)
    assert re.fullmatch(r"work  busy, for [\d.]+ min, in /project/sub, agent default", lines[0])
    assert lines[1] == "  claude-opus-5-5, context 15 % (150,000 of 1,000,000 tokens), plan"
    assert lines[2] == "  queue: 2, started: /gsd:plan-phase 3"
    assert lines[3].endswith("(person): a prompt that is not ours")
    assert "session work is paused since" in lines[4]
    assert lines[5:] == ["  in the background: bash: sleep 5", "  Claude: Phase 3 is \\x1b[1mdone\\x1b[0m. …"]
    (entry,) = told(capsys)
    assert (entry["session"], entry["session_id"], entry["state"], entry["waiting_for"]) == (
        "work",
        "s-1",
        "busy",
        None,
    )
    assert entry["context"] == {"tokens": 150_000, "window": 1_000_000, "percent": 15}
    assert (entry["model"], entry["cwd"], entry["agent"]) == ("claude-opus-5-5", "/project/sub", "default")
    assert (entry["queue"]["length"], entry["queue"]["under_way"]["text"]) == (2, "/gsd:plan-phase 3")
    assert (entry["queue"]["hold"]["cause"], entry["paused"]["reason"]) == ("person", "lunch")
    assert (entry["terminal"]["target"], entry["permission_mode"]) == ("%1", "plan")
    assert entry["last_message"] == "Phase 3 is \\x1b[1mdone\\x1b[0m. …"


def test_what_is_not_known_is_not_guessed(machine: Machine, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    machine.client("abcdefgh-1", "waiting", waitingFor="permission prompt", statusUpdatedAt=int((now() - 60) * 1000))
    (line,) = said(capsys)
    assert re.fullmatch(
        r"claude-abcdefgh  waiting for permission prompt, for [\d.]+ \w+, in /project, agent default", line
    )
    (entry,) = told(capsys)
    assert (entry["state"], entry["waiting_for"]) == ("waiting", "permission prompt")
    nothing = ("context", "model", "permission_mode", "terminal", "paused", "last_message", "limited_until")
    assert [entry[key] for key in nothing] == [None] * len(nothing)
    transcript = tmp_path / "t.jsonl"
    message = {"model": "other", "usage": {"input_tokens": 1_500}}
    transcript.write_text(json.dumps({"type": "assistant", "message": message, "version": "2.1.330"}))
    machine.record("work", transcript_path=str(transcript))
    assert said(capsys, "--session", "work")[1] == "  other, context 1,500 tokens"
    assert told(capsys, "--session", "work")[0]["context"] == {"tokens": 1500, "window": None, "percent": None}


def test_a_limit(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    until = iso(now() + 3600)
    machine.record("work", state="limited", limited_until=until, error="rate_limit")
    (entry,) = told(capsys)
    assert (entry["state"], entry["limited_until"], entry["error"]) == ("limited", until, "rate_limit")
    assert said(capsys)[0].startswith("work  limited until ")


def test_an_error(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.record("work", state="stopped", error="server_error")
    assert said(capsys)[0].startswith("work  stopped (server_error), for ")
    # The error of an earlier turn says nothing of this one.
    machine.record("work", state="busy", error="server_error")
    assert told(capsys)[0]["error"] is None


def test_sessions_that_ended_long_ago(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.record("old", state="gone", since=iso(now() - 7200))
    machine.record("new", state="gone")
    assert [entry["session"] for entry in told(capsys)] == ["new"]
    assert [entry["session"] for entry in told(capsys, "--all")] == ["new", "old"]
    assert said(capsys, "--session", "new")[0].startswith("new  gone, for ")


def test_no_control_character_reaches_the_terminal(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.record("w\x1b[2J", cwd="/\x07", last_message="\x9b1m", model="\x1b]0;x", background=("\x1b[3m",))
    machine.put("w\x1b[2J", "a")
    out = "".join(said(capsys))
    assert "\\x1b[2J" in out
    assert out.isprintable()


def test_a_folder_that_cannot_be_read_is_said(hookrouter_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hookrouter_home / "state").write_text("")
    assert main(["sessions"]) == 1
    assert "a file is where a folder should be" in capsys.readouterr().err
