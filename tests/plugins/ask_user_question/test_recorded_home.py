"""The home that f7037ac left with open questions is carried on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.cli.dialogs.questions import questions
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.stories.history import history

RECORDED = Path(__file__).parents[2] / "data" / "homes" / "f7037ac"
D1 = {"session_id": "dddddddd-0000-4000-8000-000000000004", "tool_use_id": "toolu_d1"}
A1 = {"session_id": "aaaaaaaa-0000-4000-8000-000000000001", "tool_use_id": "toolu_a1"}


@pytest.fixture
def carried_on(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    shutil.copytree(RECORDED, ask_session.home.root)
    for folder, _, _ in os.walk(ask_session.home.root):
        Path(folder).chmod(0o700)
    ask_session.environ["FAKE_SESSION"] = ""
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    return ask_session


def form_of(tool_use_id: str, ask: Any) -> list[dict[str, Any]]:
    return next(one for one in documents.list_questions(ask.app.store) if one.tool_use_id == tool_use_id).questions


def test_its_questions_and_notices_are_listed(carried_on: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert questions(as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["tool_use_id"] for one in found["questions"]] == ["toolu_a1", "toolu_a2", "toolu_d1", "toolu_f1"]
    assert [one["pending_answer"] is not None for one in found["questions"]] == [False, False, True, False]
    assert [one["tool_use_id"] for one in found["notices"]] == ["toolu_e1"]
    outcomes = {one["tool_use_id"]: one["outcome"] for one in history(carried_on.journal, carried_on.app.store)}
    assert outcomes == {
        "toolu_a1": "open",
        "toolu_a2": "open",
        "toolu_b1": "unanswered",
        "toolu_c1": "mismatch",
        "toolu_d1": "open",
        "toolu_e1": "unanswered",
        "toolu_f1": "open",
    }


def test_an_answer_that_it_left_pending_is_compared(carried_on: Any) -> None:
    form = form_of("toolu_d1", carried_on)
    response = {"questions": form, "answers": {"Deploy?": "React"}, "annotations": {}}
    record = carried_on.hook(
        "post_tool_use_ask_user_question", **D1, tool_input={"questions": form}, tool_response=response
    )
    assert (record["outcome"], record["channel"]) == ("verified", "reply")
    assert not documents.is_open(carried_on.app.store, "claude-dddddddd", "toolu_d1")


def test_a_question_that_it_left_open_is_answered(carried_on: Any) -> None:
    form = form_of("toolu_a1", carried_on)

    def act(_: AnswerRequest) -> AnswerOutcome:
        response = {"questions": form, "answers": {"Which framework?": "Vue"}, "annotations": {}}
        carried_on.hook("post_tool_use_ask_user_question", **A1, tool_input={"questions": form}, tool_response=response)
        return AnswerOutcome(AnswerStatus.DELIVERED, "taken")

    carried_on.second.act = act
    decisions = json.dumps([{"action": "select", "optionIndex": 1}])
    result = answer(carried_on.app, "claude-aaaaaaaa", decisions, tool_use_id="toolu_a1", wait=5)
    assert (result.outcome, result.channel) == ("verified", "reply")


def test_its_questions_are_swept(carried_on: Any) -> None:
    record = carried_on.hook("session_end", session_id=A1["session_id"], reason="other")
    assert [one["tool_use_id"] for one in record["swept"]] == ["toolu_a1", "toolu_a2"]
    assert [one.tool_use_id for one in documents.list_questions(carried_on.app.store)] == ["toolu_d1", "toolu_f1"]
