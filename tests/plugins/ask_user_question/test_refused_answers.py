"""An answer that is refused can be told from none at all."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hookrouter.cli.dialogs.questions import questions
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.answers.identity import Author


def listed(ask_session: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    capsys.readouterr()
    questions(as_json=True)
    [entry] = json.loads(capsys.readouterr().out)["questions"]
    questions()
    return entry["refused_answers"], capsys.readouterr().out


@pytest.mark.parametrize(
    "said", ["nonsense", "[]", '[{"action": "slect", "optionIndex": 0}]', '[{"action": "select", "optionIndex": 99}]']
)
def test_an_answer_that_does_not_fit_is_journalled_and_listed(
    ask_session: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    ask_session.ask()
    assert listed(ask_session, capsys, monkeypatch)[0] is None
    for _ in range(2):
        refused = answer(ask_session.app, "main", said)
        assert refused.exit_code == 2
    records = [one for one in ask_session.app.journal.records("s-1") if one.get("event") == "answer"]
    assert [(one["outcome"], one["reason"], one["tool_use_id"], one["by"]) for one in records] == [
        ("invalid", refused.reason, "toolu_1", "agent")
    ] * 2
    refusals, shown = listed(ask_session, capsys, monkeypatch)
    assert (refusals["count"], refusals["reason"]) == (2, refused.reason)
    assert re.search("an answer refused 2 times, .* ago: ", shown)


def test_what_a_person_mistypes_and_a_dry_run_are_no_refused_answers(
    ask_session: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_session.ask()
    assert answer(ask_session.app, "main", "nonsense", dry_run=True).exit_code == 2
    assert [one for one in ask_session.app.journal.records("s-1") if one.get("event") == "answer"] == []
    assert answer(ask_session.app, "main", "nonsense", author=Author("person", "eve", is_present=True)).exit_code == 2
    assert listed(ask_session, capsys, monkeypatch)[0] is None
    answer(ask_session.app, "main", "nonsense")
    assert listed(ask_session, capsys, monkeypatch)[0]["count"] == 1
