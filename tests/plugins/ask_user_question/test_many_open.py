"""What a hook reads does not grow with the questions that other sessions have open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from hookrouter.config import Agent, Config
from hookrouter.dialogs import documents
from hookrouter.dialogs.handover import WAITING, Handover, end_all
from hookrouter.storage.documents import Store
from support.ask_session import FORM, AskSession

EVENTS: dict[str, Callable[[Any], Any]] = {
    "asked": lambda ask: ask.ask(),
    "asked again": lambda ask: [ask.ask(), ask.ask(tool_use_id="toolu_2")],
    "recorded": lambda ask: [ask.ask(), ask.record_answers({"Which database?": "SQLite"})],
    "stopped": lambda ask: [ask.ask(), ask.hook("stop", stop_hook_active=False)],
    "prompted": lambda ask: [ask.ask(), ask.hook("user_prompt_submit", prompt="hi")],
    "failed": lambda ask: [ask.ask(), ask.hook("post_tool_use_failure_ask_user_question", error="no")],
    "ended": lambda ask: [ask.ask(), ask.hook("session_end", reason="other")],
}


def open_elsewhere(ask: Any, count: int) -> None:
    """Open questions of so many other sessions, an answer to each on its way."""
    for number in range(count):
        names = {"session": f"other-{number}", "session_id": f"o-{number}", "tool_use_id": f"toolu_o{number}"}
        documents.save_question(
            ask.app.store, documents.Dialog(**names, questions=FORM, terminal=None, agent="default", gateway="inbox")
        )
        documents.save_pending(ask.app.store, documents.PendingAnswer(**names, decisions=[], channel="keys", pid=1))


@pytest.fixture(scope="module")
def open_in_400(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of the state of a home in which 400 other sessions have a question open."""
    ask = AskSession(tmp_path_factory.mktemp("beside"))
    open_elsewhere(ask, 400)
    return ask.home.state


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_as_many_documents_are_read_beside_400_as_beside_one(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, open_in_400: str, event: Callable[[Any], Any]
) -> None:
    read: list[str] = []
    whole = Store._content
    monkeypatch.setattr(Store, "_content", lambda store, path: read.append(path) or whole(store, path))  # type: ignore[func-returns-value]

    def reads() -> int:
        read.clear()
        event(ask_session)
        for one in documents.near(ask_session.app.store, "s-1"):
            documents.delete_question(ask_session.app.store, one.session, one.tool_use_id)
        return len(read)

    open_elsewhere(ask_session, 1)
    beside_one = reads()
    shutil.copytree(open_in_400, ask_session.home.state, dirs_exist_ok=True)
    assert reads() == beside_one
    assert len(documents.list_questions(ask_session.app.store)) == 400


def test_a_turn_s_end_reads_no_other_session_s_waits(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "state"), pytest.fail)
    for number in range(20):
        Handover.of(store, f"s-{number}", {"questions": FORM}).begin("main", f"s-{number}")
    read: list[str] = []
    whole = Store._content
    monkeypatch.setattr(Store, "_content", lambda store, path: read.append(path) or whole(store, path))  # type: ignore[func-returns-value]
    end_all(store, "s-7")
    assert len(read) == 1
    assert sorted(str(document["session_id"]) for _, document in store.entries(WAITING)) == sorted(
        f"s-{number}" for number in range(20) if number != 7
    )


def test_a_session_s_question_is_found_whatever_it_was_called(ask_session: Any) -> None:
    ask_session.ask()
    record = ask_session.hook("stop", stop_hook_active=False, environ={"FAKE_SESSION": "renamed"})
    assert [one["session"] for one in record["swept"]] == ["main"]


def test_what_stands_beside_a_provisional_question_goes_with_it(ask_session: Any) -> None:
    ask_session.config = Config(problems=("config.toml: broken",))
    ask_session.ask()
    store = ask_session.app.store
    assert documents.has_provisional(store)
    ask_session.record_answers({"Which database?": "SQLite"})
    assert ask_session.documents() == []
    # Its process was killed between the two.
    store.write(documents.UNSETTLED, "s-1:main:toolu_1", {"version": 1})
    ask_session.config = Config(agents=(Agent("night"),))
    assert "rerouted" not in ask_session.hook("stop", stop_hook_active=False)
    assert ask_session.documents() == []
