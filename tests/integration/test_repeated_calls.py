"""A hook that runs twice for one call, because whoever called it lost the first run, does what one run does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.dialogs import documents
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.documents import Store
from hookrouter.storage.journal import Journal
from hookrouter.util.program import script_argv
from support.fronts import COLD_ONLY, THROUGH_FRONTS
from support.matrix import mostly_long

pytestmark = THROUGH_FRONTS

SESSION = "11111111-2222-4333-8444-555555555555"
OPTIONS = [{"label": label, "description": ""} for label in ("Red", "Green")]
FORM = {"questions": [{"question": "Which?", "header": "Which", "options": OPTIONS, "multiSelect": False}]}

DELETE_VERDICT = "hookrouter.dialogs.opening:delete_verdict"
WRITE_QUESTION = "hookrouter.dialogs.documents:_write_question"
WRITE = "hookrouter.storage.documents:Store.write"
PUT = "hookrouter.messaging.outbox:Outbox.put"
NOTE_END = "hookrouter.dialogs.closing:note_end"
REMOVE = "hookrouter.dialogs.documents:remove"
START_DELIVERY = "hookrouter.context:Context.start_delivery"
REPLY_WRITTEN = "hookrouter.context:Context.reply_written"

POINTS = (DELETE_VERDICT, WRITE_QUESTION, WRITE, PUT, NOTE_END, REMOVE, START_DELIVERY, REPLY_WRITTEN)
"""Where the first run is killed: at each call of these, before it and after it."""

KILLED = """
import importlib, os, signal, sys

point, number, after = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "after"
module, _, path = point.partition(":")
owner = importlib.import_module(module)
*parts, name = path.split(".")
for part in parts:
    owner = getattr(owner, part)
whole, calls = getattr(owner, name), 0

def call(*given, **named):
    global calls
    calls += 1
    if calls == number and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    result = whole(*given, **named)
    if calls == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, name, call)
