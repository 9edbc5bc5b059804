"""Locks: when they end, and what their holder hears who has lost one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.time_limit import PluginTimeout
from hookrouter_postgresql import locks, processes
from hookrouter_postgresql.connections import Connections
from support.forked import Forked

_SECONDS = 20.0


@pytest.fixture
def short_lease(monkeypatch):
    monkeypatch.setattr(locks, "_LEASE", 1.0)
    monkeypatch.setattr(locks, "_RENEW", 0.2)
    monkeypatch.setattr(locks, "_AGAIN", 0.1)


@pytest.fixture
def elsewhere(monkeypatch) -> Callable[[], None]:
    """Return a function after which this process seems to be on another machine."""
    return lambda: monkeypatch.setattr(processes, "_place", lambda: "another start of another machine")


def holding(open_storage, before: Callable[[], None] = lambda: None) -> Forked:
    """Return a child that has taken the lock, and lets go of it when it is told to."""

    def hold(child: Forked) -> None:
        before()
        with open_storage().store("", pytest.fail).lock("thing", "a", 0):
            child.say("held")
            child.heard()
        child.say("released")

    child = Forked(hold)
    assert child.heard() == "held"
    return child


def test_a_killed_process_holds_nothing_on_its_machine(storage, open_storage):
    store = storage.store("", pytest.fail)
    with holding(open_storage) as child:
        assert f"process {child.pid} on " in (store.lock_holder("thing", "a") or "")
        child.end(signal.SIGKILL)
        assert store.lock_holder("thing", "a") is None
        with store.lock("thing", "a", 0):
            pass


def test_a_process_of_another_machine_holds_until_its_lease_ends(storage, open_storage, elsewhere, short_lease):
    store = storage.store("", pytest.fail)
    with holding(open_storage, before=elsewhere) as child:
        # It renews.
        with pytest.raises(StoreBusy), store.lock("thing", "a", locks._LEASE * 2):
            pass
        child.end(signal.SIGKILL)
        with store.lock("thing", "a", _SECONDS):
            assert f"process {os.getpid()} on " in (store.lock_holder("thing", "a") or "")


def test_a_stopped_process_keeps_its_lock_on_its_machine(storage, open_storage, short_lease):
    store = storage.store("", pytest.fail)
    with holding(open_storage) as child:
        child.send(signal.SIGSTOP)
        with pytest.raises(StoreBusy), store.lock("thing", "a", locks._LEASE * 2):
            pass
        store.prune(-3600)
        assert store.lock_holder("thing", "a")
        child.send(signal.SIGCONT)
        child.say("go on")
        assert child.heard() == "released"


def test_a_stopped_process_loses_its_lock_to_another_machine_and_says_so(storage, open_storage, elsewhere, short_lease):
    with holding(open_storage) as child:
        child.send(signal.SIGSTOP)
        elsewhere()
        with storage.store("", pytest.fail).lock("thing", "a", _SECONDS):
            child.send(signal.SIGCONT)
            child.say("go on")
            assert child.heard().startswith("StoreError: the lock thing 'a' was lost while it was held")
            assert storage.store("", pytest.fail).lock_holder("thing", "a")


def test_what_was_raised_is_not_hidden_by_a_lock_that_was_lost(storage, server, schema):
    store = storage.store("", pytest.fail)
    taken = store.lock("thing", "a", 0).__enter__()
    server.ask(f"DELETE FROM {schema}.lock")
    taken.__exit__(KeyError, KeyError(), None)
    with pytest.raises(StoreError, match="was lost"), store.lock("thing", "a", 0):
        server.ask(f"DELETE FROM {schema}.lock")


def test_a_lock_that_cannot_be_released_now_is_released_later(storage, open_storage, server, monkeypatch):
    monkeypatch.setattr(locks, "_AGAIN", 0.1)
    store = storage.store("", pytest.fail)
    with store.lock("thing", "a", 0):
        server.stop()
    server.start()
    with open_storage().store("", pytest.fail).lock("thing", "a", _SECONDS):
        pass


def test_a_process_takes_a_lock_again_that_it_could_not_release(storage, server, monkeypatch):
    monkeypatch.setattr(locks, "_AGAIN", 600.0)
    store = storage.store("", pytest.fail)
    with store.lock("thing", "a", 0):
        server.stop()
    server.start()
    assert store.lock_holder("thing", "a") is None
    with store.lock("thing", "a", 0):
        pass


def test_a_lock_whose_taking_was_interrupted_is_let_go(storage, monkeypatch):
    store = storage.store("", pytest.fail)
    taking = Connections.run

    def interrupted(self, statement, *arguments, **options):
        rows = taking(self, statement, *arguments, **options)
        if "INSERT" in statement:
            monkeypatch.setattr(Connections, "run", taking)
            raise PluginTimeout
        return rows

    monkeypatch.setattr(Connections, "run", interrupted)
    with pytest.raises(PluginTimeout):
        store.lock("thing", "a", 0).__enter__()
    with store.lock("thing", "a", _SECONDS):
        pass


def test_a_lock_within_a_transaction_is_held_for_others_at_once(storage, open_storage):
    store, other = storage.store("", pytest.fail), open_storage().store("", pytest.fail)
    with storage.together():
        store.write("thing", "a", {})
        with store.lock("thing", "a", 0):
            assert other.lock_holder("thing", "a")
        assert other.lock_holder("thing", "a") is None
        assert other.read("thing", "a") is None
    assert other.read("thing", "a") == {}


def test_a_forked_child_that_leaves_the_block_releases_nothing(storage):
    store = storage.store("", pytest.fail)
    with store.lock("thing", "a", 0) as lock, Forked(lambda _child: lock.__exit__(None, None, None)) as child:
        assert child.heard() == "end"
        assert store.lock_holder("thing", "a")


def test_locks_of_the_ended_are_pruned(storage, open_storage, server, schema, elsewhere, short_lease):
    store = storage.store("", pytest.fail)
    with holding(open_storage, before=elsewhere) as child:
        child.end(signal.SIGKILL)
    server.ask("SELECT pg_sleep(1.1)")
    store.prune(0)
    assert server.ask(f"SELECT FROM {schema}.lock") == []
