"""All machines at once: what one statement finds, and that no change goes untold, in whatever order they are saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from hookrouter_postgresql import everywhere as module
from hookrouter_postgresql.engine import PostgresqlStorage
from support.postgres import Server

OpenStorage = Callable[..., PostgresqlStorage]
KINDS = ("thing", "other")


def test_documents_of_all_machines_are_read_at_once(storage: PostgresqlStorage) -> None:
    for machine, name in (("two", "b"), ("one", "a"), ("two", "a\0\ud800")):
        storage.store("", pytest.fail, machine).write("thing", name, {"of": machine})
    storage.store("", pytest.fail, "two").write("other", "a", {})
    storage.store("outbox", pytest.fail, "two").write("thing", "c", {})
    storage.store("", pytest.fail, "two").delete("thing", "b")
    assert storage.everywhere().entries("", "thing") == [
        ("one", "a", {"of": "one"}),
        ("two", "a\0\ud800", {"of": "two"}),
    ]


def test_a_corrupt_document_is_left_out(storage: PostgresqlStorage, server: Server, schema: str) -> None:
    storage.store("", pytest.fail).write("thing", "a", {"good": True})
    storage.store("", pytest.fail).write("thing", "b", {})
    with psycopg.connect(server.dsn()) as connection:
        table = sql.Identifier(schema, "document")
        connection.execute(sql.SQL("UPDATE {} SET body = '[1' WHERE name = 'b'").format(table))
    assert storage.everywhere().entries("", "thing") == [("one", "a", {"good": True})]


def test_changes_are_told_by_machine_and_kind(storage: PostgresqlStorage) -> None:
    look = storage.everywhere()
    place, changed = look.changed("", KINDS, None)
    assert list(changed) == []
    store = storage.store("", pytest.fail, "two")
    for change in (
        lambda: store.write("thing", "a", {}),
        lambda: store.write("thing", "a", {"n": 1}),
        lambda: store.delete("thing", "a"),
    ):
        change()
        place, changed = look.changed("", KINDS, place)
        assert list(changed) == [("two", "thing")]
    storage.store("outbox", pytest.fail).write("thing", "a", {})
    store.write("third", "a", {})
    place, changed = look.changed("", KINDS, place)
    assert list(changed) == []


def test_after_so_long_that_rows_of_the_deleted_are_gone_all_counts_as_changed(
    storage: PostgresqlStorage, server: Server, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, store = storage.everywhere(), storage.store("", pytest.fail, "two")
    storage.store("", pytest.fail).write("thing", "a", {})
    store.write("third", "a", {})
    store.write("thing", "a", {})
    place, _ = look.changed("", KINDS, None)
    store.delete("thing", "a")
    server.ask(f"UPDATE {schema}.document SET written_at = written_at - interval '2 days'")
    store.prune(30 * 86400.0)
    monkeypatch.setattr(module, "DELETED_STAY", -1.0)
    place, changed = look.changed("", KINDS, place)
    assert sorted(changed) == [(machine, kind) for machine in ("one", "two") for kind in sorted(KINDS)]
    monkeypatch.undo()
    assert list(look.changed("", KINDS, place)[1]) == []


def test_what_is_saved_late_is_told_although_newer_changes_were(
    storage: PostgresqlStorage, open_storage: OpenStorage
) -> None:
    look, late, early = storage.everywhere(), open_storage("late"), storage.store("", pytest.fail, "one")
    seen: list[Any] = []
    place, _ = look.changed("", KINDS, None)
    with late.together():
        # Its version is the lower one, and it is there when the transaction ends.
        late.store("", pytest.fail, "one").write("thing", "late", {})
        early.write("thing", "early", {})
        place, changed = look.changed("", KINDS, place)
        seen += changed
        place, again = look.changed("", KINDS, place)
        assert list(again) == []
    place, changed = look.changed("", KINDS, place)
    assert (seen, list(changed)) == ([("one", "thing")], [("one", "thing")])
