"""``hookrouter questions``."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hookrouter import notices
from hookrouter.answering import Wake
from hookrouter_ask_user_question import cli, documents
from hookrouter_ask_user_question.documents import PendingAnswer


@pytest.fixture
def waiting(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two sessions with a question each, and a notice about an earlier one."""
    monkeypatch.setattr("hookrouter.application.Application.from_environ", lambda *_: ask_session.app)
    ask_session.ask()
    ask_session.ask(environ={"FAKE_SESSION": "other"}, session_id="s-2", tool_use_id="toolu_2")
    pending = PendingAnswer("other", "s-2", "toolu_2", [{"action": "chat", "text": "x"}], "keys", 1)
    documents.save_pending(ask_session.app.store, pending)
    wake = Wake("mismatch", "default", "inbox", "main", "s-1", "toolu_0", "Recorded differently", "Both\nsides\x1b[31m")
    notices.save(ask_session.app.store, wake._replace(id="n-1", created_at="2026-11-21T10:00:00.000Z"))
    return ask_session


def show(capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    assert cli.questions(**options) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_all_questions_for_people(waiting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = show(capsys)
    assert re.search(r"^main: asked \d+ s ago, toolu_1, pane %1, agent default, gateway inbox$", text, re.MULTILINE)
    assert "\n  1. Which database?\n     0 SQLite | 1 Postgres" in text
    assert "other: " in text
    assert "an answer was delivered or given up by keys" in text
    assert "Notice n-1 (2026-11-21T10:00:00.000Z): Recorded differently" in text


def test_one_session_in_full(waiting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = show(capsys, session="main")
    assert "> Which database?" in text
    assert "--tool-use-id=toolu_1" in text
    assert "You are the human" in text
    assert "Both\nsides\\x1b[31m" in text
    assert "toolu_2" not in text


def test_all_questions_for_programs(waiting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(show(capsys, as_json=True))
    first, second = document["questions"]
    assert (first["session"], first["tool_use_id"], first["pending_answer"]) == ("main", "toolu_1", None)
    assert first["terminal"]["target"] == "%1"
    assert first["questions"][0]["question"] == "Which database?"
    assert "answer --session=main --tool-use-id=toolu_1" in first["command"]
    assert 0 <= first["age_seconds"] < 60
    assert (second["pending_answer"]["channel"], second["pending_answer"]["running"]) == ("keys", False)
    assert [notice["id"] for notice in document["notices"]] == ["n-1"]


def test_nothing_waits(waiting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(capsys, session="third") == "No question is waiting in session third.\n"


def test_a_notice_is_dismissed(waiting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Notice" not in show(capsys, dismiss="n-1")
    assert cli.questions(dismiss="n-1") == 1
    assert "there is no notice n-1" in capsys.readouterr().err


def test_several_questions_of_one_session(waiting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    waiting.ask(tool_use_id="toolu_3")
    document = json.loads(show(capsys, as_json=True))
    assert [entry["tool_use_id"] for entry in document["questions"]] == ["toolu_1", "toolu_3", "toolu_2"]
    assert all(entry["tool_use_id"] in entry["command"] for entry in document["questions"])
    text = show(capsys, session="main")
    assert "other questions open (`toolu_1`)" in text
    assert "other questions open (`toolu_3`)" in text


def test_a_hook_that_waits_and_a_client_that_has_ended_are_shown(
    waiting: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def is_waiting(_store: object, session_id: str, form: Any) -> bool:
        asked.append((session_id, form.questions[0].question))
        return session_id == "s-1"

    waiting.second.is_waiting = is_waiting
    monkeypatch.setattr(documents, "is_client_gone", lambda question: question.session_id == "s-2")
    entries = json.loads(show(capsys, as_json=True))["questions"]
    assert [(entry["hook_waits"], entry["client_gone"]) for entry in entries] == [(True, False), (False, True)]
    assert ("s-1", "Which database?") in asked
    text = show(capsys)
    assert text.count("a hook waits for the answer") == 1
    assert text.count("its client has ended") == 1
