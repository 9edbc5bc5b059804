"""Migrations: to the newest version and one back, two at once, and one that fails in the middle."""

from __future__ import annotations

import re

import pytest

from hookrouter.storage.history import HistoryBatch, HistoryPlace, KeptStory
from hookrouter.storage.interface import StoreError
from hookrouter_postgresql import schema as module
from hookrouter_postgresql.schema import NEWEST, Migration, migrations
from support.forked import Forked


def version(server, schema) -> object:
    return server.ask(f"SELECT max(version) FROM {schema}.migration")[0][0]


def tables(server, schema) -> list[object]:
    rows = server.ask("SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", schema)
    return [name for (name,) in rows]


def test_init_makes_what_is_missing_and_says_it(open_storage, server, schema):
    storage = open_storage()
    assert "its tables are missing; run: hookrouter storage init" in storage.check()[0]
    with pytest.raises(StoreError, match="its tables are missing; run: hookrouter storage init"):
        storage.store("", print).read("thing", "a")
    assert storage.init() == [
        f"made the schema {schema}",
        "applied migration 1 (documents)",
        "applied migration 2 (locks)",
        "applied migration 3 (history)",
    ]
    assert storage.init() == []
    assert storage.check() == []
    assert storage.store("", print).read("thing", "a") is None


def test_one_version_back_and_forward_again(storage, open_storage, server, schema):
    store = storage.store("", pytest.fail)
    store.write("thing", "a", {})
    assert storage.migrate(NEWEST - 1) == ["took back migration 3 (history)"]
    assert tables(server, schema) == ["document", "lock", "migration", "put_aside"]
    # A release works with the tables of the former one.
    assert open_storage().store("", pytest.fail).read("thing", "a") == {}
    assert storage.migrate(NEWEST - 1) == []
    assert storage.migrate(NEWEST - 2) == ["took back migration 2 (locks)"]
    with pytest.raises(StoreError, match=r"of version 1, this hookrouter wants 3; run: hookrouter storage migrate"):
        open_storage().store("", pytest.fail).read("thing", "a")
    assert storage.migrate() == ["applied migration 2 (locks)", "applied migration 3 (history)"]
    assert store.read("thing", "a") == {}


def test_what_is_lost_by_going_back_is_said(storage):
    history = storage.history()
    story = dict.fromkeys(("session", "kind", "outcome", "by", "session_id"), "")
    stories = [KeptStory("one", {**story, "tool_use_id": str(number)}, {}, 0.0, 0.0, "") for number in range(3)]
    history.append(HistoryBatch(0, {"a": 1}, stories, []))
    (said,) = storage.migrate(NEWEST - 1)
    assert "migration 3 (history): the history of all machines went with its tables, 3 questions" in said
    assert "when you migrate again, each machine adds what its journal still has" in said
    # And so they do: nothing counts as brought.
    storage.migrate()
    assert storage.history().place() == HistoryPlace(0, {})


def test_what_is_not_allowed(storage, server, schema):
    storage.store("", pytest.fail).write("thing", "a", {})
    with pytest.raises(StoreError, match=r"cannot go back from version 3 to 0; allowed: 2 to 3$"):
        storage.migrate(0)
    for none in (-1, NEWEST + 1):
        with pytest.raises(StoreError, match=rf"there is no version {none} of the tables; allowed: 2 to {NEWEST}$"):
            storage.migrate(none)
    storage.migrate(2)
    storage.migrate(1)
    # It would take the documents with it.
    with pytest.raises(StoreError, match="there are documents"):
        storage.migrate(0)
    assert version(server, schema) == 1
    server.ask(f"DELETE FROM {schema}.document")
    assert storage.migrate(0) == ["took back migration 1 (documents)"]
    assert tables(server, schema) == ["migration"]
    assert storage.init() == [f"applied migration {step.version} ({step.name})" for step in migrations()]


def test_an_older_hookrouter_goes_on_with_newer_tables_that_are_made_for_it(storage, open_storage, server, schema):
    server.ask(f"INSERT INTO {schema}.migration VALUES (4, 'later', 3, '')")
    assert open_storage().store("", pytest.fail).read("thing", "a") is None
    server.ask(f"UPDATE {schema}.migration SET works_with = 4 WHERE version = 4")
    newer = r"of version 4, this hookrouter knows 3; update hookrouter on this machine"
    with pytest.raises(StoreError, match=newer):
        open_storage().store("", pytest.fail).read("thing", "a")
    with pytest.raises(StoreError, match=newer):
        storage.migrate()
    assert re.search(newer, storage.check()[0])


def test_two_at_once_apply_each_step_once(open_storage, server, schema):
    def migrate(child: Forked) -> None:
        storage = open_storage()
        child.say("ready")
        child.heard()
        child.say(str(len(storage.init())))

    with Forked(migrate) as one, Forked(migrate) as two, Forked(migrate) as three:
        children = (one, two, three)
        for child in children:
            assert child.heard() == "ready"
        for child in children:
            child.say("go")
        assert sum(int(child.heard()) for child in children) == 1 + NEWEST
    assert server.ask(f"SELECT count(*) FROM {schema}.migration") == [(NEWEST,)]


def test_a_step_that_fails_leaves_nothing_behind(open_storage, server, schema, monkeypatch):
    broken = [
        migrations()[0],
        Migration(
            2, "broken", 2, "CREATE TABLE {schema}.half (); CREATE TABLE {schema}.half ()", "DROP TABLE {schema}.half"
        ),
    ]
    storage = open_storage()
    with monkeypatch.context() as patched:
        patched.setattr(module, "migrations", lambda: broken)
        with pytest.raises(StoreError, match='relation "half" already exists'):
            storage.init()
    assert version(server, schema) == 1
    assert "half" not in tables(server, schema)
    assert storage.init() == ["applied migration 2 (locks)", "applied migration 3 (history)"]


def test_a_step_that_was_changed_after_it_was_applied_is_told(storage, server, schema):
    server.ask(f"UPDATE {schema}.migration SET checksum = 'another' WHERE version = 1")
    (problem,) = storage.check()
    assert "migration 1 (documents) was applied in another form" in problem


def test_a_server_that_does_not_save_durably_is_told(storage, server):
    server.ask("ALTER ROLE hookrouter SET synchronous_commit = off")
    try:
        storage.close()
        assert storage.check() == ["synchronous_commit is off: what is saved may be lost with the server; set it to on"]
    finally:
        server.ask("ALTER ROLE hookrouter RESET synchronous_commit")


def test_machines_are_those_that_have_documents(storage, open_storage):
    assert storage.machines() == []
    two = open_storage("two").store("", pytest.fail)
    two.write("thing", "a", {"n": 2})
    storage.store("outbox", pytest.fail).write("thing", "a", {"n": 1})
    assert storage.machines() == ["one", "two"]
    assert storage.store("", pytest.fail).read("thing", "a") is None
    assert storage.store("", pytest.fail, machine="two").read("thing", "a") == {"n": 2}
    two.delete("thing", "a")
    assert storage.machines() == ["one"]
