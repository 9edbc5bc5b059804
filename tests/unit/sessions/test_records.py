"""The documents of sessions: what is kept, what is read of a broken one, and what is forgotten."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.sessions import records
from hookrouter.sessions.records import SessionRecord, change_record, list_records, prune_records, read_record
from hookrouter.storage.documents import Store
from hookrouter.terminals import TerminalAddress
from hookrouter.util.claude_process import process_space
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from pathlib import Path

NO_PROCESS = 2**22 + 1


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), lambda _: None)


def record(session: str = "work", **more: Any) -> SessionRecord:
    return SessionRecord(session, "s-1", "idle", iso(), **more)


def save(store: Store, one: SessionRecord) -> None:
    change_record(store, one.session, lambda _: one)


def test_a_record_is_read_as_it_was_written(store: Store) -> None:
    terminal = TerminalAddress("tmux", "work", "%1", "/tmp/tmux")
    one = record("a/../b \x1b", terminal=terminal, background=("bash: sleep 9",), client_pid=3, last_message="done")
    save(store, one)
    assert read_record(store, one.session) == one
    assert list_records(store) == [one]
    records.remove_record(store, one.session)
    assert list_records(store) == []


def test_no_change_writes_nothing(store: Store) -> None:
    one = record()
    save(store, one)
    before = store.stamps("session")
    assert change_record(store, "work", lambda _: None) == one
    assert change_record(store, "work", lambda found: found) == one
    assert store.stamps("session") == before
    assert change_record(store, "other", lambda found: found) is None


def test_changes_of_several_at_once_lose_nothing(store: Store) -> None:
    save(store, record(last_message=""))

    def add(letter: str) -> None:
        for _ in range(10):
            change_record(store, "work", lambda one: one and one._replace(last_message=one.last_message + letter))

    threads = [threading.Thread(target=add, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    found = read_record(store, "work")
    assert found is not None
    assert sorted(found.last_message) == sorted("abc" * 10)


def test_a_corrupt_document_counts_as_none_and_is_put_aside(store: Store, tmp_path: Path) -> None:
    save(store, record())
    save(store, record("other"))
    (tmp_path / "state" / "session-work.json").write_text("{")
    assert [one.session for one in list_records(store)] == ["other"]
    assert read_record(store, "work") is None
    save(store, record())
    assert read_record(store, "work") is not None


def test_sessions_of_clients_that_ended_long_ago_are_forgotten(store: Store) -> None:
    old = iso(now() - records.KEPT_SECONDS - 60)
    here = process_space()
    save(store, record("ended")._replace(state="gone", since=old))
    save(store, record("ended-lately")._replace(state="gone"))
    save(store, record("killed", client_pid=NO_PROCESS, client_host=here)._replace(since=old))
    save(store, record("elsewhere", client_pid=NO_PROCESS, client_host="other")._replace(since=old))
    save(store, record("running", client_pid=os.getpid(), client_host=here)._replace(since=old))
    save(store, record("unknown")._replace(since=old))
    prune_records(store)
    assert [one.session for one in list_records(store)] == ["elsewhere", "ended-lately", "running", "unknown"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from([*SessionRecord._fields, "version"]), _VALUES))
def test_whatever_a_document_holds(store: Store, document: dict[str, Any]) -> None:
    store.write("session", "work", document, durable=False)
    found = read_record(store, "work")
    if found is not None:
        assert found.session == "work"
        assert found.state
        assert found.client_pid >= 0
        # What was read can be written.
        save(store, found._replace(since=found.since + "."))


def test_a_name_that_is_too_long_for_a_file_is_told_whole(store: Store) -> None:
    one = record("x" * 300)
    save(store, one)
    assert list_records(store) == [one]
