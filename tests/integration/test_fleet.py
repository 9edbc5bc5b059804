"""Two machines that share an engine: what one asks, the other sees and answers, and only that."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.stage import Stage
from hookrouter.cli.application import Application
from hookrouter.dialogs.answers.identity import login_name
from hookrouter.machines import Machines
from hookrouter.sharing import open_engine
from hookrouter.storage.engine import open_store
from hookrouter.testing import wait_until
from hookrouter_fleet.adopting import Adopting
from hookrouter_fleet.locks import SHARING, is_sharing
from support.fleet import ENGINES, Engine, Machine, at_terminal, made_engine
from support.matrix import mostly_long
from support.postgres import Server, postgres_server

AGENT = """
[[agents]]
id = "boss"
gateway = "tell"
[gateways.tell]
type = "command"
argv = ["{program}"]
"""
RIGHT = json.dumps([{"action": "select", "optionIndex": 1}])


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=mostly_long(ENGINES, "postgresql"))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    return made_engine(request.param, tmp_path, lambda: request.getfixturevalue("postgres"))


@pytest.fixture
def machine(tmp_path: Path, engine: Engine) -> Iterator[Callable[[str], Machine]]:
    made: list[Machine] = []

    def make(name: str, more: str = "") -> Machine:
        made.append(Machine(tmp_path, name, engine, more))
        return made[-1]

    yield make
    for one in made:
        # All at once: each takes a moment to end.
        one.stage.configure("")
    for one in made:
        one.close()


def test_a_question_is_answered_from_another_machine_and_verified(machine: Callable[[str], Machine]) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    (entry,) = two.told("questions")["questions"]
    assert (entry["machine"], entry["questions"][0]["question"]) == ("one", "Which way?")
    result = two.told("answer", f"--tool-use-id={entry['tool_use_id']}", RIGHT)
    assert (result["outcome"], result["questions"][0]["recorded"]) == ("verified", "Right")
    wait_until(lambda: two.machines_of("questions", "questions") == [], 30, "the question's end on the other machine")
    (story,) = two.told("history")["questions"]
    assert (story["machine"], story["outcome"], story["by"]) == ("one", "verified", "agent")
    (story,) = one.told("history")["questions"]
    assert story["outcome"] == "verified"


def test_an_answer_from_another_machine_goes_on_with_the_trace_of_whoever_answers(
    machine: Callable[[str], Machine],
) -> None:
    one, two = machine("one", "[monitor]\ntraces = true\n"), machine("two")
    one.ask()
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    two.stage.variables["TRACEPARENT"] = f"00-{'1' * 32}-{'2' * 16}-01"
    assert two.told("answer", "--any", RIGHT)["outcome"] == "verified"
    (answer,) = [record for record in one.stage.journal() if record.get("event") == "answer"]
    assert answer["traceparent"] == two.stage.variables["TRACEPARENT"]


def test_commands_about_another_machines_question_work_where_they_are_read(
    machine: Callable[[str], Machine], engine: Engine, tmp_path: Path
) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    [row] = two.told("questions")["questions"]
    assert row["by_hand"] == f"hookrouter answer --tool-use-id {row['tool_use_id']} NUMBER"
    assert row["command"] == two.told("questions", "--machine=one")["questions"][0]["command"]
    named = [f"--tool-use-id={row['tool_use_id']}"], [f"--session={row['session']}", "--machine=one"]
    texts = [two.stage.run("questions", *words).stdout for words in named]
    for text in texts:
        assert f"{row['command']} --file -" in text
        assert f"HOOKROUTER_HOME={one.stage.home.root}" not in text
    # Of its own question a machine tells as before.
    assert "--machine" not in one.told("questions")["questions"][0]["command"]
    assert "--machine" not in one.stage.run("questions", *named[1]).stdout
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **engine.variables}

    def shell(line: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], input=given, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    (guidance,) = re.findall(r"`(env [^`]* questions --guidance [^`]*)`", texts[0])
    assert (shell(guidance).returncode, shell(guidance).stdout.strip() != "") == (0, True)
    done = shell(f"{row['command']} --json --file -", RIGHT)
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "verified"), done


def test_words_a_file_and_a_named_machine(machine: Callable[[str], Machine], tmp_path: Path) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    session = two.told("questions")["questions"][0]["session"]
    assert two.told("answer", session, "Righ", "--dry-run")["outcome"] == "planned"
    (tmp_path / "decisions.json").write_text(RIGHT)
    file = f"--file={tmp_path / 'decisions.json'}"
    assert two.told("--machine", "one", "answer", "--any", "--dry-run", file)["outcome"] == "planned"
    assert two.told("answer", "--machine=one", "--any", "--dry-run", "--file", "-", stdin=RIGHT)["outcome"] == "planned"
    refused = two.stage.run("answer", "--machine=one", "--any", "[]")
    assert (refused.returncode, "invalid" in refused.stderr) == (2, True)
    unknown = two.stage.run("answer", "--machine", "ones", "--any", RIGHT)
    assert unknown.returncode == 2
    assert "there is no machine 'ones', did you mean 'one'?; there are: one, two" in unknown.stderr
    assert two.told("answer", session, "Right")["outcome"] == "verified"


def test_what_two_machines_call_alike_is_not_guessed_at(machine: Callable[[str], Machine]) -> None:
    one, two, three = machine("one"), machine("two"), machine("three")
    one.ask()
    two.ask()
    wait_until(lambda: three.machines_of("questions", "questions") == ["one", "two"], 30, "both questions")
    wait_until(lambda: two.machines_of("questions", "questions") == ["one", "two"], 30, "both questions")
    for asker in (two, three):
        refused = asker.stage.run("answer", "--any", RIGHT)
        assert refused.returncode == 4
        assert "several machines match: one, two; say which with --machine NAME" in refused.stderr
    several = three.told("allow", code=4)
    assert several["outcome"] == "not_delivered"
    assert [one["machine"] for one in several["candidates"]] == ["one", "two"]
    # The same name of a session on both.
    for one_of_both in (one, two):
        one_of_both.told("pause", "--machine", one_of_both.name, "--session", "work")
    wait_until(lambda: len(three.told("sessions")["machines"]) == 3, 30, "all machines")

    def refusal() -> str:
        return three.stage.run("resume", "--session", "work").stderr

    wait_until(lambda: "say which with --machine" in refusal(), 30, "both pauses")
    assert three.told("send", "--session", "work", "go on", code=4)["outcome"] == "not_delivered"
    assert "say which with" in three.told("queue", "hold", "--session", "work", code=2)["error"]
    assert "say which with" in three.told("pause", "--session", "work", code=2)["error"]
    # The machine that is named says that there is nothing to allow.
    for words in (["allow", "--machine", "two"], ["--machine=two", "deny", "no"], ["approve", "--machine=two"]):
        assert three.told(*words, code=2)["outcome"] == "invalid"
    assert "there is no machine 'tow'" in three.told("allow", "--machine=tow", code=2)["reason"]
    assert "there is no machine 'tow'" in three.told("pause", "--machine=tow", "--all", code=2)["error"]
    assert two.told("answer", "--machine", "two", "--any", RIGHT)["outcome"] == "verified"
    assert three.told("answer", "--any", RIGHT)["outcome"] == "verified"
    assert [story["outcome"] for story in three.told("history")["questions"]] == ["verified", "verified"]


def test_of_two_answers_at_once_one_counts_and_the_other_is_told(machine: Callable[[str], Machine]) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    left = json.dumps([{"action": "select", "optionIndex": 0}])
    with ThreadPoolExecutor() as pool:
        answers = [pool.submit(who.stage.run, "answer", "--any", what) for who, what in ((one, left), (two, RIGHT))]
    codes = sorted(answer.result().returncode for answer in answers)
    assert codes[0] == 0
    assert codes[1] in (3, 4)
    (story,) = two.told("history")["questions"]
    won = "Left" if answers[0].result().returncode == 0 else "Right"
    assert (story["outcome"], story["questions"][0]["recorded"]) == ("verified", won)


def test_a_prompt_is_sent_to_a_session_of_another_machine(machine: Callable[[str], Machine]) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: "one" in two.machines_of("sessions", "sessions"), 30, "the session on the other machine")
    session = next(row["session"] for row in two.told("sessions")["sessions"])
    two.told("queue", "hold", "--machine", "one", "--session", session)
    sent = two.told("send", "--session", session, "go on")
    assert (sent["outcome"], [item["text"] for item in sent["items"]]) == ("queued", ["go on"])
    (queue,) = one.told("queue", "list")["queues"]
    assert [item["text"] for item in queue["items"]] == ["go on"]


def test_a_session_of_another_machine_is_paused_and_its_queue_changed(machine: Callable[[str], Machine]) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: "one" in two.machines_of("sessions", "sessions"), 30, "the session on the other machine")
    session = two.told("sessions")["sessions"][0]["session"]

    assert two.told("pause", "--session", session, "--reason", "at it")["paused"]["reason"] == "at it"
    assert [pause["session"] for pause in one.told("questions")["paused"]] == [session]
    paused = two.told("answer", "--session", session, RIGHT, code=4)
    assert f"'hookrouter resume --session {session}' ends that" in paused["reason"]
    assert [pause["session"] for pause in two.told("resume", "--session", session)["resumed"]] == [session]
    assert one.told("questions")["paused"] == []

    assert two.told("queue", "hold", "--session", session, "--reason", "red")["hold"]["reason"] == "red"
    first, second, third = two.told("send", "--session", session, "a", "b", "c")["items"]
    wait_until(lambda: len(brought(two)) == 3, 30, "the items on the other machine")
    assert two.told("queue", "show", first["id"])["text"] == "a"
    assert two.told("queue", "edit", first["id"], "A")["edited"]["text"] == "A"
    assert two.told("queue", "move", third["id"], "--before", first["id"])["place"] == 0
    assert two.told("queue", "move", third["id"], "--last")["place"] == 2
    assert two.told("queue", "drop", second["id"], third["id"])["dropped"] == [second["id"], third["id"]]
    assert [item["text"] for item in queue_of(one)["items"]] == ["A"]
    listed = two.told("queue", "list", "--all")
    assert [(row["machine"], row["session"], row["machine_away"]) for row in listed["queues"]] == [
        ("one", session, False)
    ]
    # Dropped in the same second, they stand in the order of their ids.
    assert {(row["machine"], row["id"]) for row in listed["ended"]} == {("one", second["id"]), ("one", third["id"])}
    assert [row["machine"] for row in listed["machines"]] == ["two", "one"]
    assert "Machine one:" in two.stage.run("queue", "list").stdout
    assert two.told("queue", "clear", "--session", session)["dropped"] == [first["id"]]
    assert two.told("queue", "resume", "--session", session)["resumed"]["reason"] == "red"
    assert "there is no item 'f00'" in two.told("queue", "show", "f00", code=2)["error"]


def queue_of(machine: Machine) -> Any:
    (queue,) = machine.told("queue", "list", "--machine", machine.name)["queues"]
    return queue


def brought(machine: Machine) -> list[Any]:
    return [item for queue in machine.told("queue", "list")["queues"] for item in queue["items"]]


@pytest.mark.parametrize("command", ["answer", "allow", "pause", "questions"])
def test_a_machine_that_cannot_be_asked_for_want_of_the_engine_does_nothing(tmp_path: Path, command: str) -> None:
    engine = made_engine("shelf", tmp_path, pytest.fail)
    stage = Stage(str(tmp_path), f'[storage]\nmachine = "two"\n{engine.table}')
    stage.variables |= engine.variables
    words = {"answer": ["--any", RIGHT], "pause": ["--session=work"]}.get(command, [])
    done = stage.run(command, "--machine=one", *words, "--json")
    assert done.returncode == 4
    assert "the machine one could not be asked" in done.stdout
    assert "nothing was done" in done.stdout


def test_a_machine_that_is_not_there_does_nothing_later(machine: Callable[[str], Machine], engine: Engine) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    one.stage.configure("")
    wait_until(lambda: not is_sharing(one.stage.home), 30, "the end of its process")
    gone = two.stage.run("answer", "--any", RIGHT)
    assert (gone.returncode, "the machine one is not there" in gone.stderr) == (4, True)
    told = two.told("answer", "--any", RIGHT, code=4)
    assert (told["outcome"], told["ok"], "nothing was done" in told["reason"]) == ("not_delivered", False, True)
    assert "is not there" in two.told("pause", "--machine=one", "--session=work", code=4)["error"]
    document = two.told("questions")
    assert [("one" in one["machine"], bool(one["problem"])) for one in document["machines"]] == [
        (False, False),
        (True, True),
    ]
    # What it had brought is listed.
    (entry,) = document["questions"]
    assert (entry["machine"], entry["machine_away"]) == ("one", True)
    shown = two.stage.run("questions").stdout
    assert "Machine one:\nno process of hookrouter is at work there" in shown
    assert "Which way?" in shown
    (session,) = two.told("sessions")["sessions"]
    assert (session["machine"], session["machine_away"], session["session"]) == ("one", True, entry["session"])
    assert entry["session"] in two.stage.run("sessions").stdout
    told = two.stage.run("history", "--machine", "one", "--json")
    if "postgresql" in engine.table:
        assert [story["tool_use_id"] for story in json.loads(told.stdout)["questions"]] == [entry["tool_use_id"]]
        assert "Which way?" in two.stage.run("history", "--machine=one").stdout
    else:
        assert (told.returncode, "is not there" in json.loads(told.stdout)["error"]) == (4, True)
    assert [entry["tool_use_id"] for entry in one.told("questions")["questions"]] != []


def test_a_process_that_is_killed_is_replaced_and_nothing_is_lost(machine: Callable[[str], Machine]) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    kill_sharing(one)
    assert two.stage.run("answer", "--any", RIGHT).returncode == 4
    one.stage.run("sessions")
    wait_until(lambda: is_sharing(one.stage.home), 30, "a new process")
    wait_until(lambda: two.stage.run("answer", "--any", RIGHT).returncode == 0, 30, "the answer")


FILE_WORDS = [
    ["send", "--session={session}", "--file={file}"],
    ["send", "--session={session}", "--file", "{file}"],
    ["send", "--session", "--", "--session={session}", "--file={file}"],
    ["answer", "--any", "--file={file}"],
    ["answer", "--expect", "--", "--any", "--file", "{file}"],
    ["queue", "edit", "{item}", "--file={file}"],
]
"""Command lines that would read a file; in some ``--`` is an option's value, and ends no options."""


