"""``hookrouter questions``."""

from __future__ import annotations

import errno
import json
import re
from typing import Any

import pytest

from hookrouter.cli.dialogs.questions import questions
from hookrouter.config import AnswerConfig, Config
from hookrouter.dialogs import documents
from hookrouter.dialogs.documents import PendingAnswer
from hookrouter.messaging import notices
from hookrouter.messaging.gateway import Message
from hookrouter.util.clock import local


@pytest.fixture
def waiting(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two sessions with a question each, and a notice about an earlier one."""
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    ask_session.ask()
    ask_session.ask(environ={"FAKE_SESSION": "other"}, session_id="s-2", tool_use_id="toolu_2")
    pending = PendingAnswer("other", "s-2", "toolu_2", [{"action": "chat", "text": "x"}], "keys", 1)
    documents.save_pending(ask_session.app.store, pending)
    wake = Message(
        "mismatch", "default", "inbox", "main", "s-1", "toolu_0", "Recorded differently", "Both\nsides\x1b[31m"
    )
    notices.save(ask_session.app.store, wake._replace(id="n-1", created_at="2026-11-21T10:00:00.000Z"))
    return ask_session


def show(capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    assert questions(**options) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_all_questions_for_people(waiting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = show(capsys)
    assert re.search(r"^main: asked [\d.]+ s ago, toolu_1, pane %1, agent default, gateway inbox$", text, re.MULTILINE)
    assert "\n  1. Which database?\n     0  SQLite\n        embedded\n     1  Postgres\n        server\n" in text
    assert "\n  2. Which features? (any number of them)\n" in text
    assert "\n  To answer: hookrouter answer main NUMBER / NUMBER,NUMBER\n" in text
    assert "other: " in text
    assert "an answer was delivered or given up by keys" in text
    assert f"Notice n-1 ({local('2026-11-21T10:00:00.000Z')}): Recorded differently" in text


def test_one_session_in_full(waiting: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = show(capsys, session="main")
    assert "> Which database?" in text
    assert "--tool-use-id=toolu_1" in text
    assert "You are the human" not in text
    assert "questions --guidance --session=main" in text
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
    assert "Notice" not in show(capsys, dismiss=["n-1"])
    assert questions(dismiss=["n-1"]) == 1
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

    waiting.second.hands_over, waiting.second.is_waiting = True, is_waiting
    monkeypatch.setattr(documents, "is_client_gone", lambda question: question.session_id == "s-2")
    entries = json.loads(show(capsys, as_json=True))["questions"]
    assert [(entry["hook_waits"], entry["client_gone"]) for entry in entries] == [(True, False), (False, True)]
    assert ("s-1", "Which database?") in asked
    text = show(capsys)
    assert text.count("a hook waits for the answer") == 1
    assert text.count("its client has ended") == 1


def keep_notices(ask: Any, *sessions: str) -> list[str]:
    names = []
    for number, session in enumerate(sessions):
        ask.app.store.write("notice", f"n{number}", {"version": 1, "session": session, "subject": "S", "text": "T"})
        names.append(f"n{number}")
    return names


@pytest.mark.parametrize(
    ("dismissed", "session", "left"),
    [(["n0", "n2"], None, ["n1"]), (["all"], None, []), (["all"], "work", ["n1"]), (["n0"], None, ["n1", "n2"])],
)
def test_several_notices_are_dismissed_at_once(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, dismissed: list[str], session: str | None, left: list[str]
) -> None:
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    keep_notices(ask_session, "work", "other", "work")
    assert questions(dismiss=dismissed, session=session) == 0
    assert [notice["id"] for notice in notices.listing(ask_session.app.store)] == left


def test_the_notices_that_do_not_exist_are_named(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    keep_notices(ask_session, "work")
    assert questions(dismiss=["n0", "lost", "gone"]) == 1
    assert "there is no notice lost, gone" in capsys.readouterr().err
    assert notices.listing(ask_session.app.store) == []


def test_questions_are_listed_from_a_folder_that_cannot_be_written(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root may write anywhere, so every call that would write fails here as on a read-only file system."""
    ask_session.config = Config(answer=AnswerConfig(channels=("reply",)))
    ask_session.ask()
    documents.save_pending(
        ask_session.app.store,
        PendingAnswer("main", "s-1", "toolu_1", [{"action": "select", "optionIndex": 0}], "keys", 1),
    )

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    monkeypatch.setattr("hookrouter.storage.documents.ensure_once", refuse)
    monkeypatch.setattr("hookrouter.storage.documents.replace_file", refuse)
    assert questions(as_json=True) == 0
    (entry,) = json.loads(capsys.readouterr().out)["questions"]
    assert (entry["tool_use_id"], entry["pending_answer"]["running"]) == ("toolu_1", False)
