"""A question that could not be saved when it was asked is found again by the client's own state, and told."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import _wiring
from hookrouter.cli.main import main
from hookrouter.config import Agent, Config
from hookrouter.dialogs import documents, unsaved
from hookrouter.dialogs.kinds import DialogKind
from hookrouter.dialogs.transcript import open_calls
from hookrouter.dialogs.unsaved import open_unsaved
from hookrouter.storage.documents import Store
from hookrouter.storage.interface import StoreError
from hookrouter_ask_user_question.kind import QuestionKind
from support.ask_session import FORM

CALL = {"type": "tool_use", "id": "toolu_1", "name": "AskUserQuestion", "input": {"questions": FORM}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}


@pytest.fixture
def full(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A session that asks while nothing can be saved; ``full.free()`` ends that."""
    ask_session.config = Config(agents=(Agent("night"),))
    client = Path(ask_session.environ.get("HOME") or os.environ["HOME"]) / ".claude"
    ask_session.environ["HOME"] = str(client.parent)
    monkeypatch.setenv("HOME", str(client.parent))
    registry = client / "sessions" / f"{os.getpid()}.json"
    registry.parent.mkdir(parents=True)
    entry = {"pid": os.getpid(), "sessionId": "s-1", "cwd": "/tmp", "status": "waiting", "waitingFor": "input needed"}
    registry.write_text(json.dumps(entry))
    ask_session.transcript = client / "projects" / "-tmp" / "s-1.jsonl"
    ask_session.transcript.parent.mkdir(parents=True)
    ask_session.write_transcript(CALL)
    monkeypatch.setattr(unsaved, "process_environ", lambda _pid: {"FAKE_SESSION": "main"})
    monkeypatch.setattr(_wiring, "start_delivery", lambda *_, **__: None)
    # What a command sees.
    Path(ask_session.home.root).mkdir(exist_ok=True)
    Path(ask_session.home.config_file).write_text('[[agents]]\nid = "night"\n')
    monkeypatch.setenv("HOOKROUTER_HOME", ask_session.home.root)
    monkeypatch.setattr("hookrouter.cli.dialogs.questions.push", lambda *_: False)

    def no_space(*_arguments: object, **_options: object) -> None:
        raise StoreError(f"cannot write: {os.strerror(errno.ENOSPC)}")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_put", no_space)
        with pytest.raises(StoreError):
            ask_session.ask()
    assert documents.list_questions(ask_session.app.store) == []
    ask_session.registry, ask_session.entry, ask_session.no_space = registry, entry, no_space
    return ask_session


def questions(session: Any) -> list[tuple[str, str]]:
    return [(one.session, one.tool_use_id) for one in documents.list_questions(session.app.store)]


def test_it_is_found_and_told_once_it_can_be_saved(full: Any) -> None:
    for _ in range(2):
        open_unsaved(full.app)
        assert questions(full) == [("main", "toolu_1")]
    assert [(wake.kind, wake.agent, wake.tool_use_id) for wake in full.wakes()] == [("question", "night", "toolu_1")]


def test_the_list_of_questions_finds_it(full: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["questions", "--json"]) == 0
    assert [one["tool_use_id"] for one in json.loads(capsys.readouterr().out)["questions"]] == ["toolu_1"]


def test_as_long_as_it_cannot_be_saved_the_list_of_questions_fails(
    full: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Store, "_put", full.no_space)
    assert main(["questions"]) == 1
    assert "No space left" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [{"status": "idle"}, {"waitingFor": "permission prompt"}, {"waitingFor": "dialog open"}, {"sessionId": "../s-1"}],
)
def test_a_client_that_waits_for_something_else_asks_nothing(full: Any, change: dict[str, str]) -> None:
    full.registry.write_text(json.dumps({**full.entry, **change}))
    open_unsaved(full.app)
    assert questions(full) == []


@pytest.mark.parametrize("blocks", [[CALL, RESULT], [], [{**CALL, "name": "Bash"}], [{**CALL, "input": {}}]])
def test_a_transcript_that_shows_no_open_question_makes_none(full: Any, blocks: list[dict[str, Any]]) -> None:
    full.write_transcript(*blocks)
    open_unsaved(full.app)
    assert questions(full) == []


def test_one_that_was_known_and_has_ended_is_not_opened_again(full: Any) -> None:
    open_unsaved(full.app)
    full.record_answers({"Which database?": "SQLite", "Which features?": "Auth"})
    assert questions(full) == []
    open_unsaved(full.app)
    assert questions(full) == []


def test_a_session_that_no_agent_manages_is_left_alone(full: Any) -> None:
    full.config = Config(agents=(Agent("night", sessions=("another",)),))
    open_unsaved(full.app)
    assert questions(full) == []


KEYS = st.sampled_from(["type", "id", "name", "input", "tool_use_id", "message", "content", "isSidechain"]) | st.text()
VALUES = st.sampled_from(["tool_use", "tool_result", "AskUserQuestion", "toolu_1", "user"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "id", "name", "input", "tool_use_id", "message", "content", "isSidechain"])
            | st.text(),
            inner | st.sampled_from(["tool_use", "tool_result", "AskUserQuestion", "toolu_1", "user"]),
            max_size=4,
        )
    ),
)


@given(st.lists(JSON | st.just({"type": "assistant", "message": {"content": [CALL]}}), max_size=4))
def test_whatever_a_transcript_holds_is_read(tmp_path_factory: pytest.TempPathFactory, lines: list[Any]) -> None:
    path = tmp_path_factory.mktemp("transcript") / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for call in open_calls(str(path)):
        assert isinstance(call.tool_input, dict)


def test_a_kind_that_finds_nothing_again_keeps_no_other_from_it(full: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"other": DialogKind(), "question": QuestionKind()}
    plugins = type(full.app.plugins)
    there = plugins.contributions
    monkeypatch.setattr(
        plugins,
        "contributions",
        lambda one, hook, *key, **how: kinds if hook == "dialog_kinds" else there(one, hook, *key, **how),
    )
    # No question is open, so all other kinds are asked.
    full.write_transcript({**CALL, "name": "Other"})
    open_unsaved(full.app)
    assert questions(full) == []
    full.write_transcript(CALL)
    open_unsaved(full.app)
    assert questions(full) == [("main", "toolu_1")]