def test_no_file_of_a_machine_is_read_for_another_and_nothing_runs_for_ever(
    machine: Callable[[str], Machine], engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: "one" in two.machines_of("sessions", "sessions"), 30, "the session on the other machine")
    session = one.told("sessions")["sessions"][0]["session"]
    one.told("queue", "hold", "--session", session)
    (item,) = one.told("send", "--session", session, "go on")["items"]
    (tmp_path / "secret").write_text("secret")
    values = {"session": session, "file": tmp_path / "secret", "item": item["id"]}
    with others_of(two, engine, monkeypatch, tmp_path) as others:
        for words in FILE_WORDS:
            done = others.run("one", [word.format(**values) for word in words])
            reason = "secret: a command for another machine reads none of its files"
            assert (words, done.code, reason in done.stderr) == (words, 2, True)
        for command in ("questions", "sessions"):
            done = others.run("one", [command, "--session", "--", "--watch"])
            assert (done.code, f"{command} --watch: it would never end" in done.stderr) == (2, True)
    for command in ("questions", "sessions"):
        refused = two.stage.run(command, "--watch", "--machine", "one")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"--machine one: --watch: '{command}' would never end on another machine" in refused.stderr
    (queue,) = one.told("queue", "list")["queues"]
    assert [item["text"] for item in queue["items"]] == ["go on"]


