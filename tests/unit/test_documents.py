"""The question and pending-answer documents."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from hookrouter.answering import TerminalAddress
from hookrouter.store import Store
from hookrouter_ask_user_question import documents
from hookrouter_ask_user_question.documents import PendingAnswer, Question

FORM = [{"question": "Which?", "header": "Q", "options": [{"label": "A"}, {"label": "B"}], "multiSelect": False}]


def question(session: str = "main", tool_use_id: str = "toolu_1", **more: Any) -> Question:
    fields: dict[str, Any] = {
        "session": session,
        "session_id": "s-1",
        "tool_use_id": tool_use_id,
        "questions": FORM,
        "terminal": TerminalAddress("tmux", session, "%3", "/tmp/tmux-0/default"),
        "agent": "default",
        "gateway": "inbox",
    }
    return Question(**{**fields, **more})


def pending(session: str = "main", tool_use_id: str = "toolu_1") -> PendingAnswer:
    decision = {"action": "select", "optionIndex": 0}
    return PendingAnswer(session, "s-1", tool_use_id, [decision], "keys", 7)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), pytest.fail)


@pytest.mark.parametrize("session", ["main", "../../x", "a/b", ".hidden", "ü %2e", "x" * 300])
def test_a_question_reads_back_as_it_was_saved(store: Store, session: str) -> None:
    saved = question(session, terminal=None, agent_id="sub-1", client_pid=12)
    path = Path(documents.save_question(store, saved))
    read = documents.read_question(store, session)
    assert read is not None
    assert read.saved_at.endswith("Z")
    assert read._replace(saved_at="") == saved
    assert path.parent == Path(store.folder)
    assert path.name.startswith("question-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pending_answer_reads_back_as_it_was_saved(store: Store) -> None:
    path = Path(documents.save_pending(store, pending()))
    read = documents.read_pending(store, "main")
    assert read is not None
    assert read._replace(saved_at="") == pending()
    assert path.name == "pending-answer-main.json"


def test_the_terminal_address_survives(store: Store) -> None:
    documents.save_question(store, question())
    read = documents.read_question(store, "main")
    assert read is not None
    assert read.terminal == TerminalAddress("tmux", "main", "%3", "/tmp/tmux-0/default")


def test_nothing_is_there(store: Store) -> None:
    assert documents.read_question(store, "main") is None
    assert documents.read_pending(store, "main") is None
    assert documents.list_questions(store) == []
    assert not documents.delete_question(store, question())
    assert not documents.delete_pending(store, "main")
    assert not documents.delete_pending(store, "main", "toolu_1")


def test_a_later_questions_documents_are_never_deleted(store: Store) -> None:
    documents.save_question(store, question(tool_use_id="toolu_2"))
    documents.save_pending(store, pending(tool_use_id="toolu_2"))
    assert not documents.delete_question(store, question(tool_use_id="toolu_1"))
    assert not documents.delete_pending(store, "main", "toolu_1")
    assert documents.delete_pending(store, "main", "toolu_2")
    assert documents.delete_question(store, question(tool_use_id="toolu_2"))


def test_questions_of_all_sessions_are_listed_and_found(store: Store) -> None:
    for session in ("b", "a/x"):
        documents.save_question(store, question(session, f"toolu_{session}", session_id=f"id-{session}"))
    assert [found.session for found in documents.list_questions(store)] == ["a/x", "b"]
    found = documents.find_question(store, "id-b", "toolu_b")
    assert found is not None
    assert found.session == "b"
    assert documents.find_question(store, "id-b", "toolu_a/x") is None
    assert documents.find_question(store, "id-a/x", "toolu_b") is None


@pytest.mark.parametrize(
    "change",
    [
        {"questions": None},
        {"questions": []},
        {"questions": ["Which?"]},
        {"questions": [{"question": "Which?"}]},
        {"questions": [{"question": "Which?", "options": []}]},
        {"questions": [{"question": "Which?", "options": [{"label": 5}]}]},
        {"questions": [{"question": 5, "options": [{"label": "A"}]}]},
        {"tool_use_id": None},
        {"session": 3},
    ],
)
def test_a_document_that_somebody_spoilt_is_no_question(store: Store, change: dict[str, Any]) -> None:
    documents.save_question(store, question())
    document = store.read("question", "main")
    assert document is not None
    store.write("question", "main", {**document, **change})
    assert documents.read_question(store, "main") is None
    assert documents.list_questions(store) == []


def test_spoilt_optional_fields_read_as_absent(store: Store) -> None:
    documents.save_question(store, question())
    document = store.read("question", "main")
    assert document is not None
    store.write("question", "main", {**document, "terminal": {"backend": 1}, "client_pid": True, "cwd": []})
    read = documents.read_question(store, "main")
    assert read is not None
    assert (read.terminal, read.client_pid, read.cwd) == (None, 0, "")


def test_a_spoilt_pending_answer_is_none(store: Store) -> None:
    store.write("pending-answer", "main", {"tool_use_id": "toolu_1", "decisions": ["select"]})
    assert documents.read_pending(store, "main") is None
