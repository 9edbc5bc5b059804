"""``hookrouter questions --watch``, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hookrouter._sandbox.waiting import wait_until
from hookrouter.util.program import script_argv
from support.command_watch import Watch, command_watch

ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth"}


@contextmanager
def watching(ask: Any, *options: str) -> Iterator[Watch]:
    home = ask.environ["HOOKROUTER_HOME"]
    with command_watch("questions", "--watch", *options, environ={**os.environ, "HOOKROUTER_HOME": home}) as watch:
        yield watch


def test_questions_that_open_and_close_are_told_as_json_lines(ask_session: Any) -> None:
    ask_session.ask()
    with watching(ask_session, "--json") as watch:
        first = watch.event(0)
        assert (first["event"], first["session"], first["tool_use_id"]) == ("opened", "main", "toolu_1")
        assert first["questions"][0]["question"] == "Which database?"
        assert "--tool-use-id=toolu_1" in first["command"]
        ask_session.ask(environ={"FAKE_SESSION": "other"}, session_id="s-2", tool_use_id="toolu_2")
        assert (watch.event(1)["event"], watch.event(1)["tool_use_id"]) == ("opened", "toolu_2")
        ask_session.record_answers(ANSWERS)
        closed = watch.event(2)
        assert (closed["event"], closed["tool_use_id"], closed["outcome"], closed["by"]) == (
            "closed",
            "toolu_1",
            "answered_by_person",
            "person",
        )
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(10) == 130
        assert watch.process.stderr is not None
        assert watch.process.stderr.read() == ""
        assert len(watch.lines) == 3


def test_one_session_for_people(ask_session: Any) -> None:
    ask_session.ask(environ={"FAKE_SESSION": "other"}, session_id="s-2", tool_use_id="toolu_2")
    ask_session.ask()
    with watching(ask_session, "--session", "main") as watch:
        assert "opened  main: toolu_1  Which database? | Which features?" in watch.line(0)
        ask_session.hook("session_end", reason="other")
        assert "closed  main: toolu_1" in watch.line(1)
        assert "unanswered" in watch.line(2)
        assert "why: the session ended (other) without an answer" in watch.line(5)
    assert not any("toolu_2" in line for line in watch.lines)


def test_a_question_whose_end_nobody_recorded(ask_session: Any) -> None:
    ask_session.ask()
    with watching(ask_session, "--json") as watch:
        watch.event(0)
        os.unlink(os.path.join(ask_session.home.state, "question-s-1%3Amain%3Atoolu_1.json"))
        assert (watch.event(1)["event"], watch.event(1)["outcome"]) == ("closed", "unknown")


def test_it_begins_in_an_empty_home(ask_session: Any) -> None:
    with watching(ask_session, "--json") as watch:
        wait_until(lambda: os.path.isdir(ask_session.home.state), 20, "the state folder")
        ask_session.ask()
        assert watch.event(0)["tool_use_id"] == "toolu_1"


def test_it_ends_when_nobody_reads(ask_session: Any) -> None:
    ask_session.ask()
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [*script_argv(), "questions", "--watch"],
        env={**os.environ, "HOOKROUTER_HOME": ask_session.environ["HOOKROUTER_HOME"]},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    try:
        assert os.read(reading, 10)
        os.close(reading)
        assert process.wait(10) == 0
        assert process.communicate()[1] == ""
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("change", [b"", b"{"])
def test_a_broken_document_is_passed_over(ask_session: Any, change: bytes) -> None:
    ask_session.ask()
    path = os.path.join(ask_session.home.state, "question-other.json")
    with watching(ask_session, "--json") as watch:
        watch.event(0)
        with open(path, "wb") as file:
            file.write(change)
        ask_session.ask(environ={"FAKE_SESSION": "third"}, session_id="s-2", tool_use_id="toolu_2")
        assert watch.event(1)["tool_use_id"] == "toolu_2"
