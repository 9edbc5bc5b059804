"""The process that brings documents: when it ends, and who goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookrouter.cli import sharing_process
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import HOME_VARIABLE, Home
from hookrouter.storage.interface import StoreError
from hookrouter.storage.progress import read_progress
from hookrouter_fleet import process as module
from hookrouter_fleet.locks import SHARING
from support.forked import Forked
from support.memory_storage import MemoryStorage

CONFIG = '[storage]\nengine = "postgresql"\nmachine = "one"\ndsn_env = "A_DSN"\n'
OPEN = {"session": "work", "tool_use_id": "t1"}


class Engine(MemoryStorage):
    """An engine that takes so many transactions, and is away then."""

    def __init__(self, transactions: int) -> None:
        super().__init__("one")
        self._left = transactions

    def opened(self, *_given: object) -> Engine:
        if not self._left:
            raise StoreError("the engine is away")
        return self

    @contextmanager
    def together(self) -> Iterator[None]:
        yield
        self._left -= 1
        if not self._left:
            for store in self.areas.values():
                store.held.clear()


class Process:
    """Runs :func:`hookrouter.cli.sharing_process.main` in a child, and tells how it ended."""

    def __init__(self, home: Home, patch: Callable[..., None]) -> None:
        self.home = home
        self.patch = patch
        self.seconds(STAY=0.5, IDLE=0.0, FAILING=0.0, LOOK=0.02)
        patch("FIRST_PAUSE", 0.01)
        patch("LONGEST_PAUSE", 0.02)

    def seconds(self, **values: float) -> None:
        for name, value in values.items():
            self.patch(f"{name}_SECONDS", value)

    def ended(self, transactions: int = 1000) -> str:
        """Return ``CODE STARTED``: its exit code, and how many processes it has started to go on."""
        engine, started = Engine(transactions), list[object]()

        def work(parent: Forked) -> None:
            module.open_engine = engine.opened  # type: ignore[assignment]
            sharing_process.start_sharing = lambda *given: started.append(given)  # type: ignore[assignment]
            code = sharing_process.main([])
            parent.say(f"{code} {len(started)}")

        with Forked(work) as child:
            return child.heard()


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    home = Home.in_folder(str(tmp_path / "home"))
    Path(home.root).mkdir()
    Path(home.config_file).write_text(CONFIG)
    monkeypatch.setenv(HOME_VARIABLE, home.root)
    monkeypatch.setenv("A_DSN", "host=nowhere")
    return Process(
        home, lambda name, value: monkeypatch.setattr(module if hasattr(module, name) else sharing_process, name, value)
    )


def test_one_that_is_old_starts_the_next_while_something_is_open(process: Process) -> None:
    open_store(process.home, pytest.fail).write("question", "q", OPEN)
    assert process.ended() == "0 1"


def test_one_with_nothing_open_ends(process: Process) -> None:
    process.seconds(STAY=60)
    assert process.ended() == "0 0"


def test_one_whose_engine_never_came_ends_if_nothing_is_open(process: Process) -> None:
    process.seconds(STAY=60)
    assert process.ended(transactions=0) == "0 0"


def test_one_that_has_told_of_something_goes_on_until_it_can_tell_of_its_end(process: Process) -> None:
    process.seconds(IDLE=60)
    open_store(process.home, pytest.fail).write("session", "work", {"session": "work", "state": "idle"})
    assert process.ended(transactions=1) == "0 1"


def test_one_that_cannot_do_what_another_does_says_nothing_of_the_engine(process: Process) -> None:
    process.seconds(STAY=0.3)
    with open_store(process.home, pytest.fail).lock(*SHARING, 0):
        assert process.ended(transactions=0) == "0 0"
    assert read_progress(process.home).failures == 0
    process.ended(transactions=0)
    assert read_progress(process.home).failures > 0
    assert json.loads(Path(process.home.cache, "sharing.json").read_text())["failing"] is True
