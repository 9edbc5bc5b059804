"""Messages are not lost: those that could not be delivered, and those of a session that a person has paused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.smoke import form, question

if TYPE_CHECKING:
    from support.smoke import SmokeStage

WAY = form(question("Which way?", "Left", "Right"))
LEFT = {"action": "select", "optionIndex": 0}


def test_a_message_that_could_not_be_delivered_is_kept_and_comes_later(stage: SmokeStage) -> None:
    stage.install()
    away = stage.told_folder.rename(stage.told_folder.with_name("away"))
    with stage.starts({"way": WAY}) as claude:
        claude.submit("please ASK way")
        stage.wait("attempt to deliver", lambda: stage.outcomes("delivery"))
        kept = stage.wait("failure", lambda: [one for one in stage.json("outbox", "list") if one["last_error"]])
        assert (kept[0]["kind"], "exited with" in kept[0]["last_error"]) == ("question", True)

        away.rename(stage.told_folder)
        stage.call("outbox", "retry", "--all")
        asked = stage.hears()
        assert asked["id"] == kept[0]["id"]
        assert stage.answer(asked, LEFT)["outcome"] == "verified"
        stage.wait("end of its reminders", lambda: stage.json("outbox", "list") == [])


def test_a_paused_session_wakes_nobody_until_it_is_resumed(stage: SmokeStage) -> None:
    stage.install()
    stage.call("pause", "--all", "--reason", "I am here")
    with stage.starts({"way": WAY}) as claude:
        claude.submit("please ASK way")
        stage.wait("hook that waits for the answer", lambda: stage.documents("reply-waiting"))
        (missed,) = stage.json("questions")["missed"]
        assert stage.answer(missed, LEFT, code=4)["outcome"] == "paused"
        assert stage.told() == []

        assert "Asked during the pause: 1" in stage.call("resume", "--all")
        asked = stage.hears()
        assert asked["tool_use_id"] == missed["tool_use_id"]
        assert stage.answer(asked, LEFT)["outcome"] == "verified"
