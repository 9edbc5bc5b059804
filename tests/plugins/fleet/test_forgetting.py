"""A machine that is gone for good is removed from the engine, and no other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrouter.storage.documents import Store
from hookrouter.storage.home import DocumentKind, Home
from hookrouter.storage.interface import StoreError
from hookrouter_fleet.forgetting import forget
from hookrouter_fleet.kinds import FLEET, OWN_KINDS
from hookrouter_fleet.replica import PRESENCE, Brought, Replica
from support.memory_storage import MemoryStorage
from support.shared_kinds import SHARED, SHARED_KINDS

if TYPE_CHECKING:
    from pathlib import Path


def filled() -> MemoryStorage:
    """Return an engine with a document of each kind of two machines."""
    storage = MemoryStorage("one")
    for machine in ("one", "two"):
        for area, kinds in {**SHARED, FLEET: OWN_KINDS}.items():
            for kind in kinds:
                storage.store(area, pytest.fail, machine).write(kind, "a name", {"version": 1})
    return storage


def test_nothing_is_left_of_it_and_all_of_the_others() -> None:
    storage = filled()
    every = {kind: 1 for kinds in (*SHARED.values(), OWN_KINDS) for kind in kinds}
    assert forget(storage, "two", "one", SHARED_KINDS, pytest.fail, dry_run=True) == every
    assert storage.machines() == ["one", "two"]
    assert forget(storage, "two", "one", SHARED_KINDS, pytest.fail) == every
    assert storage.machines() == ["one"]
    assert sum(len(store.documents) for store in storage.areas.values()) == len(every)


def test_documents_of_a_plugin_that_is_off_here_are_told_of() -> None:
    storage, told = filled(), list[str]()
    storage.store("", pytest.fail, "two").write("parcel", "a name", {"version": 1})
    forget(storage, "two", "one", SHARED_KINDS, told.append, dry_run=True)
    assert told == []
    forget(storage, "two", "one", SHARED_KINDS, told.append)
    assert told == ["the engine still has documents of 'two': those of plugins that are not active here"]
    forget(storage, "two", "one", [*SHARED_KINDS, DocumentKind("parcel", shared=True)], pytest.fail)
    assert storage.machines() == ["one"]


@pytest.mark.parametrize(
    ("machine", "words"),
    [("one", "'one' is this machine"), ("twoo", "no machine 'twoo' has documents in the engine; did you mean 'two'")],
)
def test_only_another_machine_that_is_there_is_forgotten(machine: str, words: str) -> None:
    storage = filled()
    with pytest.raises(StoreError, match=words):
        forget(storage, machine, "one", SHARED_KINDS, pytest.fail)
    assert storage.machines() == ["one", "two"]


def test_one_that_is_at_work_is_not_forgotten() -> None:
    storage = filled()
    with (
        storage.store(FLEET, pytest.fail, "two").lock(*PRESENCE, 0),
        pytest.raises(StoreError, match=r"is at work .*end hookrouter there first"),
    ):
        forget(storage, "two", "one", SHARED_KINDS, pytest.fail)
    assert storage.machines() == ["one", "two"]


def test_one_that_comes_back_is_there_again(tmp_path: Path) -> None:
    home, storage = Home.in_folder(str(tmp_path)), MemoryStorage("two")
    Store(home.state, pytest.fail).write("question", "a", {"session": "a"})
    for _ in range(2):
        replica = Replica(home, storage, "two", SHARED_KINDS, pytest.fail)
        replica.settle()
        assert replica.bring() == Brought(written=1)
        forget(storage, "two", "one", SHARED_KINDS, pytest.fail)
        assert storage.machines() == []
