"""``hookrouter answer``: from decisions to a verified answer."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus, keystroke_planners
from hookrouter.cli.dialogs.answer import answer as answer_command
from hookrouter.cli.text_file import MOST_BYTES
from hookrouter.config import Agent, AnswerConfig, Config
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.answers.result import AnswerResult, ExitCode
from hookrouter.dialogs.documents import ANSWER_LOCK
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.verdicts import list_verdicts, save_verdict
from hookrouter.storage.interface import StoreBusy, StoreError
from support.ask_session import Channel
from support.pure import GONE

RIGHT = [{"action": "select", "optionIndex": 1}, {"action": "multi-select", "selectedIndices": [1, 0]}]
ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth, Export"}
CHAT = [{"action": "chat", "text": "let us talk"}]
DELIVERED = AnswerOutcome(AnswerStatus.DELIVERED, "the dialog took it", ("press Down", "press Enter"))


def run(ask: Any, decisions: Any = None, **options: Any) -> AnswerResult:
    text = json.dumps(RIGHT if decisions is None else decisions)
    return answer(ask.app, "main", text, **{"wait": 2.0, **options})


def recording(ask: Any, answers: object, tool_use_id: str = "toolu_1") -> Callable[[AnswerRequest], AnswerOutcome]:
    """Return a channel's act after which the client records ``answers``."""

    def act(_: AnswerRequest) -> AnswerOutcome:
        ask.record_answers(answers, tool_use_id=tool_use_id)
        return DELIVERED

    return act


def test_an_answer_is_delivered_and_verified(ask_session: Any) -> None:
    ask_session.ask()
    seen = []

    def act(request: AnswerRequest) -> AnswerOutcome:
        pending = documents.read_pending(ask_session.app.store, "main", "toolu_1")
        assert pending is not None
        seen.append((pending.tool_use_id, pending.channel, pending.pid, pending.decisions[1]["selectedIndices"]))
        assert request.still_open()
        assert request.address is not None
        assert request.terminal is not None
        assert request.planner is not None
        assert [question.header for question in request.form.questions] == ["Database", "Features"]
        return recording(ask_session, ANSWERS)(request)

    ask_session.first.act = act
    result = run(ask_session)
    assert (result.outcome, result.exit_code, result.channel) == ("verified", ExitCode.OK, "keys")
    assert [entry["result"] for entry in result.questions] == ["match", "match"]
    assert result.steps == DELIVERED.steps
    assert seen == [("toolu_1", "keys", os.getpid(), [0, 1])]
    assert not ask_session.documents()
    (record,) = ask_session.records("answer")
    assert (record["outcome"], record["channel"], record["steps"]) == ("delivered", "keys", list(DELIVERED.steps))


def test_a_record_that_comes_later_is_awaited(ask_session: Any) -> None:
    ask_session.ask()
    threads = []

    def act(_: AnswerRequest) -> AnswerOutcome:
        threads.append(threading.Timer(0.2, ask_session.record_answers, [ANSWERS]))
        threads[0].start()
        return DELIVERED

    ask_session.first.act = act
    assert run(ask_session, wait=10.0).outcome == "verified"
    threads[0].join()