@contextmanager
def others_of(machine: Machine, engine: Engine, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Machines]:
    """Give what a machine has of the others, in this process."""
    for name, value in (*engine.variables.items(), ("HOOKROUTER_HOME", machine.stage.home.root)):
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(engine.variables.get("PYTHONPATH", str(folder)))
    others = Application.from_environ(machine.stage.environ, share=False).machines()
    try:
        yield others
    finally:
        others.close()


@pytest.mark.parametrize("words", [["doctor"], ["install"], ["outbox", "list"], ["plugins", "list"]])
def test_no_other_command_is_run_for_another_machine(tmp_path: Path, words: list[str]) -> None:
    done = Stage(str(tmp_path)).run(*words, "--machine", "one")
    assert done.returncode == 2
    assert "No such option" in done.stderr or "unexpected" in done.stderr


def test_without_an_engine_there_is_no_other_machine(tmp_path: Path) -> None:
    stage = Stage(str(tmp_path))
    done = stage.run("answer", "--machine", "one", "--any", RIGHT)
    assert done.returncode == 2
    assert "no machines share an engine here; see [storage] in config.toml" in done.stderr


@pytest.mark.parametrize("engine", ["shelf"], indirect=True)
@pytest.mark.parametrize(
    ("words", "typed"),
    [
        pytest.param(["work", "Right"], [], marks=pytest.mark.long),
        pytest.param(["--machine=one", "--any", RIGHT, "--as=person"], [], marks=pytest.mark.long),
        (["--plain"], ["1", "y"]),
    ],
    ids=["words", "the machine's name", "a dialog"],
)
def test_a_person_at_the_terminal_of_another_machine_is_known_as_one(
    machine: Callable[..., Machine], words: list[str], typed: list[str]
) -> None:
    one, two = machine("one"), machine("two")
    one.ask()
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    session = two.told("questions")["questions"][0]["session"]
    said = at_terminal(two.stage, ["answer", *(session if word == "work" else word for word in words)], typed)
    assert "recorded exactly" in said
    (story,) = one.told("history", "--machine=one")["questions"]
    assert (story["by"], story["who"], story["questions"][0]["recorded"]) == ("person", login_name(), "Right")


