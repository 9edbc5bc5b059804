"""The reply channel on the real client: a hook waits beside the dialog, and gives the agent's answer without a key."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.dialogs.transcript import DECLINED, question_state
from support.matrix import mostly_long
from support.safety import safety

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.live

sharing = pytest.mark.xdist_group("replying")
"""Of those tests that share a client."""

# The class is in conftest.py, which cannot be imported from here.
Live = Any

REPLY = '[answer]\nchannels = ["reply"]\n'


def question(text: str, *labels: str, multi: bool = False, preview: bool = False) -> dict[str, Any]:
    options = [
        {"label": label, "description": f"about {label}"} | ({"preview": f"[{label}]"} if preview else {})
        for label in labels
    ]
    return {"question": text, "header": text.split()[0][:12], "multiSelect": multi, "options": options}


WAY = question("Which way should we go?", "Left, then right", "Straight on", "Back")
AREAS = question("What areas does it touch?", "Driver, path", 'Say "hi"', "Retry", multi=True)
LAYOUT = question("How should it look?", "Sidebar", "Topbar", preview=True)
NAME = question("What is it called?", "One", "Two")


def pick(index: int, **more: str) -> dict[str, Any]:
    return {"action": "select", "optionIndex": index, **more}


def tick(*indices: int, **more: str) -> dict[str, Any]:
    return {"action": "multi-select", "selectedIndices": list(indices), **more}


def say(text: str, action: str = "type") -> dict[str, Any]:
    return {"action": action, "text": text}


def waits(stage: Stage) -> bool:
    """Whether a hook waits beside a dialog."""
    return len(stage.documents("reply-waiting")) == 1


def ended(stage: Stage, outcome: str, count: int) -> None:
    """Wait until so many waiting hooks have ended in this way."""

    def probe() -> bool:
        records = [record for record in stage.journal() if record.get("event") == "PermissionRequest"]
        return sum(record.get("outcome") == outcome for record in records) == count

    wait_until(probe, 15, f"{count} hooks that ended with {outcome!r}", lambda: str(stage.journal()[-6:]))
    assert stage.documents("reply-waiting") == stage.documents("reply-answer") == []


def ended_so_far(stage: Stage, outcome: str) -> int:
    return sum(record.get("outcome") == outcome for record in stage.journal() if record["event"] == "PermissionRequest")


def asked(live: Live, *questions: dict[str, Any]) -> str:
    """Have Claude ask, and wait until the dialog is open and a hook waits beside it."""
    identifier: str = live.ask(*questions)
    wait_until(lambda: waits(live.stage), 10, "waiting hook")
    return identifier


def idle(live: Live) -> None:
    live.client.wait_idle()
    assert live.typed_in_prompt() == ""
    assert live.stage.documents("question") == live.stage.documents("pending-answer") == []


KINDS: list[tuple[Any, ...]] = [
    ((WAY,), (pick(0),), ("Left, then right",), {}),
    ((WAY,), (say("None of them;\n\tsee '3' \\ below"),), ("None of them;\n\tsee '3' \\ below",), {}),
    ((AREAS,), (tick(0, 2),), ('"Driver, path", Retry',), {}),
    ((AREAS,), (tick(1, text="and, more"),), ('"Say \\"hi\\"", "and, more"',), {}),
    ((LAYOUT,), (pick(1, notes="wide enough?"),), ("Topbar",), {"How should it look?": "wide enough?"}),
    (
        (WAY, AREAS, LAYOUT, NAME),
        (pick(2), tick(0), pick(0), say("日本語 👍")),
        ("Back", '"Driver, path"', "Sidebar", "日本語 👍"),
        {},
    ),
]


@sharing
@pytest.mark.parametrize(
    ("form", "decisions", "answers", "notes"),
    mostly_long(KINDS, KINDS[2], KINDS[-1], several=True),
    ids=["single", "typed", "multi", "multi and text", "preview and note", "four questions"],
)
def test_every_kind_of_question_is_answered_without_a_key(
    replying: Live,
    form: tuple[dict[str, Any], ...],
    decisions: tuple[dict[str, Any], ...],
    answers: tuple[str, ...],
    notes: dict[str, str],
) -> None:
    tool_use_id = asked(replying, *form)

    done = replying.answer(*decisions)

    result = json.loads(done.stdout)
    assert (done.returncode, result["outcome"], result["channel"]) == (0, "verified", "reply"), result
    response = replying.recorded(tool_use_id)
    kept = {text: entry["notes"] for text, entry in response.get("annotations", {}).items() if entry.get("notes")}
    with safety("an answer that is told as right is the one that was meant"):
        assert response["answers"] == dict(zip([entry["question"] for entry in form], answers, strict=True))
        assert kept == notes
    assert all(answer in replying.model.wait_for_result(tool_use_id) for answer in answers)
    idle(replying)


@sharing
def test_the_model_reads_the_words_of_a_chat_and_goes_on(replying: Live) -> None:
    tool_use_id = asked(replying, WAY, NAME)
    chats = ended_so_far(replying.stage, "chat")

    done = replying.answer(pick(1), say("What about going\nup?", "chat"))

    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "chat"), done.stdout
    told = replying.model.wait_for_result(tool_use_id)
    assert "What about going\nup?" in told
    assert "Straight on" in told
    ended(replying.stage, "chat", chats + 1)
    idle(replying)
    assert replying.wakes("unanswered") == []


@sharing
def test_a_person_answers_first_and_the_hook_goes_away(replying: Live) -> None:
    tool_use_id = asked(replying, WAY)
    over = ended_so_far(replying.stage, "not needed")

    replying.press_until("2")

    assert replying.recorded(tool_use_id)["answers"] == {WAY["question"]: "Straight on"}
    assert replying.outcome(tool_use_id)["outcome"] == "answered_by_person"
    ended(replying.stage, "not needed", over + 1)
    assert replying.answer(pick(0)).returncode == 4
    idle(replying)


@sharing
def test_escape_ends_the_hook_and_the_question(replying: Live) -> None:
    tool_use_id = asked(replying, WAY)

    replying.press_until("Escape")
    replying.client.wait_idle()
    # The prompt box is there before the client has written the end down.
    transcript = replying.stage.payloads("PermissionRequest")[-1]["transcript_path"]
    wait_until(lambda: question_state(transcript, tool_use_id) == DECLINED, 15, "the end in the transcript")

    done = replying.answer(pick(0))
    result = json.loads(done.stdout)
    assert (done.returncode, result["outcome"]) == (4, "unanswered"), result
    assert [entry for entry in replying.stage.payloads("PostToolUse") if entry["tool_use_id"] == tool_use_id] == []
    # The killed hook's note is no hook that waits: the next question gets one of its own.
    again = asked(replying, WAY)
    assert replying.answer(pick(2)).returncode == 0
    assert replying.recorded(again)["answers"] == {WAY["question"]: "Back"}
    idle(replying)


@sharing
def test_keys_answer_while_a_hook_waits(replying: Live) -> None:
    tool_use_id = asked(replying, WAY)
    over = ended_so_far(replying.stage, "not needed")

    done = replying.answer(pick(1), options=("--channel", "keys"))

    assert (done.returncode, json.loads(done.stdout)["channel"]) == (0, "keys")
    assert replying.recorded(tool_use_id)["answers"] == {WAY["question"]: "Straight on"}
    ended(replying.stage, "not needed", over + 1)
    idle(replying)


@sharing
def test_a_chat_by_keys_ends_the_hook_as_well(replying: Live) -> None:
    asked(replying, WAY)

    done = replying.answer(say("Let us talk.", "chat"), options=("--channel", "keys"))

    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "chat"), done.stdout
    wait_until(lambda: replying.stage.documents("reply-waiting") == [], 15, "end of the waiting hook")
    idle(replying)


def test_a_hook_that_has_waited_long_enough_leaves_the_question_to_the_keys(impatient: Live) -> None:
    tool_use_id = impatient.ask(WAY)
    ended(impatient.stage, "stepped aside", 1)
    before = impatient.client.screen()
    assert WAY["question"] in before

    done = impatient.answer(pick(1))

    assert (done.returncode, json.loads(done.stdout)["channel"]) == (0, "keys")
    assert impatient.recorded(tool_use_id)["answers"] == {WAY["question"]: "Straight on"}


def test_the_hook_ends_with_a_killed_client(impatient: Live) -> None:
    impatient.stage.configure(REPLY)
    asked(impatient, WAY)
    name = impatient.stage.documents("reply-waiting")[0]
    with open(os.path.join(impatient.stage.home.state, name), encoding="utf-8") as file:
        waiting = json.load(file)

    if not waiting["client_pid"]:
        pytest.skip("this client does not say its process id, and its hooks' parent is a shell")
    impatient.server.run("kill-server")

    def gone() -> bool:
        try:
            os.kill(waiting["pid"], 0)
        except ProcessLookupError:
            return True
        return False

    wait_until(gone, 20, "end of the waiting hook")


@pytest.mark.parametrize("mode", ["default", "plan", "acceptEdits", "auto", "bypassPermissions"])
def test_in_every_permission_mode(tmp_path: Path, tmux_server: PrivateTmux, mode: str) -> None:
    stage = Stage(str(tmp_path), REPLY)
    stage.record("PreToolUse", "PostToolUse", "Stop")
    stage.install()
    stage.client_home.accept_modes()
    program = find_client()
    assert program is not None
    with ScriptedModel() as model:
        model.script("turn", [ask({"questions": [WAY]})])
        environ = {**stage.environ, **stage.client_home.environ(model)}
        command = [program, "--permission-mode", mode]
        with ClientSession(command, tmux_server, stage.client_home, environ, session="m") as client:
            client.submit("please ASK turn")
            client.wait_dialog(WAY["question"])
            assert stage.wait_payload("PreToolUse")["permission_mode"] == mode
            wait_until(lambda: waits(stage), 10, "waiting hook")

            done = stage.run("answer", "--session", "m", "--json", json.dumps([pick(1)]))

            assert json.loads(done.stdout)["outcome"] == "verified", done.stdout
            assert stage.wait_payload("PostToolUse")["tool_response"]["answers"] == {WAY["question"]: "Straight on"}


@contextmanager
def on_a_plain_terminal(command: list[str], environ: dict[str, str], folder: str) -> Iterator[int]:
    """Run a program on a terminal that no multiplexer draws, and yield the terminal's descriptor."""
    own, its = pty.openpty()
    process = subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, env=environ, cwd=folder, start_new_session=True, close_fds=True
    )
    os.close(its)
    over = threading.Event()

    def drain() -> None:
        # A program whose output nobody reads stands still.
        while not over.is_set():
            if select.select([own], [], [], 0.1)[0]:
                try:
                    os.read(own, 1 << 16)
                except OSError:
                    return

    reader = threading.Thread(target=drain)
    reader.start()
    try:
        yield own
    finally:
        process.kill()
        process.wait()
        over.set()
        reader.join()
        os.close(own)


