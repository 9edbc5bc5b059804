"""A session that a second client resumes while the first one runs: what the first has asked stays open."""

from __future__ import annotations

import os
from typing import Any

import pytest

from hookrouter.dialogs.documents import list_questions
from hookrouter.dialogs.handover import WAITING, Handover, end_all

FIRST, SECOND = os.getpid(), os.getppid()
NOBODY = 2**22 + 1
"""More than Linux gives to any process."""
CLIENTS = {"first": str(FIRST), "second": str(SECOND), "gone": str(NOBODY), "unknown": ""}
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("session_start", {"source": "resume"}),
    ("session_start", {"source": "startup"}),
    ("stop", {"stop_hook_active": False}),
    ("user_prompt_submit", {"prompt": "x"}),
    ("session_end", {"reason": "other"}),
    ("pre_tool_use_ask_user_question", {"tool_use_id": "toolu_2"}),
]


@pytest.fixture
def old_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every question be so old that its dialog has been drawn."""
    monkeypatch.setattr("hookrouter.dialogs.documents.is_young", lambda _: False)


def is_open(ask_session: Any) -> bool:
    return "toolu_1" in [one.tool_use_id for one in list_questions(ask_session.app.store)]


@pytest.mark.usefixtures("old_questions")
@pytest.mark.parametrize(("hook", "fields"), EVENTS)
@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [
        ("first", "second", True),
        ("first", "first", False),
        ("gone", "second", False),
        ("first", "unknown", False),
        ("unknown", "second", False),
    ],
)
def test_an_event_of_the_second_client_ends_what_the_first_has_asked_only_if_that_is_gone(
    ask_session: Any, hook: str, fields: dict[str, Any], first: str, second: str, *, stays: bool
) -> None:
    ask_session.ask(environ={"CLAUDE_PID": CLIENTS[first], "TMUX_PANE": "%1"})
    ask_session.hook(hook, environ={"CLAUDE_PID": CLIENTS[second], "TMUX_PANE": "%2"}, **fields)
    assert is_open(ask_session) == stays


def test_the_end_of_the_second_clients_turn_ends_only_hooks_of_its_own(ask_session: Any) -> None:
    store = ask_session.app.store
    for name, pid in (("first", FIRST), ("second", SECOND), ("gone", NOBODY), ("unknown", 0)):
        Handover.of_call(store, "s-1", name).begin("main", "s-1", pid)
    end_all(store, "s-1", SECOND)
    assert [document["client_pid"] for _, document in store.entries(WAITING)] == [FIRST]
    end_all(store, "s-1")
    assert store.entries(WAITING) == []