def test_a_mismatch_shows_both_sides(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.first.act = recording(ask_session, {**ANSWERS, "Which database?": "SQLite"})
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("mismatch", ExitCode.RECORDED_DIFFERENTLY)
    first = result.questions[0]
    assert (first["intended"], first["recorded"], first["result"]) == ("Postgres", "SQLite", "different")
    assert "question 1" in result.reason


def test_without_waiting_delivered_is_enough(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.first.act = lambda _: DELIVERED
    result = run(ask_session, wait=0)
    assert (result.outcome, result.exit_code) == ("delivered", ExitCode.OK)
    assert len(ask_session.documents()) == 2


def test_a_record_that_never_comes(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.first.act = lambda _: DELIVERED
    result = run(ask_session, wait=0.1)
    assert (result.outcome, result.exit_code) == ("not_confirmed", ExitCode.NOT_CONFIRMED)
    assert len(ask_session.documents()) == 2


def test_a_chat_closes_the_question(ask_session: Any) -> None:
    ask_session.ask()

    def act(request: AnswerRequest) -> AnswerOutcome:
        assert ask_session.hook("stop", stop_hook_active=False)["swept"][0]["outcome"] == "left"
        assert request.still_open()
        return DELIVERED

    ask_session.first.act = act
    result = run(ask_session, CHAT)
    assert (result.outcome, result.exit_code) == ("chat", ExitCode.OK)
    assert not ask_session.documents()
    assert ask_session.records("answer")[0]["outcome"] == "chat"
    assert [wake.kind for wake in ask_session.wakes()] == ["question"]


def test_no_question_names_the_sessions_that_have_one(ask_session: Any) -> None:
    assert "no session has one" in run(ask_session).reason
    ask_session.ask(environ={"FAKE_SESSION": "other"})
    result = run(ask_session)
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert "these sessions have one: other" in result.reason


def test_another_question_than_the_agent_means(ask_session: Any) -> None:
    ask_session.ask(tool_use_id="toolu_2")
    result = run(ask_session, tool_use_id="toolu_1")
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert "toolu_1 has ended" in result.reason
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_2.json"]


def test_of_several_questions_one_must_be_named(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.ask(tool_use_id="toolu_2")
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("not_delivered", ExitCode.NOT_DELIVERED)
    assert result.reason == "session main has 2 questions open: say which with --tool-use-id: toolu_1, toolu_2"
    assert "session main now asks toolu_1, toolu_2" in run(ask_session, tool_use_id="toolu_0").reason
    assert not ask_session.first.requests


def test_a_question_that_is_over_needs_no_naming_of_the_other(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.ask(tool_use_id="toolu_2")
    ask_session.write_transcript({"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "no"})
    ask_session.first.act = recording(ask_session, ANSWERS, "toolu_2")
    result = run(ask_session)
    assert (result.outcome, result.tool_use_id) == ("verified", "toolu_2")


@pytest.mark.parametrize("order", [("toolu_1", "toolu_2"), ("toolu_2", "toolu_1")])
def test_several_questions_are_answered_in_any_order(ask_session: Any, order: tuple[str, str]) -> None:
    ask_session.write_transcript({"type": "tool_use", "id": "toolu_1"}, {"type": "tool_use", "id": "toolu_2"})
    ask_session.ask()
    ask_session.ask(tool_use_id="toolu_2")
    for tool_use_id in order:
        ask_session.first.act = recording(ask_session, ANSWERS, tool_use_id)
        result = run(ask_session, tool_use_id=tool_use_id)
        assert (result.outcome, result.tool_use_id) == ("verified", tool_use_id)
    assert not ask_session.documents()
    assert [wake.kind for wake in ask_session.wakes()] == ["question", "question"]


def test_a_refusal_names_the_questions_whose_dialog_may_be_on_screen(ask_session: Any) -> None:
    ask_session.write_transcript({"type": "tool_use", "id": "toolu_1"}, {"type": "tool_use", "id": "toolu_2"})
    for tool_use_id in ("toolu_1", "toolu_2"):
        ask_session.ask(tool_use_id=tool_use_id)
    ask_session.first.act = lambda _: AnswerOutcome(AnswerStatus.REFUSED, "the dialog is not on screen")
    result = run(ask_session, tool_use_id="toolu_2")
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert result.reason == (
        "the dialog is not on screen; session main has another question open (toolu_1), and Claude Code shows one "
        "dialog at a time: it may have to be answered first"
    )
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_1.json", "question-s-1%3Amain%3Atoolu_2.json"]


@pytest.mark.parametrize("decisions", [[], [{"action": "select", "optionIndex": 7}, RIGHT[1]], RIGHT[0], "x"])
def test_bad_decisions_change_nothing(ask_session: Any, decisions: Any) -> None:
    ask_session.ask()
    result = run(ask_session, decisions)
    assert (result.outcome, result.exit_code) == ("invalid", ExitCode.BAD_INPUT)
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_1.json"]
    assert not ask_session.first.requests


def test_a_dry_run_shows_the_plan_and_saves_nothing(ask_session: Any) -> None:
    ask_session.ask()
    result = run(ask_session, dry_run=True)
    assert (result.outcome, result.exit_code) == ("planned", ExitCode.OK)
    assert result.steps == ("Database: Select(option_index=1, notes=None)", result.steps[1])
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_1.json"]
    assert not ask_session.first.requests


def test_a_dry_run_says_what_the_planner_refuses(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_session.ask()
    planner = keystroke_planners(ask_session.app.plugins)["grammar"]
    monkeypatch.setattr(type(planner), "outline", lambda *_: ["nothing: it takes no notes"])
    result = run(ask_session, dry_run=True)
    assert (result.outcome, result.exit_code) == ("not_delivered", ExitCode.NOT_DELIVERED)
    assert result.reason == "the planner grammar cannot enter that: it takes no notes"
    assert result.steps == ()


def test_the_next_channel_is_tried_where_one_cannot_serve(ask_session: Any) -> None:
    ask_session.config = Config(answer=AnswerConfig(channels=("keys", "missing", "reply")))
    ask_session.ask()
    ask_session.second.act = recording(ask_session, ANSWERS)
    result = run(ask_session)
    assert (result.outcome, result.channel) == ("verified", "reply")
    assert len(ask_session.first.requests) == 1


def test_a_refusal_ends_the_attempt(ask_session: Any) -> None:
    ask_session.config = Config(answer=AnswerConfig(channels=("keys", "reply")))
    ask_session.ask()
    ask_session.first.act = lambda _: AnswerOutcome(AnswerStatus.REFUSED, "the dialog is not on screen")
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("not_delivered", ExitCode.NOT_DELIVERED)
    assert result.reason == "the dialog is not on screen"
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_1.json"]
    assert not ask_session.second.requests
    assert ask_session.records("answer")[0]["outcome"] == "not_delivered"


def test_no_channel_can_serve(ask_session: Any) -> None:
    ask_session.ask()
    result = run(ask_session)
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert result.reason == "reply: not here; keys: not here"
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_1.json"]


@pytest.mark.usefixtures("nothing_comes")
def test_after_keys_were_pressed_the_intent_stays_noted(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.first.act = lambda _: AnswerOutcome(AnswerStatus.REFUSED, "the pane is gone", ("press Enter",))
    result = run(ask_session)
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert "the pane is gone" in result.reason
    assert len(ask_session.documents()) == 2
    assert ask_session.record_answers(ANSWERS)["outcome"] == "verified"


def test_a_channel_that_lost_sight_of_an_answer_that_arrived(ask_session: Any) -> None:
    ask_session.ask()

    def act(request: AnswerRequest) -> AnswerOutcome:
        recording(ask_session, ANSWERS)(request)
        return AnswerOutcome(AnswerStatus.REFUSED, "the pane is gone", ("press Enter",))

    ask_session.first.act = act
    assert run(ask_session).outcome == "verified"


def test_an_answer_that_arrives_after_its_channel_gave_up(ask_session: Any) -> None:
    ask_session.ask()
    threads = []

    def act(_: AnswerRequest) -> AnswerOutcome:
        threads.append(threading.Timer(0.2, ask_session.record_answers, [ANSWERS]))
        threads[0].start()
        return AnswerOutcome(AnswerStatus.REFUSED, "the dialog is gone", ("press Enter",))

    ask_session.first.act = act
    assert run(ask_session).outcome == "verified"
    threads[0].join()


@pytest.mark.usefixtures("nothing_comes")
def test_a_channel_that_raises(ask_session: Any) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        raise RuntimeError("broken")

    ask_session.first.act = act
    result = run(ask_session)
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert "RuntimeError: broken" in result.reason


def test_a_person_wins_while_the_answer_is_on_its_way(ask_session: Any) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        documents.delete_pending(ask_session.app.store, "main", "toolu_1")
        ask_session.record_answers(ANSWERS)
        return AnswerOutcome(AnswerStatus.REFUSED, "the dialog is not on screen")

    ask_session.first.act = act
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("answered_by_person", ExitCode.NOT_DELIVERED)


def test_the_dialog_is_closed_while_the_answer_is_awaited(ask_session: Any) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        assert ask_session.hook("session_end", reason="other")["swept"][0]["told_by"] == "answer"
        return DELIVERED

    ask_session.first.act = act
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("unanswered", ExitCode.NOT_DELIVERED)
    assert "the session ended" in result.reason


def test_a_dialog_that_was_closed_before_the_answer(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.write_transcript(
        {"type": "tool_use", "id": "toolu_1"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"},
    )
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("unanswered", ExitCode.NOT_DELIVERED)
    assert result.reason == "the question has ended: the dialog was closed without an answer"
    assert not ask_session.first.requests
    assert not ask_session.documents()


def test_a_dialog_that_is_closed_while_no_channel_can_serve(ask_session: Any) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        ask_session.write_transcript(
            {"type": "tool_use", "id": "toolu_1"},
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"},
        )
        return AnswerOutcome(AnswerStatus.UNAVAILABLE, "no hook waits")

    ask_session.first.act = act
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("unanswered", ExitCode.NOT_DELIVERED)
    assert "the dialog was closed without an answer" in result.reason
    assert not ask_session.documents()


def test_a_client_that_has_ended_before_the_answer(ask_session: Any) -> None:
    ask_session.ask(environ={"CLAUDE_PID": str(GONE)})
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("unanswered", ExitCode.NOT_DELIVERED)
    assert result.reason == "the question has ended: the client that asked has ended without an answer"
    assert not ask_session.documents()


@pytest.mark.usefixtures("nothing_comes")
def test_a_chat_whose_text_got_lost(ask_session: Any) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        clarify = "The user doesn't want to ... the user said: The user wants to clarify these questions."
        ask_session.write_transcript(
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": clarify}
        )
        return AnswerOutcome(AnswerStatus.REFUSED, "the prompt box did not appear", ("Enter: choose chat",))

    ask_session.first.act = act
    result = run(ask_session, CHAT)
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert result.reason.startswith("the prompt box did not appear; the dialog was closed with")
    assert result.reason.endswith("give it to Claude as a prompt")
    assert not ask_session.documents()


@pytest.mark.usefixtures("nothing_comes")
def test_a_chat_behind_which_the_next_dialog_opens(ask_session: Any) -> None:
    """Measured on Claude Code 2.1.330: the dialog of the next open question comes before any prompt box."""
    ask_session.write_transcript({"type": "tool_use", "id": "toolu_1"}, {"type": "tool_use", "id": "toolu_2"})
    ask_session.ask()
    ask_session.ask(tool_use_id="toolu_2")

    def act(_: AnswerRequest) -> AnswerOutcome:
        clarify = "The user doesn't want to ... the user said: The user wants to clarify these questions."
        ask_session.write_transcript(
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": clarify}
        )
        return AnswerOutcome(AnswerStatus.REFUSED, "another dialog is on screen", ("Enter: choose chat",))

    ask_session.first.act = act
    result = run(ask_session, CHAT, tool_use_id="toolu_1")
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert "give it to Claude as a prompt; session main has another question open (toolu_2)" in result.reason
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_2.json"]


@pytest.mark.parametrize(
    "said",
    [
        {"type": "user", "version": "2.1.330", "message": {"role": "user", "content": "let us talk"}},
        {"type": "queue-operation", "operation": "enqueue", "content": "let us talk"},
    ],
    ids=["said", "queued while Claude works"],
)
def test_a_chat_that_arrived_although_the_next_dialog_opened_at_once(ask_session: Any, said: dict[str, Any]) -> None:
    """The channel sees another question's dialog instead of the prompt box, and cannot tell."""
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        clarify = "The user doesn't want to ... the user said: The user wants to clarify these questions."
        ask_session.write_transcript(
            {"type": "tool_use", "id": "toolu_1"},
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": clarify},
        )
        with ask_session.transcript.open("a") as file:
            file.write(json.dumps(said) + "\n")
        ask_session.hook("user_prompt_submit", prompt="let us talk")
        ask_session.ask(tool_use_id="toolu_2")
        return AnswerOutcome(AnswerStatus.REFUSED, "another dialog is on screen", ("Enter: choose chat", "paste text"))

    ask_session.first.act = act
    result = run(ask_session, CHAT)
    assert (result.outcome, result.exit_code) == ("chat", ExitCode.OK)
    assert [one.tool_use_id for one in documents.list_questions(ask_session.app.store)] == ["toolu_2"]


@pytest.mark.usefixtures("nothing_comes")
@pytest.mark.parametrize("said", ["let us talk about it", "talk"])
def test_another_prompt_is_not_taken_for_the_chat(ask_session: Any, said: str) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        ask_session.write_transcript(
            {"type": "text", "text": "let us talk"},
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"},
        )
        with ask_session.transcript.open("a") as file:
            file.write(json.dumps({"type": "user", "message": {"content": said}}) + "\n")
        return AnswerOutcome(AnswerStatus.REFUSED, "the prompt box did not appear", ("Enter: choose chat",))

    ask_session.first.act = act
    assert run(ask_session, CHAT).exit_code == ExitCode.NOT_DELIVERED


def test_a_slow_plugin_of_the_same_run_delays_no_verdict(ask_session: Any) -> None:
    """The run's journal record is written when all plugins are done, long after the question's documents are gone."""
    ask_session.ask()
    written: list[Any] = []

    def act(_: AnswerRequest) -> AnswerOutcome:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(ask_session.journal), "write", lambda *record: written.append(record))
            ask_session.record_answers(ANSWERS)
        return DELIVERED

    ask_session.first.act = act
    assert run(ask_session, wait=20.0).outcome == "verified"
    assert not ask_session.records("PostToolUse")
    assert written


def test_logs_that_cannot_be_written_change_no_result(ask_session: Any) -> None:
    Path(ask_session.home.root).mkdir(parents=True)
    Path(ask_session.home.logs).write_text("a file where the folder should be")
    ask_session.ask()
    ask_session.first.act = recording(ask_session, ANSWERS)
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("verified", ExitCode.OK)
    (story,) = history(ask_session.journal, ask_session.app.store)
    assert (story["outcome"], story["by"], story["channel"], story["verified"]) == ("verified", "agent", "keys", True)
    assert [entry["recorded"] for entry in story["questions"]] == ["Postgres", "Auth, Export"]


def test_a_verdict_that_cannot_be_written_is_read_from_the_journal(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("no space left on device")

    monkeypatch.setattr("hookrouter.dialogs.closing.save_verdict", full)
    ask_session.ask()
    ask_session.first.act = recording(ask_session, {**ANSWERS, "Which database?": "SQLite"})
    result = run(ask_session)
    assert (result.outcome, result.questions[0]["recorded"]) == ("mismatch", "SQLite")
    assert "could not be noted" in ask_session.records("PostToolUse")[0]["warnings"][0]


@pytest.mark.usefixtures("nothing_comes")
def test_the_whole_wait_is_waited(ask_session: Any) -> None:
    """What closed the question may be an older hookrouter, which writes no verdict, and its record late."""
    ask_session.ask()
    threads = []

    def act(_: AnswerRequest) -> AnswerOutcome:
        documents.delete_question(ask_session.app.store, "main", "toolu_1")
        record = {"event": "PostToolUse", "tool": "AskUserQuestion", "session_id": "s-1", "tool_use_id": "toolu_1"}
        late = {**record, "outcome": "verified", "channel": "keys"}
        threads.append(threading.Timer(0.4, ask_session.journal.write, [late, "s-1"]))
        threads[0].start()
        return DELIVERED

    ask_session.first.act = act
    assert run(ask_session, wait=20.0).outcome == "verified"
    threads[0].join()


def test_a_dialog_that_other_hooks_delay_is_waited_for(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wake leaves with the first of them, so an agent may be quicker than the others."""
    monkeypatch.setattr("hookrouter.dialogs.answers.handing_over._LOOK_SECONDS", 0.05)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(ask_session.journal), "write", lambda *_: None)
        ask_session.ask()

    def act(request: AnswerRequest) -> AnswerOutcome:
        if len(ask_session.first.requests) < 3:
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, "no dialog on screen")
        return recording(ask_session, ANSWERS)(request)

    ask_session.first.act = act
    assert run(ask_session, channel="keys").outcome == "verified"


def test_a_dialog_that_all_our_hooks_are_done_with_is_not_waited_for(ask_session: Any) -> None:
    ask_session.ask()
    assert run(ask_session, channel="keys").outcome == "not_delivered"
    assert len(ask_session.first.requests) == 1


def test_a_chat_that_came_after_a_person_s_answer_was_not_said(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.write_transcript({"type": "tool_use", "id": "toolu_1"})
    threads = []

    def act(_: AnswerRequest) -> AnswerOutcome:
        ask_session.write_transcript(
            {"type": "tool_use", "id": "toolu_1"}, {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
        )
        threads.append(threading.Timer(0.2, ask_session.record_answers, [ANSWERS]))
        threads[0].start()
        return DELIVERED

    ask_session.second.act = act
    result = run(ask_session, CHAT, channel="reply")
    threads[0].join()
    assert (result.outcome, result.exit_code) == ("mismatch", ExitCode.RECORDED_DIFFERENTLY)
    assert result.questions[0]["result"] == "no_choice_intended"


def test_verdicts_do_not_stay_for_ever(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.record_answers(ANSWERS)
    (verdict,) = list_verdicts(ask_session.app.store)
    ask_session.hook("session_start", source="startup")
    assert list_verdicts(ask_session.app.store) == [verdict]
    save_verdict(ask_session.app.store, verdict._replace(at="2020-01-01T00:00:00.000Z"))
    ask_session.hook("session_start", source="startup")
    assert list_verdicts(ask_session.app.store) == []


def ask_twice(ask: Any) -> None:
    ask.ask()
    ask.ask(environ={"FAKE_SESSION": "other"}, session_id="s-2", tool_use_id="toolu_2")


def test_auto_answers_the_one_question_there_is(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.first.act = recording(ask_session, ANSWERS)
    result = answer(ask_session.app, "auto", json.dumps(RIGHT))
    assert (result.outcome, result.session, result.tool_use_id) == ("verified", "main", "toolu_1")


def test_auto_leaves_several_questions_alone_and_names_them(ask_session: Any) -> None:
    ask_twice(ask_session)
    result = answer(ask_session.app, "auto", json.dumps(RIGHT))
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert "toolu_1 in session main, toolu_2 in session other" in result.reason
    assert [(one["session"], one["tool_use_id"]) for one in result.candidates] == [
        ("main", "toolu_1"),
        ("other", "toolu_2"),
    ]
    assert not ask_session.first.requests


def test_auto_passes_over_a_question_that_is_over(ask_session: Any) -> None:
    ask_twice(ask_session)
    ask_session.write_transcript(
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"}
    )
    ask_session.first.act = recording(ask_session, ANSWERS, "toolu_2")
    assert answer(ask_session.app, "auto", json.dumps(RIGHT), wait=0).tool_use_id == "toolu_2"


@pytest.mark.parametrize("session", ["", "auto"])
def test_the_tool_use_id_alone_finds_its_session(ask_session: Any, session: str) -> None:
    ask_twice(ask_session)
    ask_session.first.act = lambda _: DELIVERED
    result = answer(ask_session.app, session, json.dumps(RIGHT), tool_use_id="toolu_2", wait=0)
    assert (result.outcome, result.session, result.tool_use_id) == ("delivered", "other", "toolu_2")


def test_a_session_called_auto_is_meant_by_its_name(ask_session: Any) -> None:
    ask_session.ask(environ={"FAKE_SESSION": "auto"})
    ask_session.ask(environ={"FAKE_SESSION": "prod"}, session_id="s-2", tool_use_id="toolu_2")
    ask_session.first.act = recording(ask_session, ANSWERS)
    result = answer(ask_session.app, "auto", json.dumps(RIGHT))
    assert (result.outcome, result.session, result.tool_use_id) == ("verified", "auto", "toolu_1")
    # Its question is over now, and another session's is none of its agent's business.
    result = answer(ask_session.app, "auto", json.dumps(RIGHT))
    assert (result.outcome, result.exit_code) == ("not_delivered", ExitCode.NOT_DELIVERED)
    assert "session auto has no open question; these sessions have one: prod" in result.reason
    assert "--any" in result.reason
    assert len(ask_session.first.requests) == 1
    ask_session.first.act = lambda _: DELIVERED
    assert answer(ask_session.app, "", json.dumps(RIGHT), any_session=True, wait=0).session == "prod"


@pytest.mark.parametrize("trace", ["journal", "config"])
def test_a_session_called_auto_that_asks_nothing_is_still_known(ask_session: Any, trace: str) -> None:
    ask_session.ask(environ={"FAKE_SESSION": "prod"}, session_id="s-2", tool_use_id="toolu_2")
    if trace == "journal":
        ask_session.journal.write({"event": "PreToolUse", "session_id": "s-1", "session": "auto"}, "s-1")
    else:
        ask_session.config = Config(agents=(Agent(id="one", sessions=("auto",)), Agent(id="rest")))
    assert answer(ask_session.app, "auto", json.dumps(RIGHT)).exit_code == ExitCode.NOT_DELIVERED
    assert not ask_session.first.requests


def test_an_answer_to_a_question_that_a_person_ended_reaches_no_later_one(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.record_answers(ANSWERS)
    ask_session.ask(tool_use_id="toolu_2")
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("not_delivered", ExitCode.NOT_DELIVERED)
    assert "the question before this one (toolu_1) ended without an answer of the agent" in result.reason
    assert [one["tool_use_id"] for one in result.candidates] == ["toolu_2"]
    assert not ask_session.first.requests
    ask_session.first.act = lambda _: DELIVERED
    assert run(ask_session, tool_use_id="toolu_2", wait=0).outcome == "delivered"
    assert run(ask_session, expect="Which database", wait=0).outcome == "delivered"


def test_an_agent_that_was_told_of_the_question_need_not_name_it(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.record_answers(ANSWERS)
    ask_session.ask(tool_use_id="toolu_2")
    ask_session.first.act = lambda _: DELIVERED
    for file in (Path(ask_session.home.state) / "outbox").glob("*.json"):
        file.unlink()
    assert run(ask_session, wait=0).outcome == "delivered"


def test_an_agent_that_answers_while_its_gateway_still_runs_need_not_name_the_question(ask_session: Any) -> None:
    """A command gateway's program is the agent: it answers before it has ended, so before the message is delivered."""
    ask_session.ask()
    ask_session.record_answers(ANSWERS)
    ask_session.ask(tool_use_id="toolu_2")
    ask_session.first.act = lambda _: DELIVERED
    outbox = ask_session.app.outbox
    (message,) = [one for one in outbox.pending() if one.tool_use_id == "toolu_2" and one.kind == "question"]
    outbox.tries.begin(message.id)
    assert run(ask_session, wait=0).outcome == "delivered"
    outbox.tries.failed(message.id, "connection refused")
    assert run(ask_session, wait=0).exit_code == ExitCode.NOT_DELIVERED


def test_after_its_own_answer_the_agent_need_not_name_the_next_question(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.first.act = recording(ask_session, ANSWERS)
    assert run(ask_session).outcome == "verified"
    ask_session.ask(tool_use_id="toolu_2")
    ask_session.first.act = lambda _: DELIVERED
    assert run(ask_session, wait=0).outcome == "delivered"


def test_an_agent_that_answer_told_of_the_end_need_not_name_the_next_question(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.write_transcript(
        {"type": "tool_use", "id": "toolu_1"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"},
    )
    assert run(ask_session).outcome == "unanswered"
    ask_session.ask(tool_use_id="toolu_2")
    ask_session.first.act = lambda _: DELIVERED
    assert run(ask_session, wait=0).outcome == "delivered"


def test_a_question_about_something_else_than_expected_is_refused(ask_session: Any) -> None:
    ask_session.ask()
    result = run(ask_session, expect="Deploy")
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert result.reason == ("the open question is another one than expected: Which database? | Which features?")
    assert not ask_session.first.requests


@pytest.mark.parametrize("which", ["toolu_1", "toolu_2"])
def test_of_two_questions_with_the_same_words_one_may_be_over(ask_session: Any, which: str) -> None:
    """Without a transcript nothing says that the first was left with Escape, or tells the two dialogs apart."""
    ask_session.ask()
    ask_session.ask(tool_use_id="toolu_2")
    result = run(ask_session, tool_use_id=which)
    assert (result.outcome, result.exit_code) == ("not_delivered", ExitCode.NOT_DELIVERED)
    assert "has asked the same words more than once" in result.reason
    assert not ask_session.first.requests


@pytest.mark.parametrize("session", ["", "auto"])
def test_a_tool_use_id_that_no_session_asks(ask_session: Any, session: str) -> None:
    ask_twice(ask_session)
    result = answer(ask_session.app, session, json.dumps(RIGHT), tool_use_id="toolu_9")
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert "toolu_9 has ended, or was never asked; open: toolu_1 in session main" in result.reason
    assert len(result.candidates) == 2


def test_auto_without_any_question(ask_session: Any) -> None:
    result = answer(ask_session.app, "auto", json.dumps(RIGHT))
    assert (result.exit_code, result.reason) == (ExitCode.NOT_DELIVERED, "no session has an open question")
    assert result.candidates == ()


def test_only_one_answer_at_a_time(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookrouter.dialogs.answers.answer._LOCK_SECONDS", 0)
    ask_session.ask()
    with ask_session.app.store.lock(ANSWER_LOCK, "main", 0):
        result = run(ask_session)
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert f"by process {os.getpid()}" in result.reason
    assert not ask_session.first.requests


def test_the_terminal_takes_one_answer_at_a_time(ask_session: Any) -> None:
    """An answer to another question of the session types into the same pane."""
    ask_session.write_transcript({"type": "tool_use", "id": "toolu_1"}, {"type": "tool_use", "id": "toolu_2"})
    ask_session.ask()
    ask_session.ask(tool_use_id="toolu_2")
    store, seen = ask_session.app.store, []

    def act(request: AnswerRequest) -> AnswerOutcome:
        for name in ("main", "main:toolu_1"):
            with pytest.raises(StoreBusy), store.lock(ANSWER_LOCK, name, 0):
                pytest.fail("not held")
        with store.lock(ANSWER_LOCK, "main:toolu_2", 0):
            seen.append(request.tool_use_id)
        return recording(ask_session, ANSWERS)(request)

    ask_session.first.act = act
    assert run(ask_session, tool_use_id="toolu_1").outcome == "verified"
    assert seen == ["toolu_1"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_unknown_planner_is_named_with_its_key(ask_session: Any, dry_run: bool) -> None:
    ask_session.config = Config(answer=AnswerConfig(planner="gramar"))
    ask_session.ask()
    result = run(ask_session, dry_run=dry_run)
    assert result.exit_code == (ExitCode.BAD_INPUT if dry_run else ExitCode.NOT_DELIVERED)
    named = "config.toml: answer.planner: there is no planner 'gramar', did you mean 'grammar'?; available: grammar"
    assert named in result.reason


def test_an_unknown_terminal_is_named_with_its_key(ask_session: Any) -> None:
    ask_session.config = Config(answer=AnswerConfig(terminal="screeen"))
    ask_session.ask(environ={"FAKE_SESSION": ""})
    result = answer(ask_session.app, "claude-s-1", json.dumps(RIGHT))
    assert result.exit_code == ExitCode.NOT_DELIVERED
    assert "config.toml: answer.terminal: there is no terminal 'screeen'; available: fake" in result.reason


def test_an_unknown_channel(ask_session: Any) -> None:
    ask_session.ask()
    result = run(ask_session, channel="pigeon")
    assert result.exit_code == ExitCode.BAD_INPUT
    assert result.reason == "--channel: there is no channel 'pigeon'; available: keys, reply"
    ask_session.config = Config(answer=AnswerConfig(channels=("pigeon",)))
    assert run(ask_session).exit_code == ExitCode.NOT_DELIVERED


def test_a_channel_knows_whether_it_is_the_last(ask_session: Any) -> None:
    ask_session.ask()
    seen = []

    def act(request: AnswerRequest) -> AnswerOutcome:
        seen.append(request.is_last)
        return AnswerOutcome(AnswerStatus.UNAVAILABLE, "not here")

    ask_session.first.act = ask_session.second.act = act
    assert run(ask_session).outcome == "not_delivered"
    assert run(ask_session, channel="keys").outcome == "not_delivered"
    assert seen == [False, True, True]


def test_a_chosen_channel_is_the_only_one(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.second.act = recording(ask_session, ANSWERS)
    assert run(ask_session, channel="reply").outcome == "verified"
    assert not ask_session.first.requests


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_the_documents_readable(ask_session: Any, number: signal.Signals) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        os.kill(os.getpid(), number)
        pytest.fail("the signal did not stop the delivery")

    ask_session.first.act = act
    before = signal.getsignal(number)
    result = run(ask_session)
    assert (result.outcome, result.exit_code) == ("interrupted", 128 + number)
    assert signal.getsignal(number) == before
    assert len(ask_session.documents()) == 2
    assert ask_session.records("answer")[0]["outcome"] == "interrupted"
    ask_session.first.act = recording(ask_session, ANSWERS)
    assert run(ask_session).outcome == "verified"


def test_the_old_name_of_previews_reaches_channels(ask_session: Any) -> None:
    options = [{"label": "A", "markdown": "+--+"}, {"label": "B"}]
    ask_session.ask(tool_input={"questions": [{"question": "Which?", "header": "H", "options": options}]})
    run(ask_session, [{"action": "select", "optionIndex": 0, "notes": "small"}])
    assert ask_session.first.requests[0].form.questions[0].options[0].preview == "+--+"


def command(capsys: pytest.CaptureFixture[str], *, as_json: bool = True, **options: Any) -> tuple[int, Any, str]:
    code = answer_command(**{"session": "main", "as_json": as_json, **options})
    out, err = capsys.readouterr()
    return code, json.loads(out) if as_json else out, err


@pytest.fixture
def in_process(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the commands use the session's home and its plugins."""
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    return ask_session


def test_the_command_answers_in_json(in_process: Any, capsys: pytest.CaptureFixture[str]) -> None:
    in_process.ask()
    in_process.first.act = recording(in_process, {**ANSWERS, "Which database?": ["Postgres"]})
    code, document, err = command(capsys, words=[json.dumps(RIGHT)])
    assert (code, err) == (3, "")
    assert {key: document[key] for key in ("ok", "outcome", "exit_code", "session", "tool_use_id", "channel")} == {
        "ok": False,
        "outcome": "mismatch",
        "exit_code": 3,
        "session": "main",
        "tool_use_id": "toolu_1",
        "channel": "keys",
    }
    assert document["questions"][0]["recorded"] == ["Postgres"]
    assert document["questions"][0]["result"] == "non_string"


def test_the_command_for_people(in_process: Any, capsys: pytest.CaptureFixture[str]) -> None:
    in_process.ask()
    in_process.first.act = recording(in_process, {**ANSWERS, "Which database?": "SQLite"})
    code, out, err = command(capsys, words=[json.dumps(RIGHT)], as_json=False)
    assert (code, err) == (3, "")
    assert "intended: Postgres" in out
    assert "recorded: SQLite" in out
    code, out, err = command(capsys, words=[json.dumps(RIGHT)], as_json=False)
    assert (code, out) == (4, "")
    assert err.startswith("hookrouter answer: not delivered: session main has no open question")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "the decisions are missing"),
        ({"words": ["[]"], "file": "-"}, "not both"),
        ({"words": ["-"], "file": "x.json"}, "not both"),
        ({"file": "/no/such/file"}, "No such file"),
        ({"words": ["[]"], "session": ""}, "--session is missing; these sessions have a question: main"),
        ({"words": ["[]"], "wait": -1.0}, "--wait"),
        ({"words": ["[]"], "wait": float("nan")}, "--wait"),
        ({"words": ["[]"], "wait": float("inf")}, "--wait"),
    ],
)
def test_command_lines_that_cannot_be_used(
    in_process: Any, capsys: pytest.CaptureFixture[str], options: dict[str, Any], said: str
) -> None:
    in_process.ask()
    code, document, _ = command(capsys, **options)
    assert (code, document["outcome"]) == (2, "invalid")
    assert said in document["reason"]


def test_decisions_from_a_file(in_process: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    in_process.ask()
    file = tmp_path / "decisions.json"
    file.write_text("\ufeff" + json.dumps(RIGHT), encoding="utf-8")
    assert command(capsys, file=str(file), dry_run=True)[:1] == (0,)
    file.write_bytes(b'["\xff"]')
    assert "not UTF-8" in command(capsys, file=str(file))[1]["reason"]
    file.write_bytes(b" " * (MOST_BYTES + 1))
    assert f"more than {MOST_BYTES} bytes" in command(capsys, file=str(file))[1]["reason"]


@pytest.mark.parametrize("output", ["ascii", "latin-1", "closed", "full"])
def test_a_verified_answer_keeps_its_exit_code_whatever_stdout_is(
    in_process: Any, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    in_process.ask()
    in_process.first.act = recording(in_process, ANSWERS)
    stream = open("/dev/full" if output == "full" else os.devnull, "w", encoding="ascii")  # noqa: SIM115
    if output == "closed":
        stream.close()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr("hookrouter.cli.dialogs.answer_command._shown", lambda _: ["\u2713 verifié"])
    assert answer_command(session="main", words=[json.dumps(RIGHT)]) == 0
    stream.close()


def test_a_person_who_was_first_is_told_with_what_was_recorded(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.record_answers({"Which database?": "SQLite", "Which features?": "Export"})
    for session, named in (("main", {}), ("", {"tool_use_id": "toolu_1"}), ("main", {"tool_use_id": "toolu_1"})):
        result = answer(ask_session.app, session, json.dumps(RIGHT), **named)
        assert (result.outcome, result.exit_code, result.session) == ("answered_by_person", 4, "main")
        assert result.tool_use_id == "toolu_1"
        assert "a person answered first: Which database? -> SQLite; Which features? -> Export" in result.reason


def test_a_question_of_another_session_is_not_taken_for_the_one_that_is_over(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.record_answers({"Which database?": "SQLite", "Which features?": "Export"})
    assert answer(ask_session.app, "other", json.dumps(RIGHT)).outcome == "not_delivered"
    assert answer(ask_session.app, "main", json.dumps(RIGHT), tool_use_id="toolu_9").outcome == "not_delivered"


def test_a_dry_run_tells_of_the_hook_that_waits(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.config = Config(answer=AnswerConfig(channels=("reply", "keys")))
    ask_session.second = WaitingChannel("reply")
    result = answer(ask_session.app, "main", json.dumps(RIGHT), dry_run=True)
    assert (result.outcome, result.channel) == ("planned", "reply")
    assert len(result.steps) == 1
    assert "hand the answer to the hook that waits" in result.steps[0]
    ask_session.second.waits = False
    result = answer(ask_session.app, "main", json.dumps(RIGHT), dry_run=True)
    assert (result.channel, len(result.steps)) == ("", 2)
    ask_session.second.waits = True
    ask_session.config = Config(answer=AnswerConfig(channels=("keys", "reply")))
    assert len(answer(ask_session.app, "main", json.dumps(RIGHT), dry_run=True).steps) == 2


class WaitingChannel(Channel):
    """A channel for which a hook waits."""

    hands_over = True
    waits = True

    def is_waiting(self, _store: object, _session_id: str, _form: object) -> bool:
        return self.waits


OTHER = [{"action": "select", "optionIndex": 0}, {"action": "multi-select", "selectedIndices": [1]}]


def test_an_answer_that_comes_while_a_hook_closes_the_question_is_not_sent(ask_session: Any) -> None:
    """The hook has written how it ended, so whoever answered has gone, and has not removed the question yet."""
    ask_session.ask()
    [question] = documents.list_questions(ask_session.app.store)
    ask_session.first.act = recording(ask_session, ANSWERS)
    assert run(ask_session).outcome == "verified"
    documents.save_question(ask_session.app.store, question)
    ask_session.first.requests.clear()
    result = run(ask_session, OTHER)
    assert (result.outcome, result.exit_code) == ("not_delivered", ExitCode.NOT_DELIVERED)
    assert result.reason.endswith("answered first: Which database? -> Postgres; Which features? -> Auth, Export")
    assert not ask_session.first.requests
    assert documents.read_pending(ask_session.app.store, "main", "toolu_1") is None


@pytest.mark.parametrize("status", [AnswerStatus.UNAVAILABLE, AnswerStatus.REFUSED])
def test_the_verdict_on_another_answer_is_none_on_this_one(ask_session: Any, status: AnswerStatus) -> None:
    """Another answer, which was sent before, is recorded while this one finds no dialog any more."""
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        pending = documents.read_pending(ask_session.app.store, "main", "toolu_1")
        assert pending is not None
        documents.save_pending(ask_session.app.store, pending._replace(decisions=RIGHT))
        ask_session.record_answers(ANSWERS)
        return AnswerOutcome(status, "no dialog is there")

    ask_session.first.act = ask_session.second.act = act
    result = run(ask_session, OTHER)
    assert (result.outcome, result.exit_code) == ("not_delivered", ExitCode.NOT_DELIVERED)
    assert "another answer was recorded: Postgres; Auth, Export" in result.reason
    assert [entry["intended"] for entry in result.questions] == ["SQLite", "Export"]
