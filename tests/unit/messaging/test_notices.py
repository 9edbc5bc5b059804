"""Notices: kept, listed, dismissed one by one or all, and removed when they are old."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrouter.messaging import notices
from hookrouter.messaging.gateway import Message
from hookrouter.storage.documents import Store
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(str(tmp_path / "state"), print)
    for number, (session, days) in enumerate([("a", 40), ("a", 1), ("b", 0)]):
        message = Message("warning", "main", "inbox", session, "sid", "toolu_1", "subject", "text")
        notices.save(store, message._replace(id=f"n-{number}", created_at=iso(now() - days * 86400)))
    return store


def test_old_notices_are_pruned(store: Store) -> None:
    store.write(notices.KIND, "n-odd", {"created_at": "yesterday"})
    notices.prune(store, 30 * 86400)
    assert [one["id"] for one in notices.listing(store)] == ["n-1", "n-2", "n-odd"]


def test_all_notices_of_a_session_can_be_dismissed(store: Store) -> None:
    assert notices.dismiss_all(store, "a") == ["n-0", "n-1"]
    assert [one["id"] for one in notices.listing(store)] == ["n-2"]
    assert notices.dismiss_all(store) == ["n-2"]
    assert notices.dismiss_all(store) == []