def test_outside_tmux(tmp_path: Path) -> None:
    stage = Stage(str(tmp_path))
    stage.configure('[answer]\nchannels = ["reply", "keys"]\n')
    stage.record("SessionStart", "PreToolUse", "PostToolUse", "Stop")
    stage.install()
    program = find_client()
    assert program is not None
    with ScriptedModel() as model:
        model.script("turn", [ask({"questions": [WAY]})])
        environ = {**stage.environ, **stage.client_home.environ(model), "TERM": "xterm-256color"}
        with on_a_plain_terminal([program, "please ASK turn"], environ, stage.client_home.project):
            payload = stage.wait_payload("PreToolUse", timeout=45)
            session = f"claude-{payload['session_id'][:8]}"
            wait_until(lambda: waits(stage), 10, "waiting hook")
            listed = json.loads(stage.run("questions", "--json").stdout)["questions"]
            assert [entry["session"] for entry in listed] == [session]

            done = stage.run("answer", "--session", session, "--json", json.dumps([pick(0)]))

            result = json.loads(done.stdout)
            assert (result["outcome"], result["channel"]) == ("verified", "reply"), result
            assert stage.wait_payload("PostToolUse")["tool_response"]["answers"] == {
                WAY["question"]: "Left, then right"
            }


@pytest.mark.parametrize("chat", [False, True], ids=["answer", "chat"])
def test_without_any_terminal(tmp_path: Path, chat: bool) -> None:
    stage = Stage(str(tmp_path), f"{REPLY}[plugins.hook-reply.settings]\nheadless = true\n")
    stage.record("PreToolUse", "PostToolUse")
    stage.install()
    program = find_client()
    assert program is not None
    with ScriptedModel() as model:
        model.script("turn", [ask({"questions": [WAY, AREAS]})])
        command = [program, "-p", "please ASK turn", "--permission-prompt-tool", "mcp__none__none"]
        process = subprocess.Popen(
            command,
            env={**stage.environ, **stage.client_home.environ(model)},
            cwd=stage.client_home.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
        )
        try:
            payload = stage.wait_payload("PreToolUse", timeout=45)
            wait_until(lambda: waits(stage), 10, "waiting hook")
            session = f"claude-{payload['session_id'][:8]}"
            decisions = [say("First tell me more.", "chat")] if chat else [pick(2), tick(0, 1)]

            done = stage.run("answer", "--session", session, "--json", json.dumps(decisions))

            result = json.loads(done.stdout)
            assert (done.returncode, result["outcome"]) == (0, "chat" if chat else "verified"), result
            told = model.wait_for_result(payload["tool_use_id"])
            assert ("First tell me more." if chat else "Driver, path") in told
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.communicate()
