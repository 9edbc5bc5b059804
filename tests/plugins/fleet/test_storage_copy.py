"""``hookrouter storage copy`` beside the process that writes documents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hookrouter._plugins.registry import Plugins
from hookrouter.config import Config, StorageConfig
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter_fleet.command import _brought
from hookrouter_fleet.locks import SHARING
from hookrouter_fleet.replica import Brought, Replica
from support.memory_storage import MemoryStorage
from support.shared_kinds import SHARED_KINDS


class Between(MemoryStorage):
    """An engine before whose writes by other threads something happens."""

    meanwhile: Callable[[], None]

    @contextmanager
    def together(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            self.meanwhile()
        yield


def test_what_is_over_while_it_is_copied_does_not_come_back(tmp_path: Path) -> None:
    home, storage = Home.in_folder(str(tmp_path)), Between()
    store, there = Store(home.state, pytest.fail), storage.store("", pytest.fail)
    store.write("queue", "m1", {})
    process = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    process.settle()
    process.bring()
    there.delete("queue", "m1")

    def over() -> None:
        store.delete("queue", "m1")
        process.bring()

    storage.meanwhile = over
    application: Any = SimpleNamespace(
        home=home,
        store=store,
        warn=pytest.fail,
        config=SimpleNamespace(storage=StorageConfig(machine="one")),
        plugins=Plugins([], Config(), pytest.fail),
    )
    with store.lock(*SHARING, 0), ThreadPoolExecutor() as threads:
        copy = threads.submit(_brought, application, storage, is_back=False, dry_run=False)
        while not copy.done():
            process.bring()
        brought, by = copy.result()
    assert by
    assert brought == Brought(written=1)
    over()
    assert there.entries("queue") == []
