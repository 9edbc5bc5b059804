from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hookrouter.config import Config, StorageConfig
from hookrouter.serving import readiness
from hookrouter.serving.readiness import SILENT_SECONDS, Readiness, look
from hookrouter.storage.home import Home
from hookrouter.storage.progress import read_progress
from hookrouter_fleet.progress import ProgressNotes
from hookrouter_fleet.replica import Brought

SHARED = Config(storage=StorageConfig(engine="shelf"))


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "FRESH_SECONDS", 0.0)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.in_folder(str(tmp_path))
    os.makedirs(home.state)
    return home


def test_without_a_router_or_a_state_folder_nothing_is_taken(home: Home) -> None:
    assert look(home, Config()) == Readiness("silent", "writable", "files")
    os.rmdir(home.state)
    assert look(home, Config()) == Readiness("silent", "not writable", "files")
    assert not Readiness("silent", "writable", "files").is_ready()
    assert not Readiness("answers", "not writable", "files").is_ready()


def test_without_the_engine_a_machine_is_ready_by_itself(home: Home) -> None:
    assert look(home, SHARED).engine == "local"
    notes = ProgressNotes(home)
    notes.reached(Brought(written=2, deleted=1), 3)
    assert look(home, SHARED).engine == "reached"
    notes.failed()
    assert look(home, SHARED).engine == "local"
    notes.reached(Brought(), 0)
    assert look(home, SHARED).engine == "reached"
    alone = Readiness("answers", "writable", "local")
    assert (alone.is_ready(), alone.is_ready(engine_required=True)) == (True, False)
    assert alone.document(engine_required=True)["ready"] is False


def test_an_engine_that_says_nothing_for_long_is_away(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ProgressNotes(home).reached(Brought(), 0)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + SILENT_SECONDS + 1)
    assert look(home, SHARED).engine == "local"


def test_progress_counts_on_over_processes(home: Home) -> None:
    for _ in range(2):
        notes = ProgressNotes(home)
        notes.reached(Brought(written=2, deleted=1), 1)
        notes.failed()
    found = read_progress(home)
    assert (found.written, found.deleted, found.errands, found.failures, found.failing) == (4, 2, 2, 2, True)


def test_a_file_of_anything_else_says_nothing(home: Home) -> None:
    os.makedirs(home.cache, exist_ok=True)
    Path(home.cache, "sharing.json").write_text('{"reached_at": "soon", "written": [], "errands": 4}')
    assert read_progress(home)._replace(errands=0) == read_progress(Home.in_folder(home.root + "-other"))
    assert read_progress(home).errands == 4
