"""The history in the database: the contract of all engines, retention, and tables of the former release."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo

import pytest

from hookrouter.storage.history import Count, HistoryBatch, KeptStory, StoryQuery
from hookrouter.storage.interface import StoreError
from hookrouter.testing.contracts import HistoryMaker, HistoryStorageContract
from hookrouter_postgresql import history as module
from hookrouter_postgresql.engine import PostgresqlStorage
from hookrouter_postgresql.history import PostgresqlHistory
from hookrouter_postgresql.schema import NEWEST

OpenStorage = Callable[..., PostgresqlStorage]
DAY = 86400.0


def opened(storage: PostgresqlStorage) -> PostgresqlHistory:
    found = storage.history()
    assert found is not None
    return found


def kept(number: int, at: float, outcome: str = "verified", machine: str = "one") -> KeptStory:
    story = {"session": "work", "kind": "question", "outcome": outcome, "by": "agent"}
    return KeptStory(machine, {**story, "session_id": "s-1", "tool_use_id": f"toolu_{number}"}, {}, at, at, "")


class TestPostgresqlHistory(HistoryStorageContract):
    @pytest.fixture
    def make_history(
        self, storage: PostgresqlStorage, open_storage: OpenStorage, monkeypatch: pytest.MonkeyPatch
    ) -> HistoryMaker:
        # Few enough that most queries go on from a place where nothing was found.
        monkeypatch.setattr(module, "_LOOKED_AT", 7)
        made = {"one": storage}
        return lambda machine: opened(made.setdefault(machine, made.get(machine) or open_storage(machine)))


def test_what_is_too_old_goes_and_what_is_open_stays(
    open_storage: OpenStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PRUNED_AT_ONCE", 3)
    storage = open_storage(keep_days=10)
    storage.init()
    history, now = opened(storage), time.time()
    old, new = now - 10.5 * DAY, now - 9.5 * DAY
    stories = [*(kept(number, old) for number in range(7)), kept(7, old, "open"), kept(8, new)]
    counts = [Count(int(at // DAY), "run", "Stop", "", 1, 2) for at in (old - DAY, now)]
    history.append(HistoryBatch(0, {"a": 1}, [*stories, kept(9, old)._replace(latest=new)], counts))
    assert history.prune() == 7
    left = sorted(one.story["tool_use_id"] for one in history.stories(StoryQuery(), 50).stories)
    assert left == ["toolu_7", "toolu_8", "toolu_9"]
    assert list(history.counts(0)) == counts[1:]
    assert history.prune() == 0


class WrongClock(datetime):
    """A machine's clock that is a hundred days ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> WrongClock:
        return super().now(tz) + timedelta(days=100)


def test_a_machine_whose_clock_is_far_ahead_removes_nothing_that_is_new(
    storage: PostgresqlStorage, open_storage: OpenStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    counts = [Count(int(now // DAY), "run", "Stop", "", 1, 2)]
    opened(storage).append(HistoryBatch(0, {}, [kept(1, now)], counts))
    monkeypatch.setattr(module, "datetime", WrongClock)
    monkeypatch.setattr(time, "time", lambda: now + 100 * DAY)
    ahead = opened(open_storage("two"))
    assert ahead.prune() == 0
    assert [one.machine for one in ahead.stories(StoryQuery(), 50).stories] == ["one"]
    assert list(ahead.counts(0)) == counts


def test_one_process_at_a_time_removes_what_is_too_old(storage: PostgresqlStorage, open_storage: OpenStorage) -> None:
    history = opened(storage)
    history.append(HistoryBatch(0, {}, [kept(1, 1.0)], []))
    with storage.together():
        assert history.prune() == 1
        # The other one has nothing to do: this one may still take its removal back.
        assert opened(open_storage("two")).prune() == 0
    assert history.prune() == 0


def test_documents_and_history_are_one_transaction(storage: PostgresqlStorage) -> None:
    history, store = opened(storage), storage.store("", pytest.fail)
    batch = HistoryBatch(0, {"a": 1}, [kept(1, 1.0)], [])
    with pytest.raises(StoreError), storage.together():  # noqa: PT012 - all of them are one
        store.write("question", "a", {})
        history.append(batch)
        history.append(batch)
    assert (store.read("question", "a"), history.place().number) == (None, 0)


def test_tables_of_the_former_release_have_no_history(storage: PostgresqlStorage, open_storage: OpenStorage) -> None:
    storage.migrate(NEWEST - 1)
    former = open_storage()
    assert former.history() is None
    former.store("", pytest.fail).write("thing", "a", {})
    storage.migrate()
    assert former.history() is not None
    assert former.store("", pytest.fail).read("thing", "a") == {}
