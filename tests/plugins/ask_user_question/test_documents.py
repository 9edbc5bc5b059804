"""The question and pending-answer documents."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hookrouter.dialogs import documents
from hookrouter.dialogs.documents import Dialog, PendingAnswer
from hookrouter.storage.documents import Store, StoreError
from hookrouter.terminals import TerminalAddress

FORM = [{"question": "Which?", "header": "Q", "options": [{"label": "A"}, {"label": "B"}], "multiSelect": False}]


def question(session: str = "main", tool_use_id: str = "toolu_1", **more: Any) -> Dialog:
    fields: dict[str, Any] = {
        "session": session,
        "session_id": "s-1",
        "tool_use_id": tool_use_id,
        "questions": FORM,
        "terminal": TerminalAddress("tmux", session, "%3", "/tmp/tmux-0/default"),
        "agent": "default",
        "gateway": "inbox",
    }
    return Dialog(**{**fields, **more})


def pending(session: str = "main", tool_use_id: str = "toolu_1") -> PendingAnswer:
    decision = {"action": "select", "optionIndex": 0}
    return PendingAnswer(session, "s-1", tool_use_id, [decision], "keys", 7)


def only(store: Store, session: str = "main") -> Dialog | None:
    """Return the session's question, where it has one."""
    found = documents.session_questions(store, session)
    assert len(found) < 2
    return found[0] if found else None


def pending_of(store: Store, tool_use_id: str = "toolu_1") -> PendingAnswer | None:
    return documents.read_pending(store, "main", tool_use_id)


def files(store: Store) -> list[str]:
    return sorted(path.name for path in Path(store.folder).glob("*.json"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), pytest.fail)


