"""The whole contract behind pgbouncer, where each transaction may have another session of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrouter.testing.contracts.document_storage import DocumentStorageContract
from hookrouter_postgresql import listening
from support.forked import Forked
from support.pgbouncer import pgbouncer

if TYPE_CHECKING:
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.testing.contracts.document_storage import StoreMaker

_SECONDS = 30.0


@pytest.fixture(scope="module")
def pooled(shared_server):
    with pgbouncer(shared_server) as dsn:
        yield dsn


@pytest.fixture
def open_pooled(storage, open_storage, pooled, monkeypatch):
    monkeypatch.setenv("POOLED_DATABASE", pooled)
    return lambda machine="one", **settings: open_storage(machine, "POOLED_DATABASE", **settings)


@pytest.fixture
def make_store(open_pooled) -> StoreMaker:
    def make() -> DocumentStore:
        return open_pooled().store("", lambda text: pytest.fail(text))

    return make


class TestBehindAPooler(DocumentStorageContract):
    pass


def test_it_is_well_and_can_be_migrated_there(open_pooled):
    storage = open_pooled()
    assert storage.check() == []
    assert storage.migrate(2) == ["took back migration 3 (history)"]
    assert storage.init() == ["applied migration 3 (history)"]


def test_another_machine_hears_of_changes_by_reading(open_pooled, monkeypatch):
    monkeypatch.setattr(listening, "_TURN", 0.2)
    here, there = open_pooled().store("", pytest.fail), open_pooled("two").store("", pytest.fail, machine="one")
    with there.watch("thing", "a") as watch:
        for change in (lambda: here.write("thing", "a", {}), lambda: here.delete("thing", "a")):
            change()
            assert watch.wait(_SECONDS)
            assert not watch.wait(0)


def test_no_session_keeps_anything(open_pooled, server, schema):
    """Many clients on few sessions: no limit and no durability of one transaction is another one's."""
    impatient, patient = open_pooled(statement_timeout=0.3), open_pooled()

    def write(child: Forked) -> None:
        store = impatient.store("", pytest.fail)
        for n in range(30):
            store.write("thing", str(child.pid), {"n": n}, durable=False)

    with Forked(write) as one, Forked(write) as two:
        slow = f"SELECT pg_sleep(0.6), current_setting('synchronous_commit') FROM {schema}.migration LIMIT 1"
        opened = patient.store("", pytest.fail)
        opened.write("thing", "b", {})
        assert [rows[0][1] for rows in (patient._opened().run(slow, ()) for _ in range(4))] == ["on"] * 4
        assert one.heard() == two.heard() == "end"
