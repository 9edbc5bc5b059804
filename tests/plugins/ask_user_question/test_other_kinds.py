"""Dialogs of other kinds that a session's events find over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hookrouter.answering.interfaces import AnswerOutcome, AnswerStatus
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.closing import End, by_person
from hookrouter.dialogs.documents import Dialog, PendingAnswer
from hookrouter.dialogs.kinds import DialogKind
from hookrouter.dialogs.messages.formatting import question_message
from hookrouter.dialogs.verdicts import list_verdicts

PUZZLE = Dialog(
    session="main",
    session_id="s-1",
    tool_use_id="toolu_1",
    questions=[{"header": "Puzzle", "question": "Which way?", "options": [{"label": "Left", "description": ""}]}],
    terminal=None,
    agent="night",
    gateway="inbox",
    kind="puzzle",
    request={"ways": 2},
)


class Puzzle(DialogKind):
    name = "puzzle"


class Outside(Puzzle):
    is_of_turn = False


class Comparing(Puzzle):
    compares_refusals = True

    def refused(self, question: Dialog, pending: PendingAnswer | None, state: str, told: str) -> End | None:
        return by_person({"Which way?": f"{state}: {told}"})


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> dict[str, DialogKind]:
    found: dict[str, DialogKind] = {}
    monkeypatch.setattr("hookrouter.dialogs.lifecycle.dialog_kinds", lambda _: found)
    return found


def ended(ask_session: Any) -> list[tuple[str, Mapping[str, str] | None]]:
    return [(one.outcome, one.recorded) for one in list_verdicts(ask_session.app.store)]


@pytest.mark.parametrize("kind", [Puzzle(), None], ids=["active", "switched off"])
def test_it_is_over_once_the_turn_is(ask_session: Any, kinds: dict[str, DialogKind], kind: DialogKind | None) -> None:
    if kind is not None:
        kinds["puzzle"] = kind
    documents.save_question(ask_session.app.store, PUZZLE)
    [swept] = ask_session.hook("stop")["swept"]
    assert (swept["outcome"], swept["told_by"]) == ("unanswered", "wake")
    assert documents.list_questions(ask_session.app.store) == []
    assert [wake.kind for wake in ask_session.wakes()] == ["unanswered"]


@pytest.mark.parametrize("hook", ["stop", "session_end", "session_start", "user_prompt_submit", "subagent_stop"])
def test_one_that_no_turn_waits_for_is_its_plugins_business(
    ask_session: Any, kinds: dict[str, DialogKind], hook: str
) -> None:
    kinds["puzzle"] = Outside()
    documents.save_question(ask_session.app.store, PUZZLE)
    assert "swept" not in ask_session.hook(hook, source="startup", reason="other", prompt="x")
    assert len(documents.list_questions(ask_session.app.store)) == 1


@pytest.mark.parametrize("hook", ["stop", "session_end", "user_prompt_submit", "subagent_stop"])
def test_its_kind_compares_a_refusal(ask_session: Any, kinds: dict[str, DialogKind], hook: str) -> None:
    kinds["puzzle"] = Comparing()
    documents.save_question(ask_session.app.store, PUZZLE._replace(transcript_path=str(ask_session.transcript)))
    refused = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "no"}
    ask_session.write_transcript({"type": "tool_use", "id": "toolu_1"}, refused)
    assert "swept" not in ask_session.hook(hook, reason="other", prompt="x")
    assert ended(ask_session) == [("answered_by_person", {"Which way?": "failed: no"})]
    [record] = ask_session.records("dialog")
    assert (record["dialog"], record["outcome"], record["hook"]) == (
        "puzzle",
        "answered_by_person",
        "".join(part.title() for part in hook.split("_")),
    )


def test_a_decision_that_its_kind_refuses_is_told_with_the_kind(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookrouter.dialogs.answers.answer.find_kind", lambda *_: Puzzle())
    documents.save_question(ask_session.app.store, PUZZLE)
    result = answer(ask_session.app, "main", '[{"action": "select", "optionIndex": 9}]')
    assert (result.outcome, result.kind) == ("invalid", "puzzle")


@pytest.mark.parametrize(("kind", "looks"), [(Puzzle(), True), (Outside(), False)], ids=["of a turn", "watched"])
def test_one_that_was_seen_before_it_was_opened_is_not_waited_for(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, kind: DialogKind, looks: bool
) -> None:
    monkeypatch.setattr("hookrouter.dialogs.answers.answer.find_kind", lambda *_: kind)
    monkeypatch.setattr("hookrouter.dialogs.answers.handing_over._LOOK_SECONDS", 0.01)
    monkeypatch.setattr("hookrouter.dialogs.documents.is_young", lambda _: len(tries) < 3)
    monkeypatch.setattr("hookrouter.answering.interfaces.AnswerChannel.serves", lambda *_: True)
    tries: list[object] = []

    def act(request: object) -> AnswerOutcome:
        tries.append(request)
        return AnswerOutcome(AnswerStatus.UNAVAILABLE, "not on the screen")

    ask_session.first.act = act
    documents.save_question(ask_session.app.store, PUZZLE)
    result = answer(ask_session.app, "main", '[{"action": "select", "optionIndex": 0}]', channel="keys")
    assert result.outcome == "not_delivered"
    assert (len(tries) > 1) == looks


def test_no_advice_is_pointed_to_that_its_kind_does_not_have() -> None:
    assert "How to decide" in question_message(PUZZLE, ["hookrouter"], {})
    assert "How to decide" not in question_message(PUZZLE, ["hookrouter"], {}, has_guidance=False)
