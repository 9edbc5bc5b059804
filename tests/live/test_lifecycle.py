"""How a question's life can end on the real client without an answer: its documents go, the agent hears of it once."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.waiting import wait_until
from support.tested_client import kill_client

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("lifecycle")]  # most share a client

# The class is in conftest.py, which cannot be imported from here.
Live = Any

WAY = {
    "question": "Which way should we go?",
    "header": "Way",
    "multiSelect": False,
    "options": [{"label": label, "description": f"about {label}"} for label in ("Left", "Straight on", "Back")],
}
AREAS = {**WAY, "question": "Which areas?", "header": "Areas", "multiSelect": True}

"""The digit of the row "Chat about this" behind three options and the row for text."""


def told_once(live: Live, tool_use_id: str) -> None:
    """Wait for the one message about a question's end, and see that its documents are gone."""
    live.wait_wake("unanswered", tool_use_id)
    wait_until(
        lambda: not live.stage.documents("question"), 10, "end of the question", lambda: str(live.stage.journal())
    )
    assert live.stage.documents("pending-answer") == []
    about = [wake for wake in live.wakes("unanswered") if wake["tool_use_id"] == tool_use_id]
    assert len(about) == 1
    assert live.wakes("warning") == live.wakes("mismatch") == []


def story(live: Live, tool_use_id: str) -> dict[str, Any]:
    """Return what ``hookrouter history`` tells of one question."""
    done = live.stage.run("history", "--limit", "0", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = [entry for entry in json.loads(done.stdout)["questions"] if entry["tool_use_id"] == tool_use_id]
    assert isinstance(found, dict)
    return found


def go_on(live: Live) -> None:
    live.client.wait_idle()
    live.client.submit("go on without an answer")
    live.client.wait_idle()


def test_escape(replying: Live) -> None:
    asked = replying.ask(WAY)
    replying.press_until("Escape")
    go_on(replying)
    told_once(replying, asked)
    found = story(replying, asked)
    assert (found["outcome"], found["by"], found["verified"]) == ("unanswered", "nobody", None)
    assert found["reason"] == "the dialog was closed without an answer"


def test_a_person_chats(replying: Live) -> None:
    asked = replying.ask(WAY)
    # The row's number is not a key of clients before 2.1.200.
    replying.press_until("Down", lambda: "❯ 5. Chat" in replying.client.screen())
    replying.press_until("Enter")
    assert "clarify" in replying.model.wait_for_result(asked)
    told_once(replying, asked)
    found = story(replying, asked)
    assert (found["outcome"], found["by"]) == ("chat", "person")
    replying.client.wait_idle()


def test_cancelled_on_the_review_screen(replying: Live) -> None:
    asked = replying.ask(AREAS, WAY)
    replying.press_until("1", lambda: "[✔] Left" in replying.client.screen())
    replying.client.pane.press("Tab")
    replying.client.pane.wait_for(WAY["question"])
    replying.press_until("1", lambda: "Review your answers" in replying.client.screen())
    replying.press_until("2")
    go_on(replying)
    told_once(replying, asked)
    assert story(replying, asked)["outcome"] == "unanswered"


def test_clear(replying: Live) -> None:
    asked = replying.ask(WAY)
    replying.press_until("Escape")
    replying.client.wait_idle()
    replying.client.submit("/clear")
    told_once(replying, asked)
    replying.client.wait_idle()


def test_a_pause(replying: Live) -> None:
    """During a pause the person is on their own; afterwards the agent hears of what is still open, and answers."""
    paused = replying.stage.run("pause", "--session", "managed", "--reason", "I am here", "--json")
    assert json.loads(paused.stdout)["paused"]["reason"] == "I am here", paused.stderr
    asked = replying.ask(WAY)
    refused = json.loads(replying.answer({"action": "select", "optionIndex": 0}).stdout)
    assert (refused["outcome"], refused["exit_code"]) == ("paused", 4), refused
    assert not [wake for wake in replying.wakes("question") if wake["tool_use_id"] == asked]
    resumed = json.loads(replying.stage.run("resume", "--session", "managed", "--json").stdout)
    assert [entry["tool_use_id"] for entry in resumed["missed"]] == [asked]
    replying.wait_wake("question", asked)
    done = replying.answer({"action": "select", "optionIndex": 2})
    assert done.returncode == 0, f"{done.stdout} {done.stderr}\n{replying.client.screen()}"
    found = story(replying, asked)
    assert (found["outcome"], found["by"], found["channel"], found["missed"]) == ("verified", "agent", "reply", True)
    assert found["questions"][0]["recorded"] == "Back"
    replying.client.wait_idle()


def test_a_chat_followed_at_once_by_another_question(replying: Live) -> None:
    """By keys the text is typed as a prompt, and the next dialog may open before the channel has seen it taken."""
    replying.start_turn([WAY], [AREAS])
    first = replying.asked(1, WAY["question"])
    done = replying.answer({"action": "chat", "text": "ask me about the areas"}, options=("--channel", "keys"))
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "chat"), f"{done.stdout} {done.stderr}"
    found = story(replying, first)
    assert (found["outcome"], found["by"], found["chat"]) == ("chat", "agent", "ask me about the areas")
    second = replying.asked(2, AREAS["question"])
    replying.press_until("Escape")
    go_on(replying)
    told_once(replying, second)


def test_a_killed_client_and_the_one_that_takes_its_session_up_again(replying: Live) -> None:
    asked = replying.ask(WAY)
    (name,) = replying.stage.documents("question")
    with open(os.path.join(replying.stage.home.state, name), encoding="utf-8") as file:
        question = json.load(file)
    kill_client(question["client_pid"])
    wait_until(replying.client.pane.dead, 10, "end of the client")
    replying.client.stop()
    program = find_client()
    assert program is not None
    environ = {**replying.stage.environ, **replying.stage.client_home.environ(replying.model)}
    command = [program, "--resume", question["session_id"]]
    client = ClientSession(command, replying.server, replying.stage.client_home, environ, session="managed")
    client.start()
    replying.client = client
    told_once(replying, asked)
    # Whatever looks first: the session's start, or a deliverer that begins meanwhile.
    reason = story(replying, asked)["reason"]
    assert "(resume)" in reason or reason == "the client that asked has ended without an answer"
    again = replying.ask(WAY)
    assert replying.answer({"action": "select", "optionIndex": 1}).returncode == 0
    assert replying.recorded(again)["answers"] == {WAY["question"]: "Straight on"}


SPOIL = """
import json, sys
said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"answers": "none"}}
print(json.dumps({"hookSpecificOutput": said}))
"""


def test_a_question_that_another_hook_has_spoilt(live: Live, tmp_path: Path) -> None:
    """Claude Code refuses the rewritten input and asks nobody; neither PostToolUse nor PostToolUseFailure follows."""
    (tmp_path / "spoil.py").write_text(SPOIL)
    live.stage.client_home.add_hook(
        "PreToolUse", shlex.join([sys.executable, str(tmp_path / "spoil.py")]), matcher="AskUserQuestion"
    )
    client = live.start("managed-too")
    live.start_turn([WAY], client=client)
    asked = live.stage.wait_payload("PreToolUse")["tool_use_id"]
    said = live.model.wait_for_result(asked)
    # Old clients say what fell over such an input.
    assert "failed schema validation" in said or "is not an object" in said
    client.wait_idle()
    told_once(live, asked)
    found = story(live, asked)
    assert (found["outcome"], found["by"]) == ("unanswered", "nobody")
