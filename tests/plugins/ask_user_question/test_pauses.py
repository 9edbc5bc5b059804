"""Pauses: the document, and what hooks, answers, the deliverer and the commands make of it."""

from __future__ import annotations

import json
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.cli.dialogs import pause as cli_pause
from hookrouter.cli.dialogs.questions import questions
from hookrouter.config import Agent, Config
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.answers.result import ExitCode
from hookrouter.messaging import pauses
from hookrouter.storage.documents import Store, StoreError
from hookrouter.util.clock import iso, local
from support.changes import once_saved

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = json.dumps([{"action": "select", "optionIndex": 1}, {"action": "multi-select", "selectedIndices": [0]}])
ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), pytest.fail)


@pytest.fixture
def commands(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The commands use the session's home, and start no deliverer of their own."""
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    ask_session.spawned = []
    monkeypatch.setattr(cli_pause, "spawn_delivery", lambda *arguments: ask_session.spawned.append(arguments))
    return ask_session


def shown(capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    out, err = capsys.readouterr()
    assert (err == "") == (code == 0), err
    return json.loads(out) if code == 0 else err


def test_a_pause_holds_for_its_session_only(store: Store) -> None:
    assert pauses.is_paused(store, "work") is None
    begun = pauses.begin(store, "work", "lunch")
    assert pauses.is_paused(store, "work") == begun
    assert pauses.is_paused(store, "other") is None
    assert begun.since <= iso()
    assert begun.described() == f"session work is paused since {local(begun.since)} (lunch)"
    assert pauses.end(store, "work") == [begun]
    assert pauses.is_paused(store, "work") is None


def test_without_a_pause_there_is_no_document(store: Store) -> None:
    pauses.begin(store, "work")
    pauses.begin(store, None)
    pauses.end(store, None)
    assert store.entries(pauses.KIND) == []
    assert pauses.end(store, "work") == []


def test_a_pause_of_all_holds_for_each_and_outlasts_that_of_one(store: Store) -> None:
    pauses.begin(store, "work")
    every = pauses.begin(store, None, "demo")
    assert pauses.is_paused(store, "work") == pauses.is_paused(store, "other") == every
    pauses.end(store, "work")
    assert pauses.is_paused(store, "work") == every
    assert [one.session for one in pauses.pauses(store)] == [None]


def test_pausing_again_keeps_the_time_and_takes_a_new_reason(store: Store) -> None:
    first = pauses.begin(store, "work", "lunch")
    assert pauses.begin(store, "work") == first
    assert pauses.begin(store, "work", "meeting") == first._replace(reason="meeting")


def test_an_entry_broken_by_hand_still_pauses(store: Store) -> None:
    store.write(pauses.KIND, pauses.NAME, {"version": 1, "sessions": {"work": 3}})
    assert pauses.is_paused(store, "work") == pauses.Pause("work", "", "")


def test_pauses_that_begin_at_the_same_time_all_hold(store: Store) -> None:
    threads = [threading.Thread(target=pauses.begin, args=(store, f"s{number}")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.session for one in pauses.pauses(store)} == {f"s{number}" for number in range(8)}


def test_a_question_asked_during_a_pause_is_missed_and_wakes_nobody(ask_session: Any) -> None:
    pauses.begin(ask_session.app.store, "main")
    record = ask_session.ask()
    assert (record["outcome"], record["missed"], record["delivery_started"]) == ("asked", True, False)
    assert ask_session.wakes() == []
    assert [one.missed for one in documents.list_questions(ask_session.app.store)] == [True]


def test_another_session_is_not_paused(ask_session: Any) -> None:
    pauses.begin(ask_session.app.store, "other")
    assert ask_session.ask()["delivery_started"]
    assert len(ask_session.wakes()) == 1


def test_a_pause_that_ends_while_the_question_is_saved_loses_nothing(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ask_session.app.store
    pauses.begin(store, "main")
    save = documents.open_question

    def save_late(*arguments: Any) -> documents.Dialog:
        pauses.end(store, "main")
        return save(*arguments)

    monkeypatch.setattr(documents, "open_question", save_late)
    assert ask_session.ask()["delivery_started"]
    assert [wake.kind for wake in ask_session.wakes()] == ["question"]
    assert [one.missed for one in documents.list_questions(store)] == [False]


def test_the_end_of_a_missed_question_is_told_to_nobody(ask_session: Any) -> None:
    pauses.begin(ask_session.app.store, "main")
    ask_session.ask()
    record = ask_session.hook("session_end", reason="other")
    assert [(entry["outcome"], entry["told_by"]) for entry in record["swept"]] == [("unanswered", "nobody")]
    assert ask_session.wakes() == []
    assert ask_session.documents() == ["paused-sessions.json"]


def test_a_missed_question_that_closes_by_itself_is_told_to_nobody(ask_session: Any) -> None:
    pauses.begin(ask_session.app.store, "main")
    ask_session.ask()
    record = ask_session.hook("post_tool_use_ask_user_question", tool_response={"answers": {}, "afkTimeoutMs": 60000})
    assert record["outcome"] == "unanswered"
    assert ask_session.wakes() == []


def test_the_end_of_a_question_asked_before_the_pause_is_kept_for_the_agent(ask_session: Any) -> None:
    ask_session.ask()
    pauses.begin(ask_session.app.store, "main")
    ask_session.hook("session_end", reason="other")
    assert [wake.kind for wake in ask_session.wakes()] == ["question", "unanswered"]


def test_answer_refuses_and_says_how_to_resume(ask_session: Any) -> None:
    ask_session.ask()
    pauses.begin(ask_session.app.store, "main", "mine")
    result = answer(ask_session.app, "main", RIGHT)
    assert (result.outcome, result.exit_code) == ("paused", ExitCode.NOT_DELIVERED)
    assert "(mine); 'hookrouter resume --session main' ends that" in result.reason
    assert not ask_session.first.requests
    assert not [name for name in ask_session.documents() if name.startswith("pending")]


@pytest.mark.usefixtures("nothing_comes")
def test_a_running_answer_is_told_to_stop_and_stays_noted_after_keys(ask_session: Any) -> None:
    ask_session.ask()

    def act(request: AnswerRequest) -> AnswerOutcome:
        assert request.stopped() == ""
        pauses.begin(ask_session.app.store, None, "demo")
        reason = request.stopped()
        assert reason
        return AnswerOutcome(AnswerStatus.REFUSED, reason, ("Down: move",))

    ask_session.first.act = act
    result = answer(ask_session.app, "main", RIGHT)
    assert (result.outcome, result.exit_code) == ("paused", ExitCode.NOT_DELIVERED)
    assert "every session is paused since" in result.reason
    assert "'hookrouter resume --all' ends that" in result.reason
    assert "pending-answer-s-1%3Amain%3Atoolu_1.json" in ask_session.documents()


def test_no_further_channel_is_tried_in_a_paused_session(ask_session: Any) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        pauses.begin(ask_session.app.store, "main")
        return AnswerOutcome(AnswerStatus.UNAVAILABLE, "not here")

    ask_session.second.act = act
    assert answer(ask_session.app, "main", RIGHT).outcome == "paused"
    assert not ask_session.first.requests


def test_resume_wakes_the_agents_of_what_is_still_open(commands: Any, capsys: pytest.CaptureFixture[str]) -> None:
    commands.config = Config(agents=(Agent("default", sessions=("main", "*")),))
    assert cli_pause.pause(session="main", reason="lunch", as_json=True) == 0
    document = shown(capsys)
    assert (document["paused"]["session"], document["paused"]["reason"]) == ("main", "lunch")
    assert document["still_answering"] == []
    commands.ask()
    assert cli_pause.resume(session="main", as_json=True) == 0
    document = shown(capsys)
    assert document["woken"] == [{"session": "main", "tool_use_id": "toolu_1"}]
    assert [(story["tool_use_id"], story["outcome"]) for story in document["missed"]] == [("toolu_1", "open")]
    assert [one["session"] for one in document["resumed"]] == ["main"]
    (wake,) = commands.wakes()
    assert (wake.kind, wake.tool_use_id) == ("question", "toolu_1")
    assert "Which database?" in wake.text
    assert len(commands.spawned) == 1
    assert [one.missed for one in documents.list_questions(commands.app.store)] == [False]


def test_resume_lists_what_ended_during_the_pause(commands: Any, capsys: pytest.CaptureFixture[str]) -> None:
    commands.ask(tool_use_id="toolu_0")
    commands.record_answers(ANSWERS, tool_use_id="toolu_0")
    cli_pause.pause(every=True)
    commands.ask()
    commands.record_answers(ANSWERS)
    commands.ask(tool_use_id="toolu_2")
    commands.hook("session_end", reason="other")
    capsys.readouterr()
    assert cli_pause.resume(every=True) == 0
    text = capsys.readouterr().out
    assert "Resumed every session" in text
    assert "Asked during the pause: 2" in text
    assert "answered by person" in text
    assert "1. Which database? -> Postgres" in text
    assert "why: the session ended (other) without an answer" in text
    assert "toolu_0" not in text
    assert [wake.tool_use_id for wake in commands.wakes()] == ["toolu_0"]


def test_a_question_that_its_transcript_shows_over_is_not_woken_for(commands: Any) -> None:
    pauses.begin(commands.app.store, "main")
    commands.ask()
    commands.write_transcript(
        {"type": "tool_use", "id": "toolu_1"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"},
    )
    assert cli_pause.resume(session="main") == 0
    assert commands.wakes() == []


def test_a_wake_that_could_not_be_saved_is_made_up_for_by_the_next_resume(
    commands: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses.begin(commands.app.store, "main")
    commands.ask()

    def full(*_: object, **__: object) -> None:
        raise StoreError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("hookrouter.messaging.outbox.Outbox.put", full)
        assert cli_pause.resume(session="main") == 1
    assert "disk full" in capsys.readouterr().err
    assert cli_pause.resume(session="main", as_json=True) == 0
    assert shown(capsys)["woken"] == [{"session": "main", "tool_use_id": "toolu_1"}]


def test_one_session_of_a_pause_of_all_cannot_be_resumed(commands: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pauses.begin(commands.app.store, None, "demo")
    assert cli_pause.resume(session="main") == 1
    assert "session main itself is not paused; every session is paused since" in shown(capsys, 1)


@pytest.mark.parametrize("command", [cli_pause.pause, cli_pause.resume])
@pytest.mark.parametrize("options", [{}, {"session": "main", "every": True}, {"session": ""}])
def test_what_is_meant_must_be_said(
    commands: Any, capsys: pytest.CaptureFixture[str], command: Any, options: dict[str, Any]
) -> None:
    assert command(**options) == 2
    assert "--all" in shown(capsys, 2)
    assert pauses.pauses(commands.app.store) == []


def test_questions_shows_pauses_and_what_was_missed(commands: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cli_pause.pause(session="main", reason="lunch")
    commands.ask()
    commands.record_answers(ANSWERS)
    commands.ask(tool_use_id="toolu_2")
    capsys.readouterr()
    assert questions(as_json=True) == 0
    document = shown(capsys)
    assert [entry["missed"] for entry in document["questions"]] == [True]
    assert [(one["session"], one["reason"]) for one in document["paused"]] == [("main", "lunch")]
    assert [story["outcome"] for story in document["missed"]] == ["answered_by_person", "open"]
    assert questions() == 0
    text = capsys.readouterr().out
    assert "missed: the agent was not woken" in text
    assert "Session main is paused since" in text
    assert "Missed during the pause:\n" in text


def test_pause_waits_for_a_running_answer_to_stop(
    commands: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.ask()
    began, ended, results = threading.Event(), threading.Event(), []
    # What it would look for again and again is told by what ends.
    monkeypatch.setattr(cli_pause, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: ended.wait(10)))

    def act(request: AnswerRequest) -> AnswerOutcome:
        began.set()
        reason = once_saved(commands.app.store, pauses.KIND, request.stopped, "pause")
        return AnswerOutcome(AnswerStatus.REFUSED, reason)

    commands.first.act = act

    def run() -> None:
        results.append(answer(commands.app, "main", RIGHT, channel="keys"))

    # Signals can be handled in the main thread only, so the pause is the one in a thread.
    pausing = threading.Thread(target=lambda: began.wait(10) and cli_pause.pause(session="main", as_json=True))
    pausing.start()
    run()
    ended.set()
    pausing.join(10)
    assert results[0].outcome == "paused"
    assert shown(capsys)["still_answering"] == []


def test_a_session_that_is_not_known_is_said(commands: Any, capsys: pytest.CaptureFixture[str]) -> None:
    commands.ask()
    assert cli_pause.pause(session="mian", as_json=True) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["paused"]["session"] == "mian"
    assert "warning: no session mian is known, did you mean 'main'; it is paused anyway" in err
    assert cli_pause.pause(session="main", as_json=True) == 0
    assert capsys.readouterr().err == ""
    # What is paused already is known.
    assert cli_pause.pause(session="mian", reason="lunch", as_json=True) == 0
    assert capsys.readouterr().err == ""


def test_a_session_that_no_agent_could_manage_is_refused(commands: Any, capsys: pytest.CaptureFixture[str]) -> None:
    commands.config = Config(agents=(Agent(id="a", sessions=("work", "deploy-*"), workdirs=("/nowhere",)),))
    assert cli_pause.pause(session="wrok") == 2
    err = capsys.readouterr().err
    assert "no session wrok is known, did you mean 'work', and no agent of config.toml manages one" in err
    assert pauses.pauses(commands.app.store) == []
    assert cli_pause.pause(session="deploy-2") == 0
    assert "warning" in capsys.readouterr().err
