"""The alarm about config.toml, told by one of many processes."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from hookrouter import _wiring
from hookrouter._config.cache import load
from hookrouter._config_alarm import screen_text, tell_agents
from hookrouter.cli.application import Application
from support.alarm_place import ALL_TOLD, BROKEN, GOOD, Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path)

    def note(_services: object, **_: object) -> None:
        found.deliveries += 1

    monkeypatch.setattr(_wiring, "start_delivery", note)
    monkeypatch.setattr(_wiring, "push_outbox", lambda *_: None)
    return found


def _tell(root: str) -> tuple[bool, bool]:
    services = Application.from_environ({"HOOKROUTER_HOME": root})
    return tell_agents(services), bool(screen_text(services))


def test_of_many_processes_at_once_one_tells(place: Place) -> None:
    place.write(GOOD)
    load(place.home)
    place.write(BROKEN)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        told = pool.map(_tell, [place.home.root] * 12, chunksize=1)
    assert sum(agents for agents, _ in told) == 1
    assert sum(screen for _, screen in told) == 1
    assert place.told() == ALL_TOLD
