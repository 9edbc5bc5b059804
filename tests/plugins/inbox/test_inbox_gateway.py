"""The gateway that needs no server: questions wait as they are, everything else becomes a notice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import hookrouter_inbox
from hookrouter.messaging import notices
from hookrouter.messaging.gateway import Message
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from support.tabled_gateway import TabledGateway


def gateway() -> TabledGateway:
    return TabledGateway(hookrouter_inbox.gateway())


def wake(kind: str, session: str = "s", name: str = "1-2-3") -> Message:
    created = "2026-11-21T22:54:14.123Z"
    return Message(kind, "a", "inbox", session, "sid", "toolu_1", "subject", "the text", name, created)


@pytest.fixture
def store() -> Store:
    return Store(Home.from_environ(os.environ).state, print)


def test_a_question_needs_nothing_more(store: Store) -> None:
    woken = gateway().deliver(wake("question"), {})

    assert woken.delivered
    assert notices.listing(store) == []


@pytest.mark.parametrize("kind", ["mismatch", "unanswered", "warning"])
def test_other_messages_become_notices_once(store: Store, kind: str) -> None:
    for _ in range(2):
        assert gateway().deliver(wake(kind), {}).delivered

    [notice] = notices.listing(store)
    assert notice == {
        "version": 1,
        "id": "1-2-3",
        "kind": kind,
        "agent": "a",
        "session": "s",
        "session_id": "sid",
        "tool_use_id": "toolu_1",
        "subject": "subject",
        "text": "the text",
        "created_at": "2026-11-21T22:54:14.123Z",
        "link": "",
    }


def test_notices_are_listed_oldest_first_by_session_and_dismissed(store: Store) -> None:
    for name, session in (("3", "a"), ("1", "b"), ("2", "a")):
        gateway().deliver(wake("warning", session, name), {})

    assert [notice["id"] for notice in notices.listing(store)] == ["1", "2", "3"]
    assert [notice["id"] for notice in notices.listing(store, "a")] == ["2", "3"]
    assert notices.dismiss(store, "2")
    assert not notices.dismiss(store, "2")
    assert [notice["id"] for notice in notices.listing(store)] == ["1", "3"]


def test_a_state_folder_that_cannot_be_written_is_a_failed_try() -> None:
    state = Path(Home.from_environ(os.environ).state)
    state.parent.mkdir(parents=True)
    state.write_text("a file where the folder should be")

    woken = gateway().deliver(wake("warning"), {})

    assert (woken.delivered, woken.retry) == (False, True)
    assert "cannot write" in woken.reason


def test_every_key_is_unknown() -> None:
    assert gateway().check({}) == []
    [problem] = gateway().check({"url": "http://localhost"})
    assert problem.startswith("url: unknown key")
