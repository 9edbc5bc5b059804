"""Watches: between processes and machines, with one listener for all of a machine, whatever becomes of that."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hookrouter.storage.interface import StoreError
from hookrouter_postgresql import listening, names
from hookrouter_postgresql import markers as markers_module
from hookrouter_postgresql.markers import Markers
from support.forked import Forked

_SECONDS = 30.0
_LISTENERS = (
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'hookrouter' AND query ~ 'pg_snapshot|LISTEN|d.digest'"
)


@pytest.fixture
def stores(storage, open_storage):
    """The documents of the machine ``one``, as they are seen there and on the machine ``two``."""
    return storage.store("", pytest.fail), open_storage("two").store("", pytest.fail, machine="one")


@pytest.fixture
def deaf(monkeypatch):
    """No notification is ever heard, as behind a pooler."""
    monkeypatch.setattr(listening._Listener, "_told", lambda _self, _payload: None)


def every_change_is_told_once(here, there):
    changes = [
        lambda: here.write("thing", "a", {"n": 1}),
        lambda: here.write("thing", "a", {"n": 2}, durable=False),
        lambda: here.replace("thing", "a", {"n": 3}, unchanged={"n": 2}),
        lambda: here.delete("thing", "a"),
        lambda: here.create("thing", "a", {"n": 4}),
    ]
    with there.watch("thing", "a") as one, there.watch("thing") as all_of_them, there.watch("thing", "b") as another:
        for change in changes:
            change()
            assert one.wait(_SECONDS)
            assert all_of_them.wait(_SECONDS)
            assert not one.wait(0)
            assert not all_of_them.wait(0)
        assert not another.wait(0)


def test_another_machine_is_told_by_a_notification(stores, monkeypatch):
    # What is read from time to time would be too late.
    read = listening._Listener._tell_changes
    monkeypatch.setattr(
        listening._Listener,
        "_tell_changes",
        lambda self, session, watched, position: None if position else read(self, session, watched, position),
    )
    every_change_is_told_once(*stores)


def test_another_machine_reads_what_no_notification_told(stores, deaf, monkeypatch):
    monkeypatch.setattr(listening, "_TURN", 0.2)
    every_change_is_told_once(*stores)


def test_rows_of_a_restored_backup_are_not_told_again_and_again(stores, server, schema, deaf, monkeypatch, tmp_path):
    monkeypatch.setattr(listening, "_TURN", 0.05)
    here, there = stores
    here.write("thing", "old", {})
    server.ask(f"UPDATE {schema}.document SET written_by = '9999999999'")
    with there.watch("thing") as watch:
        for n in range(5):
            here.write("thing", "new", {"n": n})
            assert watch.wait(_SECONDS)
        markers = Markers(str(tmp_path / "two"))
        (marker,) = markers.ids()
        lines = Path(markers.folder, marker[:2], marker).read_text().splitlines()[1:]
        old = names.document_id(names.kind_id("one", "", "thing"), names.digest_of("old"))
        # Once, by what is read after connecting.
        assert sum(line.startswith(old) for line in lines) <= 1


def test_a_file_that_is_no_marker_stops_no_listener(stores, server, monkeypatch, tmp_path):
    monkeypatch.setattr(listening, "_TURN", 0.1)
    here, there = stores
    folder = tmp_path / "two" / "changes" / "00"
    folder.mkdir(parents=True)
    for number, text in enumerate(["", "x", "[]", "{}", '{"digest": 1}', '{"digest": "x"}']):
        (folder / f"{number:032d}").write_text(text)
    with there.watch("thing", "a") as watch:
        here.write("thing", "a", {})
        assert watch.wait(_SECONDS)
    there.prune(0)
    assert list(folder.iterdir()) == []


def test_what_was_written_first_and_saved_last_is_read_too(stores, storage, deaf, monkeypatch):
    monkeypatch.setattr(listening, "_TURN", 0.1)
    here, there = stores
    written, go_on = threading.Event(), threading.Event()

    def write_slowly():
        with storage.together():
            here.write("thing", "slow", {})
            written.set()
            go_on.wait(_SECONDS)

    slow = threading.Thread(target=write_slowly)
    with there.watch("thing") as watch, there.watch("thing", "slow") as its:
        slow.start()
        assert written.wait(_SECONDS)
        here.write("thing", "quick", {})
        assert watch.wait(_SECONDS)
        assert not its.wait(0.3)
        go_on.set()
        slow.join()
        assert watch.wait(_SECONDS)
        assert its.wait(_SECONDS)


def test_what_happens_while_the_listener_is_cut_off_is_told_later(stores, server, monkeypatch):
    monkeypatch.setattr(listening, "_AGAIN", 0.1)
    here, there = stores
    here.write("thing", "b", {})
    with there.watch("thing", "a") as one, there.watch("thing", "b") as other:
        for n in range(3):
            here.write("thing", "a", {"n": n})
            assert one.wait(_SECONDS)
            assert server.ask(f"SELECT pg_terminate_backend(pid) FROM ({_LISTENERS}) AS listeners")
        here.delete("thing", "b")
        assert other.wait(_SECONDS)


def waiting(there) -> Forked:
    def wait(child: Forked) -> None:
        with there.watch("thing", "a") as watch:
            child.say("watching")
            assert watch.wait(_SECONDS)
            child.say(str(there.read("thing", "a")))

    child = Forked(wait)
    assert child.heard() == "watching"
    return child


def eventually(condition) -> None:
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_however_many_wait_one_connection_listens(stores, server, monkeypatch):
    monkeypatch.setattr(listening, "_TURN", 0.3)
    monkeypatch.setattr(listening, "_UNUSED", 0.1)
    here, there = stores
    children = [waiting(there) for _ in range(8)]
    try:
        others = "SELECT pid FROM pg_stat_activity WHERE application_name = 'hookrouter'"
        # This process has a connection of its own for each machine.
        eventually(lambda: len(server.ask(others)) <= 3)
        assert len(server.ask(_LISTENERS)) == 1
        here.write("thing", "a", {"n": 1})
        assert [child.heard() for child in children] == ["{'n': 1}"] * 8
    finally:
        for child in children:
            child.__exit__(None, None, None)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_another_process_listens_where_the_listener_is_killed_or_stopped(stores, server, monkeypatch, number):
    monkeypatch.setattr(listening, "_TURN", 0.3)
    monkeypatch.setattr(listening, "_STALE", 1.0)
    here, there = stores
    with waiting(there) as first:
        eventually(lambda: server.ask(_LISTENERS))
        with waiting(there) as second:
            first.send(number)
            here.write("thing", "a", {"n": 1})
            assert second.heard() == "{'n': 1}"


def test_a_forked_child_watches_for_itself(stores):
    here, there = stores
    with there.watch("thing", "a") as watch:
        here.write("thing", "a", {"n": 1})
        assert watch.wait(_SECONDS)
        with waiting(there) as child:
            here.write("thing", "a", {"n": 2})
            assert child.heard() == "{'n': 2}"
            assert child.heard() == "end"
        assert watch.wait(_SECONDS)
        here.write("thing", "a", {"n": 3})
        assert watch.wait(_SECONDS)


def test_a_forked_child_that_leaves_the_block_ends_nothing(stores, tmp_path):
    here, there = stores
    with there.watch("thing", "a") as watch:
        with Forked(lambda _child: watch.__exit__(None, None, None)) as child:
            assert child.heard() == "end"
        here.write("thing", "a", {})
        assert watch.wait(_SECONDS)
        assert len(list(Markers(str(tmp_path / "two")).ids())) == 1


def test_a_marker_that_grows_long_begins_anew(stores, monkeypatch, tmp_path):
    monkeypatch.setattr(markers_module, "_LONG", 300)
    here, _there = stores
    with here.watch("thing", "a") as one, here.watch("thing", "a") as another:
        for n in range(40):
            here.write("thing", "a", {"n": n}, durable=False)
            assert one.wait(_SECONDS)
            assert not one.wait(0)
            if n % 7 == 0:
                assert another.wait(_SECONDS)
        assert another.wait(_SECONDS)
        assert not another.wait(0)
        markers = Markers(str(tmp_path / "one"))
        (marker,) = markers.ids()
        assert Path(markers.folder, marker[:2], marker).stat().st_size < 1000


def test_what_belongs_together_is_told_when_it_is_saved(stores, storage):
    here, there = stores
    with here.watch("thing") as near, there.watch("thing") as far:
        with storage.together():
            here.write("thing", "a", {})
            assert not near.wait(0.1)
        assert near.wait(_SECONDS)
        assert far.wait(_SECONDS)
        with suppress(KeyError), storage.together():
            here.write("thing", "a", {})
            raise KeyError
        assert not near.wait(0.1)
        assert not far.wait(0.1)


def test_a_watch_outlives_its_server(stores, server, monkeypatch):
    monkeypatch.setattr(listening, "_AGAIN", 0.1)
    here, there = stores
    with there.watch("thing", "a") as watch:
        server.stop()
        assert not watch.wait(0.2)
        with pytest.raises(StoreError, match="not reachable"), there.watch("thing", "a"):
            pass
        server.start()
        here.write("thing", "a", {})
        assert watch.wait(_SECONDS)


def test_nothing_is_left_when_nobody_watches(stores, tmp_path):
    _here, there = stores
    # A lock that could not be released, as its server is gone, has one of an earlier test.
    before = set(threading.enumerate())
    markers = Markers(str(tmp_path / "two"))
    with there.watch("thing"), there.watch("thing"), there.watch("thing", "a"):
        assert len(list(markers.ids())) == 2
    assert list(markers.ids()) == []
    with waiting(there) as child:
        child.end(signal.SIGKILL)
    assert len(list(markers.ids())) == 1
    there.prune(0)
    assert list(markers.ids()) == []
    begun = set(threading.enumerate()) - before
    assert [one.name for one in begun if one.name.startswith("hookrouter-")] == []


def test_a_watch_can_be_polled(stores):
    _here, there = stores
    with there.watch("thing") as watch:
        assert watch.fileno() >= 0
    assert watch.fileno() == -1


def notified(server, schema, payload: str) -> None:
    """Notify as anybody may who can connect, to whoever listens for the machine ``one``."""
    server.ask("SELECT pg_notify(%s, %s)", names.channel_of(schema, "one"), payload)


@pytest.fixture
def foreign(tmp_path):
    """A file of this user's that is none of hookrouter's, with what it holds."""
    path = tmp_path / "authorized_keys"
    path.write_text("mine\n")
    yield path
    assert path.read_text() == "mine\n"


def test_forged_notifications_cost_a_look_and_change_no_file(stores, server, schema, foreign, tmp_path):
    here, there = stores
    here.write("thing", "a", {"n": 0})
    kind = names.kind_id("one", "", "thing")
    document = names.document_id(kind, names.digest_of("a"))
    with there.watch("thing", "a") as one, there.watch("thing") as all_of_them:
        here.write("thing", "a", {"n": 1})
        assert one.wait(_SECONDS)
        assert all_of_them.wait(_SECONDS)
        for payload in (
            f"{foreign} {foreign} 1",
            f"{kind} {foreign} 1",
            f"{foreign} ssh-rsa\tkey\n 1",
            f"../{foreign.name} x 1",
            f"{kind} {document} {'9' * 25}",
            f"{kind} {document} {'9' * 19}",
            f"{kind} {document} {2**63 - 1}",
            f"{kind} {document} \u0661",
            kind + " " + "\u00e9" * 32 + " 1",
            f"{kind}  1",
            "",
        ):
            notified(server, schema, payload)
        # No version that is to come counts as seen, and nothing of it as news.
        for n in range(2, 5):
            here.write("thing", "a", {"n": n})
            assert one.wait(_SECONDS)
            assert all_of_them.wait(_SECONDS)
            assert not one.wait(0)
            assert not all_of_them.wait(0)