def kill_sharing(machine: Machine) -> None:
    """Kill the process that brings a machine's documents."""
    holder = open_store(machine.stage.home, pytest.fail).lock_holder(*SHARING) or ""
    os.kill(int(holder.split()[1].rstrip(",")), signal.SIGKILL)


def test_what_a_machine_had_to_tell_is_told_by_another_when_it_is_gone(
    machine: Callable[..., Machine], engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = machine("one", AGENT.format(program="/bin/false"))
    script = tmp_path / "told"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$HOOKROUTER_WAKE_ID" >> {tmp_path}/ids\ncat >> {tmp_path}/texts\n')
    script.chmod(0o700)
    two = machine("two", AGENT.format(program=script))
    one.ask()
    [message] = one.told("outbox", "list")
    wait_until(lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine")
    kill_sharing(one)
    for name, value in (*engine.variables.items(), ("HOOKROUTER_HOME", two.stage.home.root)):
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(engine.variables.get("PYTHONPATH", str(tmp_path)))
    app = Application.from_environ(two.stage.environ, share=False)
    storage = open_engine(app)
    adopting = Adopting(app, storage, gone_seconds=0)
    try:
        wait_until(lambda: adopting.serve(now=True) == 1, 30, "the lock of the machine that is gone")
        # As after the round that has brought it: now it is this machine's own.
        adopting.serve()
    finally:
        storage.close()
    wait_until((tmp_path / "ids").exists, 30, "the message")
    wait_until(lambda: not two.told("outbox", "list"), 30, "the end of its delivery")
    assert (tmp_path / "ids").read_text().split() == [message["id"]]
    assert "The machine one is not there, so two sends this." in (tmp_path / "texts").read_text()
    assert "Which way?" in (tmp_path / "texts").read_text()
    # Its commands are for where they are read.
    assert f"HOOKROUTER_HOME={two.stage.home.root} " in (tmp_path / "texts").read_text()
    assert f"HOOKROUTER_HOME={one.stage.home.root} " not in (tmp_path / "texts").read_text()
    # Back again, it leaves what was sent for it.
    one.stage.run("sessions")
    wait_until(lambda: not one.told("outbox", "list"), 30, "the message's end")
