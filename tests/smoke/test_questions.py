"""The question loop: Claude asks, the agent is told, decides, and what was recorded is compared with what it meant."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from support.smoke import PATIENCE, form, question

if TYPE_CHECKING:
    from support.smoke import SmokeStage

WAY = form(question("Which way?", "Left", "Right"))
RIGHT = {"action": "select", "optionIndex": 1}

ALL = form(
    question("Which look?", "Plain", "Fancy", preview=True),
    question("Which name?", "refresh", "update"),
    question("Which parts?", "Driver", "Naming", "Retries", multiple=True),
)
TYPED = "sync-state; it's what it does"

# A client that records something else than the hook has said.
DEAF = """
import json, sys
reply = json.load(sys.stdin)
answers = reply["hookSpecificOutput"]["decision"]["updatedInput"]["answers"]
answers.update(dict.fromkeys(answers, "Left"))
print(json.dumps(reply))
"""


def test_a_question_is_told_answered_and_verified(stage: SmokeStage) -> None:
    stage.install()
    with stage.starts({"way": WAY}) as claude:
        claude.submit("please ASK way")
        asked = stage.hears()
        assert asked["data"]["questions"] == WAY["questions"]
        assert "> Which way?" in asked["text"]

        # With the very words that the agent was told to use.
        done = subprocess.run(
            asked["data"]["command"],
            input=json.dumps([RIGHT]),
            env=stage.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}{stage.known()}"
        result = json.loads(done.stdout)
        assert (result["outcome"], result["channel"]) == ("verified", "reply")
        stage.turn_ends()
        assert "Which way? → Right" in claude.screen()

    assert stage.outcomes("PostToolUse") == ["verified"]
    assert stage.documents("question") + stage.documents("pending-answer") == []
    assert "verified" in stage.call("logs", f"--session={asked['session']}")
    (kept,) = stage.json("history")["questions"]
    assert (kept["outcome"], kept["by"], kept["questions"][0]["recorded"]) == ("verified", "agent", "Right")


def test_every_kind_of_decision_is_recorded_as_it_was_meant(stage: SmokeStage) -> None:
    stage.install()
    with stage.starts({"all": ALL, "way": WAY}) as claude:
        claude.submit("please ASK all")
        result = stage.answer(
            stage.hears(),
            {**RIGHT, "notes": "but blue"},
            {"action": "type", "text": TYPED},
            {"action": "multi-select", "selectedIndices": [0, 2], "text": "and the docs"},
        )
        assert [one["recorded"] for one in result["questions"]] == ["Fancy", TYPED, "Driver, Retries, and the docs"]
        assert result["questions"][0]["recorded_notes"] == "but blue"

        claude.submit("please ASK way")
        result = stage.answer(stage.hears(count=2), {"action": "chat", "text": "neither, as I said"})
        assert result["outcome"] == "chat"
        stage.wait("end of the form", lambda: "wants to clarify these questions" in claude.screen())


def test_what_does_not_fit_the_question_changes_nothing_and_the_right_answer_still_counts(stage: SmokeStage) -> None:
    stage.install()
    with stage.starts({"way": WAY}) as claude:
        claude.submit("please ASK way")
        asked = stage.hears()
        for decisions, why in (
            ([{"action": "select", "optionIndex": 9}], "allowed are 0 (Left), 1 (Right)"),
            ([], "no"),
        ):
            result = stage.answer(asked, *decisions, code=2)
            assert (result["outcome"], why in result["reason"]) == ("invalid", True), result
        assert stage.documents("pending-answer") == []

        result = stage.answer({**asked, "session": "nobody"}, RIGHT, code=4)
        assert result["candidates"][0]["session"] == asked["session"]

        assert stage.answer(asked, RIGHT)["outcome"] == "verified"
        assert stage.answer(asked, RIGHT, code=4)["outcome"] == "not_delivered"


def test_an_answer_that_was_recorded_otherwise_is_told_to_the_agent(stage: SmokeStage) -> None:
    stage.install()
    settings = stage.client_home.read_settings()
    (hook,) = settings["hooks"]["PermissionRequest"][0]["hooks"]
    hook["command"] = f"( {hook['command']} ) | {shlex.join([sys.executable, '-c', DEAF])}"
    stage.client_home.write_settings(settings)

    with stage.starts({"way": WAY}) as claude:
        claude.submit("please ASK way")
        result = stage.answer(stage.hears(), RIGHT, code=3)
        assert result["outcome"] == "mismatch"
        assert (result["questions"][0]["intended"], result["questions"][0]["recorded"]) == ("Right", "Left")
        told = stage.hears("mismatch")

    assert (told["tool_use_id"], told["data"]["verification"]["matches"]) == (result["tool_use_id"], False)
    assert "recorded a different answer" in told["text"]
    assert stage.outcomes("PostToolUse") == ["mismatch"]


def test_an_answer_that_nothing_confirms_is_not_called_right(stage: SmokeStage) -> None:
    stage.install()
    settings = stage.client_home.read_settings()
    # A client that ends, or hangs, between the answer and its record.
    for event in ("PostToolUse", "Stop"):
        del settings["hooks"][event]
    stage.client_home.write_settings(settings)

    with stage.starts({"way": WAY}) as claude:
        claude.submit("please ASK way")
        asked = stage.hears()
        stage.wait("hook that waits for the answer", lambda: stage.documents("reply-waiting"))
        result = stage.answer(asked, RIGHT, code=5, wait=0.2)

    assert (result["outcome"], result["questions"][0]["recorded"]) == ("not_confirmed", None)
    assert len(stage.documents("pending-answer")) == 1


def test_a_person_at_the_keyboard_comes_first(stage: SmokeStage) -> None:
    stage.install()
    with stage.starts({"way": WAY}) as claude:
        claude.submit("please ASK way")
        asked = stage.hears()
        stage.wait("dialog", lambda: "❯ 1. Left" in claude.screen())
        claude.submit("1")
        stage.turn_ends()
        result = stage.answer(asked, RIGHT, code=4)

    assert result["outcome"] == "answered_by_person"
    assert stage.outcomes("PostToolUse") == ["answered_by_person"]
    assert stage.told("mismatch") == []


def test_without_any_config_a_question_waits_in_the_inbox_for_a_person(stage: SmokeStage) -> None:
    stage.configure("")
    stage.install()
    with stage.starts({"way": WAY}) as claude:
        claude.submit("please ASK way")
        stage.wait("hook that waits for the answer", lambda: stage.documents("reply-waiting"))
        (waiting,) = stage.json("questions")["questions"]
        assert (waiting["gateway"], waiting["questions"]) == ("inbox", WAY["questions"])

        result = stage.json("answer", waiting["session"], "--as=person", "--wait=40", "1")
        assert (result["outcome"], result["by"], result["questions"][0]["recorded"]) == ("verified", "person", "Right")
