"""A client that no terminal's keys reach, as ``claude -p … &``: what needs no terminal still serves it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from hookrouter.answering.interfaces import AnswerOutcome, AnswerStatus
from hookrouter.dialogs.answers.answer import answer
from hookrouter.util.system import ProcessStatus

DECIDED = '[{"action": "select", "optionIndex": 0}, {"action": "multi-select", "selectedIndices": [0]}]'


def test_an_answer_goes_to_the_channels_of_a_client_in_the_background(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = ProcessStatus("S", 20, 10, "", has_terminal=True)
    monkeypatch.setattr("hookrouter.util.claude_process.process_status", lambda _pid: behind)
    ask_session.first.act = lambda _: AnswerOutcome(AnswerStatus.UNAVAILABLE, "no keys reach it")
    ask_session.second.act = lambda _: AnswerOutcome(AnswerStatus.DELIVERED, "the waiting hook took it")
    ask_session.ask(environ={"CLAUDE_PID": str(os.getpid())})
    result = answer(ask_session.app, "main", DECIDED, wait=0)
    assert (result.outcome, result.channel) == ("delivered", "reply"), result
    assert [one.client_pid for one in ask_session.second.requests] == [os.getpid()]
