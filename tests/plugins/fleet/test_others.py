"""The other machines of a fleet, for several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

from hookrouter.config import StorageConfig
from hookrouter_fleet import others


def test_threads_that_ask_at_once_open_the_engine_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    first, second = Barrier(2), Barrier(2)

    def open_engine(*_: object) -> Any:
        opened.append(SimpleNamespace(machines=lambda: ["here", "there"]))
        return opened[-1]

    monkeypatch.setattr(others, "open_engine", open_engine)
    monkeypatch.setattr(others, "everywhere", lambda storage, warn: storage)
    monkeypatch.setattr(others, "machine_name", lambda config: "here")
    services = SimpleNamespace(config=SimpleNamespace(storage=StorageConfig()), home=None, plugins=None, warn=print)
    found = others.Others(services)  # type: ignore[arg-type]

    def ask() -> list[str]:
        first.wait(30)
        names = found.names()
        second.wait(30)
        return names

    with ThreadPoolExecutor(2) as pool:
        assert [one.result() for one in (pool.submit(ask), pool.submit(ask))] == [["there"], ["there"]]
    assert len(opened) == 1
