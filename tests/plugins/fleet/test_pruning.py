"""What a machine's process has the engine remove: of each of its areas, once an hour."""

from __future__ import annotations

import pytest

from hookrouter_fleet import pruning as module
from hookrouter_fleet.kinds import AREAS, FLEET
from hookrouter_fleet.pruning import KEPT_SECONDS, PRUNE_SECONDS, Pruning
from support.memory_storage import MemoryStorage, MemoryStore


def test_each_area_of_the_machine_is_pruned_once_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, now = MemoryStorage(), [50.0]
    pruned: list[tuple[MemoryStore, float]] = []
    monkeypatch.setattr(MemoryStore, "prune", lambda store, seconds: pruned.append((store, seconds)))
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    storage.store("", pytest.fail, "another")
    pruning = Pruning(storage, pytest.fail)
    for _ in range(3):
        pruning.serve()
    expected = [(storage.areas["one", area], KEPT_SECONDS) for area in (*AREAS, FLEET)]
    assert pruned == expected
    now[0] += PRUNE_SECONDS
    pruning.serve()
    assert pruned == [*expected, *expected]
