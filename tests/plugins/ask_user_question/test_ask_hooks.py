"""The hooks of the AskUserQuestion plugin: asking, verifying, and sweeping what never got an answer."""

from __future__ import annotations

import os
from typing import Any

import pytest

from hookrouter.config import Agent, Config
from hookrouter.dialogs import documents, opening, transcript
from hookrouter.dialogs.closing import Ending, close
from hookrouter.dialogs.composer import DialogComposer
from hookrouter.dialogs.documents import ANSWER_LOCK, PendingAnswer
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.storage.documents import StoreError
from support.pure import GONE
from support.stepped_time import SteppedTime

USE: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "AskUserQuestion", "input": {}}
DECLINED = "The user doesn't want to proceed with this tool use. STOP what you are doing and wait"
CHAT = f"{DECLINED} To tell you how to proceed, the user said: The user wants to clarify these questions."
RIGHT: list[dict[str, Any]] = [
    {"action": "select", "optionIndex": 1},
    {"action": "multi-select", "selectedIndices": [0, 1]},
]
ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth, Export"}


def result(text: str | None = None) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": "toolu_1", "content": text or "answered"}
    return block if text is None else {**block, "is_error": True}


def pend(
    ask: Any, decisions: list[dict[str, Any]] | None = None, tool_use_id: str = "toolu_1", channel: str = "keys"
) -> None:
    pending = PendingAnswer("main", "s-1", tool_use_id, RIGHT if decisions is None else decisions, channel, 1)
    documents.save_pending(ask.app.store, pending)


def age(ask: Any) -> None:
    """Let all open questions be old."""
    for question in documents.list_questions(ask.app.store):
        documents.save_question(ask.app.store, question._replace(saved_at="2026-01-01T00:00:00.000Z"))


def use(tool_use_id: str) -> dict[str, Any]:
    return {**USE, "id": tool_use_id}


def open_ids(ask: Any) -> list[str]:
    return sorted(question.tool_use_id for question in documents.list_questions(ask.app.store))


def told(ask: Any) -> list[tuple[str, str]]:
    return [(wake.kind, wake.tool_use_id) for wake in ask.wakes()]


def fail(*_: object, **__: object) -> None:
    raise StoreError("no space left")


def test_a_question_is_saved_and_the_agent_woken(ask_session: Any) -> None:
    record = ask_session.ask()
    assert record["outcome"] == "asked"
    assert record["delivery_started"]
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_1.json"]
    (question,) = documents.list_questions(ask_session.app.store)
    assert (question.tool_use_id, question.agent, question.gateway) == ("toolu_1", "default", "inbox")
    assert question.terminal is not None
    assert question.terminal.target == "%1"
    (wake,) = ask_session.wakes()
    assert (wake.kind, wake.session, wake.tool_use_id) == ("question", "main", "toolu_1")
    assert "> Which database?" in wake.text
    assert "You are the human" not in wake.text
    assert f"HOOKROUTER_HOME={ask_session.folder}/home" in wake.text


def test_an_unmanaged_session_is_left_alone(ask_session: Any) -> None:
    ask_session.config = Config(agents=(Agent("a", sessions=("other-*",)),))
    record = ask_session.ask()
    assert "unmanaged session main" in record["reason"]
    assert ask_session.record_answers(ANSWERS)["guarded"]
    assert not ask_session.documents()
    assert not ask_session.wakes()


def test_a_mode_without_a_dialog_wakes_nobody(ask_session: Any) -> None:
    assert "dontAsk" in ask_session.ask(permission_mode="dontAsk")["reason"]
    assert not ask_session.documents()
    assert not ask_session.wakes()


def test_a_form_that_cannot_be_shown(ask_session: Any) -> None:
    record = ask_session.ask(tool_input={"questions": [{"question": "Which?", "header": "H", "options": []}]})
    assert record["level"] == "warning"
    assert not ask_session.documents()


