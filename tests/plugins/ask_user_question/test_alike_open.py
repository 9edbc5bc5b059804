"""Which other forms a channel is told of, and when an answer is kept from all channels as two forms read alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.answers.result import AnswerResult

YES = [{"action": "select", "optionIndex": 0}]
DELIVERED = AnswerOutcome(AnswerStatus.DELIVERED, "the dialog took it")


def form(text: str, label: str = "Yes") -> list[dict[str, Any]]:
    options = [{"label": each, "description": "about it"} for each in (label, "No")]
    return [{"question": text, "header": "Deploy", "multiSelect": False, "options": options}]


def ask(session: Any, tool_use_id: str, questions: list[dict[str, Any]], **fields: Any) -> None:
    session.ask(tool_use_id=tool_use_id, tool_input={"questions": questions}, **fields)


def run(session: Any, tool_use_id: str) -> AnswerResult:
    return answer(session.app, "main", json.dumps(YES), tool_use_id=tool_use_id, wait=0)


PAIRS = [
    (form("Deploy? 🟢"), form("Deploy? 🔴")),
    (form("Remove résumé?"), form("Remove  resume?")),
    (form("Run `a^b`?"), form("Run ab?")),
    (form("Where?", "Prod 🟢"), form("Where?", "Prod")),
]


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_two_forms_whose_words_differ_are_left_to_the_channels(
    ask_session: Any, one: list[dict[str, Any]], two: list[dict[str, Any]]
) -> None:
    """A hook that waits knows them apart, and keys are told of the other one."""
    heard: list[int] = []

    def act(request: AnswerRequest) -> AnswerOutcome:
        heard.append(len(request.beside().forms))
        return DELIVERED

    ask_session.second.act = act
    ask(ask_session, "toolu_1", one)
    ask(ask_session, "toolu_2", two)
    assert run(ask_session, "toolu_2").outcome == "delivered"
    assert heard == [1]


def test_without_a_transcript_neither_of_two_forms_of_the_same_words_is_answered(ask_session: Any) -> None:
    """One of them may be over, and the other one on the screen."""
    ask(ask_session, "toolu_1", form("Deploy?"))
    ask(ask_session, "toolu_2", form("Deploy?"))
    for which in ("toolu_1", "toolu_2"):
        result = run(ask_session, which)
        assert result.outcome == "not_delivered"
        assert "has asked the same words more than once" in result.reason
    assert not ask_session.first.requests + ask_session.second.requests


def test_a_subagent_s_form_is_open_if_its_own_transcript_says_so(ask_session: Any) -> None:
    ask_session.write_transcript({"type": "tool_use", "id": "toolu_1"})
    folder = ask_session.transcript.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_text(
        ask_session.transcript.read_text().replace("toolu_1", "toolu_2"), encoding="utf-8"
    )
    ask_session.second.act = lambda _: DELIVERED
    ask(ask_session, "toolu_1", form("Deploy?"))
    ask(ask_session, "toolu_2", form("Deploy?"), agent_id="a1")
    result = run(ask_session, "toolu_2")
    assert result.outcome == "delivered", result


def test_a_form_of_the_same_session_in_another_pane_is_on_another_screen(ask_session: Any) -> None:
    """The session was resumed by a second client, and a tmux session was renamed."""
    heard: list[list[str]] = []

    def act(request: AnswerRequest) -> AnswerOutcome:
        heard.append([each.questions[0].question for each in request.beside().forms])
        return DELIVERED

    ask_session.second.act = act
    names = ("toolu_1", "toolu_2", "toolu_3")
    ask_session.write_transcript(*({"type": "tool_use", "id": name} for name in names))
    ask(ask_session, "toolu_1", form("Deploy?"), environ={"FAKE_PANE": "%1"})
    ask(ask_session, "toolu_2", form("Deploy?"), environ={"FAKE_PANE": "%2"})
    ask(ask_session, "toolu_3", form("Wait?"), environ={"FAKE_PANE": "%2", "FAKE_SESSION": "renamed"})
    result = run(ask_session, "toolu_2")
    assert result.outcome == "delivered", result
    assert heard == [["Wait?"]]


def test_a_channel_hears_of_the_forms_that_are_open_beside_its_own(ask_session: Any) -> None:
    def beside(request: AnswerRequest) -> list[str]:
        return [each.questions[0].question for each in request.beside().forms]

    heard: list[list[str]] = []

    def act(request: AnswerRequest) -> AnswerOutcome:
        heard.append(beside(request))
        ask(ask_session, "toolu_3", form("Third?"))
        heard.append(beside(request))
        ask_session.write_transcript(
            *({"type": "tool_use", "id": f"toolu_{number}"} for number in (1, 2, 3)),
            {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True, "content": "The user doesn't want to"},
        )
        heard.append(beside(request))
        return DELIVERED

    ask_session.first.act = act
    ask(ask_session, "toolu_1", form("First?"))
    ask(ask_session, "toolu_2", form("Second?"))
    # A session of the same name in another pane draws on another screen.
    ask(ask_session, "toolu_9", form("Elsewhere?"), session_id="s-2", environ={"FAKE_PANE": "%2"})
    result = run(ask_session, "toolu_1")
    assert result.outcome == "delivered", result
    assert heard == [["Second?"], ["Second?", "Third?"], ["Third?"]]