from hookrouter.__main__ import main
sys.argv = ["hookrouter", *sys.argv[4:]]
sys.exit(main(sys.argv[1:]))
"""


def payload(event: str, tool_use_id: str = "toolu_1", **more: Any) -> bytes:
    fields: dict[str, Any] = {"session_id": SESSION, "transcript_path": "", "cwd": "/tmp", "hook_event_name": event}
    if event != "Stop":
        fields |= {"tool_name": "AskUserQuestion", "tool_input": FORM, "tool_use_id": tool_use_id}
    return json.dumps({**fields, **more}).encode()


ASKED = ("pre-tool-use", payload("PreToolUse"))
RECORDED = ("post-tool-use", payload("PostToolUse", tool_response={**FORM, "answers": {"Which?": "Green"}}))
FAILED = ("post-tool-use-failure", payload("PostToolUseFailure", error="no"))
STOPPED = ("stop", payload("Stop", stop_hook_active=False))


def run(stage: Stage, call: tuple[str, bytes], *before: str) -> int:
    """Run a hook; with ``before``, one that is killed at a point."""
    argv = [sys.executable, "-c", KILLED, *before] if before else script_argv()
    ended = subprocess.run([*argv, "run", call[0]], input=call[1], env=stage.environ, capture_output=True, check=False)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode


@contextmanager
def undelivered(folder: Path) -> Iterator[Stage]:
    """A stage whose messages stay in the outbox, where they can be counted: this process says that it delivers."""
    stage = Stage(str(folder))
    with Outbox(stage.home, pytest.fail).locks.delivering():
        yield stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with undelivered(tmp_path) as stage:
        yield stage


def store_of(stage: Stage) -> Store:
    return Store(stage.home.state, pytest.fail)


def messages(stage: Stage) -> list[tuple[str, str]]:
    return [(one.kind, one.tool_use_id) for one in Outbox(stage.home, pytest.fail).pending()]


def answering(stage: Stage) -> None:
    """Let an answer to the question be on its way: the first option, which is not what will be recorded."""
    [question] = documents.list_questions(store_of(stage))
    decision = {"action": "select", "optionIndex": 0}
    names = question.session, question.session_id, question.tool_use_id
    documents.save_pending(store_of(stage), documents.PendingAnswer(*names, [decision], "keys", 1))


def mismatched(stage: Stage) -> None:
    run(stage, ASKED)
    answering(stage)


def asked(stage: Stage) -> None:
    run(stage, ASKED)


CASES: dict[str, tuple[Callable[[Stage], None], tuple[str, bytes], list[str], str]] = {
    "asked": (lambda _stage: None, ASKED, ["question"], "open"),
    "recorded": (asked, RECORDED, ["question"], "answered_by_person"),
    "mismatch": (mismatched, RECORDED, ["question", "mismatch"], "mismatch"),
    "failed": (asked, FAILED, ["question", "unanswered"], "unanswered"),
    "stopped": (asked, STOPPED, ["question", "unanswered"], "unanswered"),
}


def assert_done_once(stage: Stage, kinds: list[str], outcome: str) -> None:
    store = store_of(stage)
    assert messages(stage) == [(kind, "toolu_1") for kind in kinds]
    assert [one.tool_use_id for one in documents.list_questions(store)] == (["toolu_1"] if outcome == "open" else [])
    assert [one.outcome for one in list_verdicts(store)] == ([] if outcome == "open" else [outcome])
    assert store.entries("pending-answer") == []
    assert len(store.entries("told")) == (outcome == "open")
    assert len(store.entries("question")) == (outcome == "open")


def told(stage: Stage) -> list[str]:
    return [one["outcome"] for one in history(Journal(stage.home.logs), store_of(stage))]


@pytest.mark.parametrize("case", CASES)
def test_a_hook_that_runs_again_after_it_has_ended(stage: Stage, case: str) -> None:
    prepare, call, kinds, outcome = CASES[case]
    prepare(stage)
    run(stage, call)
    run(stage, call)
    assert_done_once(stage, kinds, outcome)
    assert told(stage) == [outcome]


def test_the_journal_says_of_a_question_that_it_was_known(stage: Stage) -> None:
    for _ in range(2):
        run(stage, ASKED)
    records = [record for record in stage.journal() if record.get("event") == "PreToolUse"]
    assert [(record["outcome"], record.get("repeated", False)) for record in records] == [
        ("asked", False),
        ("asked", True),
    ]
    assert records[0]["asked_at"] == records[1]["asked_at"]


@pytest.mark.parametrize("case", CASES)
def test_a_hook_that_runs_again_while_the_first_still_runs(stage: Stage, case: str) -> None:
    prepare, call, kinds, outcome = CASES[case]
    prepare(stage)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: run(stage, call), range(4))) == [0] * 4
    assert_done_once(stage, kinds, outcome)
    assert told(stage) == [outcome]


# What each case calls, so where it can be killed.
CALLED_IN = {
    "asked": {point for point in POINTS if point not in (NOTE_END, REMOVE)},
    "recorded": {WRITE, NOTE_END, REMOVE, REPLY_WRITTEN},
    **dict.fromkeys(("failed", "mismatch", "stopped"), {*POINTS} - {DELETE_VERDICT, WRITE_QUESTION}),
}

KILLED_IN = [(case, point) for case in CASES for point in POINTS if point in CALLED_IN[case]]

MOSTLY_KILLED_IN = mostly_long(
    KILLED_IN,
    # A question that is asked, and the end of one in the most steps, at every point; of the others, where one ends.
    *(
        (case, point)
        for case, point in KILLED_IN
        if case in ("asked", "mismatch") or point in (NOTE_END, REMOVE) or (case, point) == ("stopped", WRITE)
    ),
    several=True,
)


@COLD_ONLY  # each run is killed at a point of the code, so it is a process of the test
@pytest.mark.parametrize(("case", "point"), MOSTLY_KILLED_IN, ids=str)
def test_a_hook_that_runs_again_after_it_was_killed(tmp_path: Path, case: str, point: str) -> None:
    prepare, call, kinds, outcome = CASES[case]
    folder, prepared = tmp_path / "stage", tmp_path / "prepared"
    with undelivered(folder) as stage:
        prepare(stage)
    shutil.copytree(folder, prepared)
    for when in ("before", "after"):
        for number in range(1, 20):
            shutil.rmtree(folder)
            shutil.copytree(prepared, folder)
            with undelivered(folder) as stage:
                if run(stage, call, point, str(number), when) == 0:
                    assert number > 1, f"{case} never calls {point}: it was not killed"
                    break
                run(stage, call)
                assert_done_once(stage, kinds, outcome)
        else:
            pytest.fail(f"{point} is called without end")


def test_two_calls_that_ask_the_same_are_two(stage: Stage) -> None:
    for tool_use_id in ("toolu_1", "toolu_2"):
        run(stage, ("pre-tool-use", payload("PreToolUse", tool_use_id)))
    assert messages(stage) == [("question", "toolu_1"), ("question", "toolu_2")]


def test_a_wait_whose_hook_was_killed_is_taken_up_by_the_next_run(stage: Stage) -> None:
    run(stage, ASKED)
    request = json.loads(payload("PermissionRequest"))
    del request["tool_use_id"]
    store = store_of(stage)

    def begin() -> subprocess.Popen[bytes]:
        former = {str(document["token"]) for _, document in store.entries("reply-waiting")}
        process = subprocess.Popen(
            [*script_argv(), "run", "permission-request"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=stage.environ,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(request).encode())
        process.stdin.close()
        process.stdin = None
        wait_until(
            lambda: any(document["token"] not in former for _, document in store.entries("reply-waiting")),
            20,
            "waiting hook",
        )
        return process

    first = begin()
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    second = begin()
    [(_, waiting)] = store.entries("reply-waiting")
    assert not waiting.get("disputed")
    decisions = json.dumps([{"action": "select", "optionIndex": 1}])
    answer = stage.run("answer", "claude-11111111", decisions, "--wait", "1")
    reply = json.loads(second.communicate(timeout=20)[0])
    decision = reply["hookSpecificOutput"]["decision"]
    assert decision["updatedInput"]["answers"] == {"Which?": "Green"}, answer
    assert messages(stage) == [("question", "toolu_1")]