def test_a_full_disk_is_an_error_of_the_plugin(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookrouter.storage.documents.Store.write", fail)
    with pytest.raises(StoreError):
        ask_session.ask()


def test_the_right_answer_is_verified_and_nobody_woken(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session)
    record = ask_session.record_answers(ANSWERS)
    assert record["outcome"] == "verified"
    assert record["verification"]["keyed_by"] == "text"
    assert not ask_session.documents()
    assert [wake.kind for wake in ask_session.wakes()] == ["question"]


def test_answers_keyed_by_index_are_verified_too(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session)
    record = ask_session.record_answers({"0": "Postgres", "1": "Auth, Export"})
    assert (record["outcome"], record["verification"]["keyed_by"]) == ("verified", "index")


@pytest.mark.parametrize(("again", "outcome"), [("Postgres", "verified"), ("SQLite", "mismatch")])
def test_answers_of_the_dialog_before_may_be_recorded_once_more(ask_session: Any, again: str, outcome: str) -> None:
    """As 2.1.150 does with two forms of one message; in other words than before they are a mismatch."""
    color = {"question": "Which color?", "header": "Color", "options": [{"label": "Red"}, {"label": "Blue"}]}
    ask_session.ask()
    pend(ask_session)
    assert ask_session.record_answers(ANSWERS)["outcome"] == "verified"
    second = {"tool_use_id": "toolu_2", "tool_input": {"questions": [color]}}
    ask_session.ask(**second)
    pend(ask_session, [{"action": "select", "optionIndex": 0}], "toolu_2")
    answers = {**ANSWERS, "Which database?": again, "Which color?": "Red"}
    record = ask_session.record_answers(answers, **second)
    assert record["outcome"] == outcome
    assert sorted(record["verification"]["extra"]) == sorted(ANSWERS)


def test_a_mismatch_wakes_the_agent_with_both_sides(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session)
    record = ask_session.record_answers({**ANSWERS, "Which database?": "SQLite"})
    assert (record["outcome"], record["level"]) == ("mismatch", "warning")
    assert record["delivery_started"]
    assert not ask_session.documents()
    wake = ask_session.wakes()[-1]
    assert (wake.kind, wake.tool_use_id) == ("mismatch", "toolu_1")
    assert "> Postgres" in wake.text
    assert "> SQLite" in wake.text
    assert "Do not answer this question again" in wake.text


@pytest.mark.parametrize("answers", [None, [], {}, {"Which database?": ["Postgres"]}, {"Which database?": 1}, "x"])
def test_no_recorded_answer_can_break_the_comparison(ask_session: Any, answers: object) -> None:
    ask_session.ask()
    pend(ask_session)
    assert ask_session.record_answers(answers)["outcome"] == "mismatch"
    assert not ask_session.documents()


def test_a_person_answers_first(ask_session: Any) -> None:
    ask_session.ask()
    record = ask_session.record_answers(ANSWERS)
    assert record["outcome"] == "answered_by_person"
    assert not ask_session.documents()
    assert len(ask_session.wakes()) == 1


def test_a_stale_pending_answer_is_never_compared(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session, tool_use_id="toolu_0")
    record = ask_session.record_answers({"Which database?": "SQLite", "Which features?": "Auth"})
    assert record["outcome"] == "answered_by_person"
    assert "toolu_0" in record["warnings"][0]
    assert not ask_session.documents()


def test_an_answer_to_an_unknown_question(ask_session: Any) -> None:
    record = ask_session.record_answers(ANSWERS)
    assert (record["outcome"], record["level"]) == ("unknown_question", "warning")


def test_an_answer_to_another_call_leaves_an_open_question_alone(ask_session: Any) -> None:
    ask_session.ask(tool_use_id="toolu_2")
    assert ask_session.record_answers(ANSWERS)["outcome"] == "unknown_question"
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_2.json"]


def test_documents_are_removed_when_the_wake_cannot_be_saved(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_session.ask()
    pend(ask_session)
    monkeypatch.setattr("hookrouter.messaging.outbox.Outbox.put", fail)
    with pytest.raises(StoreError):
        ask_session.record_answers({})
    assert not ask_session.documents()
    record = ask_session.records("PostToolUse")[-1]
    assert record["outcome"] == "mismatch"
    assert "could not be told" in record["warnings"][0]


def test_documents_are_removed_when_comparing_raises(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session, [{"action": "select", "optionIndex": 99}])
    with pytest.raises(IndexError):
        ask_session.record_answers(ANSWERS)
    assert not ask_session.documents()


def test_the_session_may_be_renamed_while_it_asks(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session)
    record = ask_session.record_answers(ANSWERS, environ={"FAKE_SESSION": "renamed"})
    assert record["outcome"] == "verified"
    assert not ask_session.documents()


def test_a_dialog_that_answers_itself_is_no_answer(ask_session: Any) -> None:
    response = {"questions": [], "answers": {}, "afkTimeoutMs": 60000}
    ask_session.ask()
    record = ask_session.record_answers({}, tool_response=response)
    assert record["outcome"] == "unanswered"
    assert ask_session.wakes()[-1].kind == "unanswered"
    assert "by itself after 60 s" in ask_session.wakes()[-1].text
    ask_session.ask()
    pend(ask_session)
    assert ask_session.record_answers({}, tool_response={**response, "answers": ANSWERS})["outcome"] == "mismatch"


@pytest.mark.parametrize("version", ["2.1.330", "2.1.236", "2.1.200", "unknown"])
def test_commas_that_may_join_two_labels_are_no_verified_answer(ask_session: Any, version: str) -> None:
    options = [{"label": "A, B"}, {"label": "A"}, {"label": "B"}]
    form = [{"question": "Which?", "header": "H", "options": options, "multiSelect": True}]
    ask_session.write_transcript(USE, version=version)
    ask_session.ask(tool_input={"questions": form})
    pend(ask_session, [{"action": "multi-select", "selectedIndices": [0]}])
    record = ask_session.record_answers({"Which?": "A, B"})
    assert record["outcome"] == "mismatch"
    (compared,) = record["verification"]["questions"]
    assert compared["result"] == ("different" if version == "2.1.330" else "ambiguous")


@pytest.mark.parametrize(
    ("version", "recorded", "outcome"),
    [("2.1.330", '"A, B"', "verified"), ("2.1.200", "A, B", "verified"), ("2.1.200", '"A, B"', "mismatch")],
)
def test_a_client_s_version_says_how_it_writes_commas(
    ask_session: Any, version: str, recorded: str, outcome: str
) -> None:
    options = [{"label": "A, B"}, {"label": "C"}]
    form = [{"question": "Which?", "header": "H", "options": options, "multiSelect": True}]
    ask_session.write_transcript(USE, version=version)
    ask_session.ask(tool_input={"questions": form})
    pend(ask_session, [{"action": "multi-select", "selectedIndices": [0]}])
    assert ask_session.record_answers({"Which?": recorded})["outcome"] == outcome


@pytest.mark.parametrize("version", ["2.1.330", "2.1.236", "2.1.200", "unknown"])
@pytest.mark.parametrize(
    ("chosen", "recorded", "outcome"),
    [
        ((0, 1), '"A, B", A', "verified"),
        ((0,), '"A, B"', "verified"),
        ((1, 2), "A, B", "verified"),
        ((0,), "A", "mismatch"),
        ((0, 1), '"A, B"', "mismatch"),
    ],
)
def test_what_was_handed_in_is_recorded_as_it_came_by_every_version(
    ask_session: Any, version: str, chosen: tuple[int, ...], recorded: str, outcome: str
) -> None:
    options = [{"label": "A, B"}, {"label": "A"}, {"label": "B"}]
    form = [{"question": "Which?", "header": "H", "options": options, "multiSelect": True}]
    ask_session.write_transcript(USE, version=version)
    ask_session.ask(tool_input={"questions": form})
    pend(ask_session, [{"action": "multi-select", "selectedIndices": list(chosen)}], channel="reply")
    assert ask_session.record_answers({"Which?": recorded})["outcome"] == outcome


@pytest.mark.parametrize("text", [DECLINED, CHAT, "Error: denied by a hook", None])
def test_the_next_question_closes_one_that_is_over(ask_session: Any, text: str | None) -> None:
    ask_session.ask()
    pend(ask_session)
    ask_session.write_transcript(USE, result(text))
    if text is None:
        assert "swept" not in ask_session.ask(tool_use_id="toolu_1b")
        assert ask_session.record_answers(ANSWERS, tool_use_id="toolu_1b")["outcome"] == "answered_by_person"
        age(ask_session)
    (swept,) = ask_session.ask(tool_use_id="toolu_2")["swept"]
    assert swept["outcome"] == ("unverified" if text is None else "unanswered")
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_2.json"]
    assert told(ask_session)[-2:] == [
        ("warning" if text is None else "unanswered", "toolu_1"), ("question", "toolu_2"),
    ]  # fmt: skip


def test_the_next_question_closes_an_old_one_that_nothing_speaks_for(ask_session: Any) -> None:
    ask_session.ask()
    age(ask_session)
    (swept,) = ask_session.ask(tool_use_id="toolu_2")["swept"]
    assert swept["reason"] == "the next question was asked before this one was answered"
    assert open_ids(ask_session) == ["toolu_2"]


def test_questions_that_are_asked_together_all_stay_open(ask_session: Any) -> None:
    assert "swept" not in ask_session.ask()
    assert "swept" not in ask_session.ask(tool_use_id="toolu_2")
    ask_session.write_transcript(USE, use("toolu_2"))
    age(ask_session)
    assert "swept" not in ask_session.ask(tool_use_id="toolu_3")
    assert open_ids(ask_session) == ["toolu_1", "toolu_2", "toolu_3"]
    assert told(ask_session) == [("question", f"toolu_{number}") for number in (1, 2, 3)]
    first, _, third = (wake.text for wake in ask_session.wakes())
    assert "other questions open" not in first
    assert "other questions open (`toolu_1`, `toolu_2`)" in third


@pytest.mark.parametrize("order", [("toolu_1", "toolu_2"), ("toolu_2", "toolu_1")])
def test_questions_that_were_asked_together_are_verified_in_any_order(ask_session: Any, order: tuple[str, str]) -> None:
    wrong = {**ANSWERS, "Which database?": "SQLite"}
    for tool_use_id in ("toolu_1", "toolu_2"):
        ask_session.ask(tool_use_id=tool_use_id)
        pend(ask_session, tool_use_id=tool_use_id)
    assert ask_session.record_answers(wrong, tool_use_id=order[0])["outcome"] == "mismatch"
    assert open_ids(ask_session) == [order[1]]
    assert len(ask_session.documents()) == 2
    assert ask_session.record_answers(ANSWERS, tool_use_id=order[1])["outcome"] == "verified"
    assert not ask_session.documents()
    assert told(ask_session)[2:] == [("mismatch", order[0])]


def test_sweeps_close_only_those_that_are_over(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.ask(tool_use_id="toolu_2")
    ask_session.write_transcript(USE, use("toolu_2"), result(DECLINED))
    assert [swept["tool_use_id"] for swept in prompt(ask_session)["swept"]] == ["toolu_1"]
    assert open_ids(ask_session) == ["toolu_2"]
    ask_session.ask()
    assert len(ask_session.hook("session_end", reason="other")["swept"]) == 2
    assert not ask_session.documents()


def test_an_answer_to_another_question_does_not_keep_the_agent_from_hearing(ask_session: Any) -> None:
    """``answer`` is at the second question while the first one, which an earlier attempt left noted, is declined."""
    for tool_use_id in ("toolu_1", "toolu_2"):
        ask_session.ask(tool_use_id=tool_use_id)
        pend(ask_session, tool_use_id=tool_use_id)
    ask_session.write_transcript(USE, use("toolu_2"), result(DECLINED))
    store = ask_session.app.store
    with store.lock(ANSWER_LOCK, "main", 0), store.lock(ANSWER_LOCK, "main:toolu_2", 0):
        (swept,) = prompt(ask_session)["swept"]
    assert (swept["tool_use_id"], swept["told_by"]) == ("toolu_1", "wake")


def test_a_question_that_was_closed_meanwhile_is_told_of_once(ask_session: Any) -> None:
    """Two hooks sweep at the same time; both have read the question before either closes it."""
    ask_session.ask()
    (question,) = documents.list_questions(ask_session.app.store)
    stop(ask_session)

    def second(context: Any) -> None:
        close(context, [Ending(question, "the session ended")])

    assert "swept" not in ask_session.hook("session_end", reason="other", prepare=second)
    assert told(ask_session) == [("question", "toolu_1"), ("unanswered", "toolu_1")]


def test_a_subagents_question_stays_open_beside_the_next_one(ask_session: Any) -> None:
    ask_session.ask(agent_id="sub-1")
    age(ask_session)
    assert "swept" not in ask_session.ask(tool_use_id="toolu_2")
    assert open_ids(ask_session) == ["toolu_1", "toolu_2"]


def test_the_next_session_in_the_same_place_closes_what_the_one_before_asked(ask_session: Any) -> None:
    client = {"CLAUDE_PID": str(os.getpid())}
    ask_session.ask(environ=client)
    record = ask_session.ask(tool_use_id="toolu_2", session_id="s-2", environ=client)
    assert record["swept"][0]["session_id"] == "s-1"
    assert open_ids(ask_session) == ["toolu_2"]


def test_another_living_client_in_the_same_place_keeps_its_question(ask_session: Any) -> None:
    ask_session.ask(environ={"CLAUDE_PID": str(os.getpid())})
    record = ask_session.ask(tool_use_id="toolu_2", session_id="s-2", environ={"CLAUDE_PID": "1"})
    assert "swept" not in record
    assert open_ids(ask_session) == ["toolu_1", "toolu_2"]


def test_the_same_question_again_closes_nothing(ask_session: Any) -> None:
    ask_session.ask()
    assert "swept" not in ask_session.ask()


def stop(ask: Any, **fields: Any) -> dict[str, Any]:
    record: dict[str, Any] = ask.hook("stop", stop_hook_active=False, **fields)
    return record


def prompt(ask: Any, **fields: Any) -> dict[str, Any]:
    record: dict[str, Any] = ask.hook("user_prompt_submit", prompt="go on", **fields)
    return record


@pytest.mark.parametrize(
    ("hook", "fields"),
    [
        ("stop", {"stop_hook_active": False}),
        ("session_end", {"reason": "clear"}),
        ("session_start", {"source": "resume"}),
        ("post_tool_use_failure_ask_user_question", {"error": "failed"}),
    ],
)
def test_events_that_end_a_question(ask_session: Any, hook: str, fields: dict[str, Any]) -> None:
    ask_session.ask()
    record = ask_session.hook(hook, **fields)
    (swept,) = record["swept"]
    assert (swept["tool_use_id"], swept["outcome"], swept["told_by"]) == ("toolu_1", "unanswered", "wake")
    assert record["delivery_started"]
    assert not ask_session.documents()
    assert [wake.kind for wake in ask_session.wakes()] == ["question", "unanswered"]
    assert "swept" not in ask_session.hook(hook, **fields)
    assert len(ask_session.wakes()) == 2


@pytest.mark.parametrize(
    ("hook", "fields"),
    [
        ("stop", {"stop_hook_active": False}),
        ("user_prompt_submit", {"prompt": "x"}),
        ("session_end", {"reason": "other"}),
    ],
)
def test_events_of_another_session_or_a_subagent_end_nothing(
    ask_session: Any, hook: str, fields: dict[str, Any]
) -> None:
    ask_session.ask()
    ask_session.write_transcript(USE, result(DECLINED))
    assert "swept" not in ask_session.hook(hook, session_id="s-2", **fields)
    if hook != "session_end":
        assert "swept" not in ask_session.hook(hook, agent_id="sub", **fields)
    assert ask_session.documents() == ["question-s-1%3Amain%3Atoolu_1.json"]


def test_stop_trusts_a_transcript_that_shows_the_question_open(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "time", SteppedTime())
    ask_session.write_transcript(USE)
    ask_session.ask()
    assert "swept" not in stop(ask_session)
    ask_session.write_transcript(USE, result(DECLINED))
    assert stop(ask_session)["swept"][0]["reason"] == "the dialog was closed without an answer"


def test_a_prompt_typed_before_the_dialog_is_drawn_ends_nothing(ask_session: Any) -> None:
    ask_session.ask()
    assert "swept" not in prompt(ask_session)
    ask_session.write_transcript(USE)
    assert "swept" not in prompt(ask_session)


def test_a_prompt_after_the_dialog_was_closed(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.write_transcript(USE, result(DECLINED))
    assert prompt(ask_session)["swept"][0]["outcome"] == "unanswered"


def test_a_prompt_that_overtakes_post_tool_use(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session)
    ask_session.write_transcript(USE, result())
    assert "swept" not in prompt(ask_session)
    assert ask_session.record_answers(ANSWERS)["outcome"] == "verified"


def test_without_a_transcript_an_old_question_is_over_at_the_next_prompt(ask_session: Any) -> None:
    ask_session.ask(transcript_path="")
    age(ask_session)
    assert prompt(ask_session, transcript_path="")["swept"][0]["outcome"] == "unanswered"


def test_an_answer_that_no_post_tool_use_saw(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session)
    ask_session.write_transcript(USE, result())
    assert stop(ask_session)["swept"][0]["outcome"] == "unverified"
    assert ask_session.wakes()[-1].kind == "warning"


def test_a_person_chooses_to_chat(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.write_transcript(USE, result(CHAT))
    (swept,) = stop(ask_session)["swept"]
    assert (swept["outcome"], swept["told_by"]) == ("unanswered", "wake")
    assert "Chat about this" in ask_session.wakes()[-1].text


def test_a_chat_that_was_delivered_wakes_nobody(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session, [{"action": "chat", "text": "no"}])
    ask_session.write_transcript(USE, result(CHAT))
    (swept,) = stop(ask_session)["swept"]
    assert (swept["outcome"], swept["told_by"]) == ("chat", "nobody")
    assert not ask_session.documents()
    assert len(ask_session.wakes()) == 1


def test_a_chat_that_never_arrived_is_told(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session, [{"action": "chat", "text": "no"}])
    ask_session.write_transcript(USE, result(DECLINED))
    assert stop(ask_session)["swept"][0]["outcome"] == "unanswered"


def test_while_answer_runs_it_is_the_one_to_tell_the_agent(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session)
    ask_session.write_transcript(USE, result(DECLINED))
    with ask_session.app.store.lock(ANSWER_LOCK, "main:toolu_1", 0):
        (swept,) = prompt(ask_session)["swept"]
    assert (swept["outcome"], swept["told_by"]) == ("unanswered", "answer")
    assert len(ask_session.wakes()) == 1
    assert not ask_session.documents()


def test_a_chat_that_is_being_delivered_is_left_to_answer(ask_session: Any) -> None:
    ask_session.ask()
    pend(ask_session, [{"action": "chat", "text": "no"}])
    ask_session.write_transcript(USE, result(CHAT))
    with ask_session.app.store.lock(ANSWER_LOCK, "main:toolu_1", 0):
        assert stop(ask_session)["swept"][0]["outcome"] == "left"
        assert len(ask_session.documents()) == 2
        assert ask_session.hook("session_end", reason="other")["swept"][0]["outcome"] == "chat"
    assert not ask_session.documents()


def test_a_subagents_question_outlives_the_main_conversations_turn(ask_session: Any) -> None:
    ask_session.ask(agent_id="sub-1")
    assert "swept" not in stop(ask_session)
    assert "swept" not in prompt(ask_session)
    assert "swept" not in ask_session.hook("session_start", source="compact")
    assert ask_session.hook("session_end", reason="other")["swept"]


def test_another_session_in_the_same_place_closes_what_a_dead_client_asked(ask_session: Any) -> None:
    ask_session.ask(environ={"CLAUDE_PID": str(GONE)})
    record = ask_session.hook("session_start", source="startup", session_id="s-2", environ={"CLAUDE_PID": "1"})
    assert record["swept"][0]["session_id"] == "s-1"


def test_clear_closes_the_question_of_the_same_client(ask_session: Any) -> None:
    client = {"CLAUDE_PID": str(os.getpid())}
    ask_session.ask(environ=client)
    assert ask_session.hook("session_start", source="clear", session_id="s-2", environ=client)["swept"]


def test_another_client_beside_a_living_one_closes_nothing(ask_session: Any) -> None:
    ask_session.ask(environ={"CLAUDE_PID": str(os.getpid())})
    for environ in ({"CLAUDE_PID": "1"}, {"CLAUDE_PID": "1", "FAKE_SESSION": "other"}):
        record = ask_session.hook("session_start", source="startup", session_id="s-2", environ=environ)
        assert "swept" not in record


@pytest.fixture
def gone() -> str:
    """The process id of a client that has ended."""
    return str(GONE)


def test_a_client_that_was_killed_is_noticed_by_the_next_session_that_starts(ask_session: Any, gone: str) -> None:
    ask_session.ask(environ={"CLAUDE_PID": gone})
    other = {"environ": {"FAKE_SESSION": "elsewhere", "CLAUDE_PID": str(os.getpid())}, "session_id": "s-2"}
    record = ask_session.hook("session_start", source="startup", **other)
    (swept,) = record["swept"]
    assert (swept["tool_use_id"], swept["outcome"], swept["told_by"]) == ("toolu_1", "unanswered", "wake")
    assert swept["reason"] == "the client that asked has ended without an answer"
    assert record["delivery_started"]
    assert [wake.kind for wake in ask_session.wakes()] == ["question", "unanswered"]
    third = {"environ": {"FAKE_SESSION": "third"}, "session_id": "s-3"}
    assert "swept" not in ask_session.hook("session_start", **third, source="startup")


def test_a_client_that_was_killed_is_noticed_by_the_deliverer_of_any_other_question(
    ask_session: Any, gone: str
) -> None:
    ask_session.ask(environ={"CLAUDE_PID": gone})
    other = {"environ": {"FAKE_SESSION": "elsewhere", "CLAUDE_PID": str(os.getpid())}, "session_id": "s-2"}
    assert "swept" not in ask_session.ask(tool_use_id="toolu_9", **other)
    for _ in range(2):
        DialogComposer().catch_up(ask_session.app)
    (swept,) = ask_session.records("delivery")[0]["swept"]
    assert (swept["tool_use_id"], swept["outcome"], swept["told_by"]) == ("toolu_1", "unanswered", "wake")
    mine = [wake.kind for wake in ask_session.wakes() if wake.tool_use_id == "toolu_1"]
    assert mine == ["question", "unanswered"]
    (verdict,) = list_verdicts(ask_session.app.store)
    assert (verdict.tool_use_id, verdict.outcome) == ("toolu_1", "unanswered")
    (story,) = [one for one in history(ask_session.journal, ask_session.app.store) if one["tool_use_id"] == "toolu_1"]
    assert (story["outcome"], story["by"]) == ("unanswered", "nobody")
    assert [one.tool_use_id for one in documents.list_questions(ask_session.app.store)] == ["toolu_9"]


def test_a_client_of_another_machine_is_not_known_to_be_gone(
    ask_session: Any, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(opening, "process_space", lambda: "elsewhere pid:[1]")
        ask_session.ask(environ={"CLAUDE_PID": gone})
    other = {"environ": {"FAKE_SESSION": "elsewhere", "CLAUDE_PID": str(os.getpid())}, "session_id": "s-2"}
    assert "swept" not in ask_session.hook("session_start", **other, source="startup")


def test_one_failing_sweep_does_not_stop_the_new_question(ask_session: Any) -> None:
    ask_session.ask()
    age(ask_session)

    def break_first_put(context: Any) -> None:
        put = context.outbox.put

        def failing(wake: Any, **options: Any) -> Any:
            if wake.kind == "unanswered":
                raise StoreError("no space left")
            return put(wake, **options)

        context.outbox.put = failing

    record = ask_session.ask(tool_use_id="toolu_2", prepare=break_first_put)
    assert record["outcome"] == "asked"
    assert any("could not be" in warning for warning in record["warnings"])
    assert ask_session.wakes()[-1].tool_use_id == "toolu_2"
    assert open_ids(ask_session) == ["toolu_1", "toolu_2"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"{\n[]\nnull\n",
        b'{"message": 5, "x": "toolu_1"}\n',
        b'{"message": {"content": [5, "toolu_1"]}}\n',
    ],
)
def test_a_strange_transcript_proves_nothing(ask_session: Any, content: bytes) -> None:
    ask_session.transcript.write_bytes(content)
    ask_session.ask()
    assert "swept" not in prompt(ask_session)
    assert stop(ask_session)["swept"]


def test_a_pipe_in_place_of_the_transcript_blocks_nothing(ask_session: Any) -> None:
    os.mkfifo(ask_session.transcript)
    ask_session.ask()
    assert stop(ask_session)["swept"]


@pytest.mark.parametrize("hook", ["ask", "session_start"])
def test_clients_in_two_panes_of_a_session_leave_each_other_s_questions_open(ask_session: Any, hook: str) -> None:
    """Clients such as 2.0.76 do not say their process id."""
    ask_session.ask()
    other: dict[str, Any] = {"environ": {"FAKE_PANE": "%2"}, "session_id": "s-2"}
    if hook == "ask":
        record = ask_session.ask(**other, tool_use_id="toolu_2")
    else:
        record = ask_session.hook("session_start", **other, source="startup")
    assert "swept" not in record
    assert "question-s-1%3Amain%3Atoolu_1.json" in ask_session.documents()


def test_a_client_of_another_container_is_not_taken_for_dead_in_the_same_place(
    ask_session: Any, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(opening, "process_space", lambda: "elsewhere pid:[1]")
        ask_session.ask(environ={"CLAUDE_PID": gone})
    record = ask_session.hook("session_start", session_id="s-2", source="startup")
    assert "swept" not in record


def test_a_session_that_no_agent_manages_is_said_once(ask_session: Any) -> None:
    ask_session.config = Config(agents=(Agent(id="night", sessions=("deploy", "mian-*")),))
    first, second = ask_session.ask(), ask_session.ask(tool_use_id="toolu_2")
    assert first["level"] == "warning"
    assert first["unmanaged"] == {"session": "main", "cwd": "/tmp", "nearest": "mian-*"}
    assert "no [[agents]] entry matches it and /tmp; the nearest is sessions = ['mian-*']" in first["reason"]
    assert "unmanaged" not in second
    assert second["guarded"] is True
    other = ask_session.ask(session_id="s-2")
    assert other["unmanaged"]["session"] == "main"


def test_nothing_is_said_where_no_agent_was_meant_for_some(ask_session: Any) -> None:
    ask_session.config = Config(agents=(Agent(id="night", enabled=False, sessions=("mian",)),))
    assert "unmanaged" not in ask_session.ask()