@pytest.mark.parametrize("session", ["main", "../../x", "a/b", ".hidden", "ü %2e", "x" * 300])
def test_a_question_reads_back_as_it_was_saved(store: Store, session: str) -> None:
    saved = question(session, terminal=None, agent_id="sub-1", client_pid=12)
    path = Path(documents.save_question(store, saved))
    read = only(store, session)
    assert read is not None
    assert read.saved_at.endswith("Z")
    assert read._replace(saved_at="") == saved
    assert path.parent == Path(store.folder)
    assert path.name.startswith("question-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pending_answer_reads_back_as_it_was_saved(store: Store) -> None:
    documents.save_question(store, question())
    path = Path(documents.save_pending(store, pending()))
    read = pending_of(store)
    assert read is not None
    assert read._replace(saved_at="") == pending()
    assert path.name == "pending-answer-s-1%3Amain%3Atoolu_1.json"


def test_the_terminal_address_survives(store: Store) -> None:
    documents.save_question(store, question())
    read = only(store)
    assert read is not None
    assert read.terminal == TerminalAddress("tmux", "main", "%3", "/tmp/tmux-0/default")


def test_nothing_is_there(store: Store) -> None:
    assert only(store) is None
    assert pending_of(store) is None
    assert documents.list_questions(store) == []
    assert not documents.is_open(store, "main", "toolu_1")
    assert not documents.delete_question(store, "main", "toolu_1")
    assert not documents.delete_pending(store, "main", "toolu_1")
    assert documents.remove_left_behind(store, "main") == []
    assert not Path(store.folder).exists()


def test_a_later_questions_documents_are_never_deleted(store: Store) -> None:
    documents.save_question(store, question(tool_use_id="toolu_2"))
    documents.save_pending(store, pending(tool_use_id="toolu_2"))
    assert not documents.delete_question(store, "main", "toolu_1")
    assert not documents.delete_pending(store, "main", "toolu_1")
    assert documents.delete_pending(store, "main", "toolu_2")
    assert documents.delete_question(store, "main", "toolu_2")


@pytest.mark.parametrize("session", ["main", "a/b:c", "x" * 300])
def test_a_session_may_have_several_questions_open(store: Store, session: str) -> None:
    saved = [question(session, f"toolu_{number}", saved_at=f"2026-11-21T10:00:0{number}.000Z") for number in range(3)]
    for entry in saved:
        documents.save_question(store, entry)
        documents.save_pending(store, pending(session, entry.tool_use_id))
        documents.save_question(store, entry)
    assert documents.session_questions(store, session) == saved
    assert documents.others(store, saved[1]) == [saved[0], saved[2]]
    assert len(files(store)) == 6
    assert documents.delete_question(store, session, "toolu_1")
    assert documents.delete_question(store, session, "toolu_0")
    assert documents.session_questions(store, session) == [saved[2]]
    assert documents.read_pending(store, session, "toolu_0") is None
    answer = documents.read_pending(store, session, "toolu_2")
    assert answer is not None
    assert answer.tool_use_id == "toolu_2"
    documents.save_question(store, saved[0])
    assert documents.session_questions(store, session) == [saved[0], saved[2]]
    for entry in (saved[0], saved[2]):
        assert documents.delete_question(store, session, entry.tool_use_id)
    assert files(store) == []


def test_names_tell_session_and_tool_call(store: Store) -> None:
    for number in (1, 2):
        documents.save_question(store, question(tool_use_id=f"toolu_{number}"))
        documents.save_pending(store, pending(tool_use_id=f"toolu_{number}"))
    assert files(store) == [
        "pending-answer-s-1%3Amain%3Atoolu_1.json",
        "pending-answer-s-1%3Amain%3Atoolu_2.json",
        "question-s-1%3Amain%3Atoolu_1.json",
        "question-s-1%3Amain%3Atoolu_2.json",
    ]


def test_a_question_is_never_taken_for_one_of_a_session_that_is_called_like_it(store: Store) -> None:
    documents.save_question(store, question("main", "toolu_1"))
    documents.save_question(store, question("main", "toolu_2"))
    documents.save_question(store, question("main:toolu_2", "toolu_3"))
    assert [found.tool_use_id for found in documents.session_questions(store, "main")] == ["toolu_1", "toolu_2"]
    assert [found.tool_use_id for found in documents.session_questions(store, "main:toolu_2")] == ["toolu_3"]
    assert not documents.is_open(store, "main:toolu_2", "toolu_2")
    assert documents.delete_question(store, "main:toolu_2", "toolu_3")
    assert [found.tool_use_id for found in documents.list_questions(store)] == ["toolu_1", "toolu_2"]


def test_answers_that_were_left_behind_are_removed(store: Store) -> None:
    documents.save_question(store, question(tool_use_id="toolu_1"))
    for tool_use_id in ("toolu_0", "toolu_1"):
        documents.save_pending(store, pending(tool_use_id=tool_use_id))
    documents.save_pending(store, pending("other", "toolu_9"))
    assert documents.remove_left_behind(store, "main") == ["toolu_0"]
    assert documents.remove_left_behind(store, "main") == []
    assert pending_of(store) is not None
    assert documents.read_pending(store, "other", "toolu_9") is not None


def test_a_process_that_holds_a_sessions_documents_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookrouter.dialogs.documents._LOCK_SECONDS", 0)
    documents.save_question(store, question())
    with documents.holding(store, "main"):
        with pytest.raises(StoreError, match=rf"documents of session main are held by process {os.getpid()}"):
            documents.save_question(store, question(tool_use_id="toolu_2"))
        documents.save_question(store, question("other"))
        assert documents.remove(store, "main", "toolu_1")


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
    document = store.read("question", "s-1:main:toolu_1")
    assert document is not None
    store.write("question", "s-1:main:toolu_1", {**document, **change})
    assert only(store) is None
    assert documents.list_questions(store) == []


def test_spoilt_optional_fields_read_as_absent(store: Store) -> None:
    documents.save_question(store, question())
    document = store.read("question", "s-1:main:toolu_1")
    assert document is not None
    store.write("question", "s-1:main:toolu_1", {**document, "terminal": {"backend": 1}, "client_pid": True, "cwd": []})
    read = only(store)
    assert read is not None
    assert (read.terminal, read.client_pid, read.cwd) == (None, 0, "")


def test_a_spoilt_pending_answer_is_none(store: Store) -> None:
    store.write("pending-answer", "s-1:main:toolu_1", {"tool_use_id": "toolu_1", "decisions": ["select"]})
    assert pending_of(store) is None
