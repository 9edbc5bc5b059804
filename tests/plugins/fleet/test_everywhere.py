"""All machines at once, by an engine that looks at one after the other."""

from __future__ import annotations

import pytest

from hookrouter_fleet.everywhere import everywhere
from support.memory_storage import MemoryStorage


def test_documents_come_with_their_machines() -> None:
    storage = MemoryStorage("one")
    storage.store("", pytest.fail, "two").write("thing", "b", {"n": 2})
    storage.store("", pytest.fail).write("thing", "a", {"n": 1})
    assert everywhere(storage, pytest.fail).entries("", "thing") == [("one", "a", {"n": 1}), ("two", "b", {"n": 2})]


def test_changes_are_told_once() -> None:
    storage = MemoryStorage("one")
    look, store = everywhere(storage, pytest.fail), storage.store("", pytest.fail, "two")
    place, changed = look.changed("", ("thing", "other"), None)
    assert list(changed) == []
    store.write("thing", "a", {})
    place, changed = look.changed("", ("thing", "other"), place)
    assert list(changed) == [("two", "thing")]
    place, changed = look.changed("", ("thing", "other"), place)
    assert list(changed) == []
    store.delete("thing", "a")
    _, changed = look.changed("", ("thing", "other"), place)
    assert list(changed) == [("two", "thing")]
