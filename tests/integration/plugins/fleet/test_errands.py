"""Errands whose commands are processes, and engines that go and come back while somebody waits."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hookrouter.dialogs.answers.identity import PERSON_VARIABLE
from hookrouter.dialogs.messages.reader import READER_VARIABLE, start_for
from hookrouter.machines import Done, ErrandError
from hookrouter.messaging.trace_context import VARIABLE
from hookrouter.storage.interface import StoreError
from hookrouter.testing import wait_until
from hookrouter_fleet import errands as module
from hookrouter_fleet.errands import Errands, run_elsewhere
from hookrouter_fleet.kinds import FLEET
from hookrouter_fleet.replica import PRESENCE
from support.errands import MINE, Machine, MachineView, left, quick_storage
from support.memory_storage import MemoryStorage, MemoryStore


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> MemoryStorage:
    return quick_storage(monkeypatch)


@pytest.fixture
def machine(storage: MemoryStorage, tmp_path: Path) -> Iterator[Machine]:
    with Machine(storage, str(tmp_path)) as running:
        yield running


def test_a_command_is_run_there_with_what_it_is_given(machine: Machine, storage: MemoryStorage) -> None:
    done = run_elsewhere(storage, "one", ["answer", "--any", "a b", "ü"], "given\n日本\n", pytest.fail)
    assert done == Done(3, "given\n日本\n", "answer --any a b ü\n")
    assert left(storage) == []


@pytest.mark.parametrize(
    ("person", "trace", "told"),
    [("", "", ":"), ("ann", MINE, f"ann:{MINE}"), ("", MINE, f":{MINE}"), ("a\0nn", "00-1-2-01", "ann:")],
)
def test_a_command_knows_who_asks_and_in_which_trace_and_nothing_of_who_started_the_process(
    machine: Machine, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, person: str, trace: str, told: str
) -> None:
    said = f'printf %s "${PERSON_VARIABLE}:${VARIABLE}"'
    monkeypatch.setattr(module, "script_argv", lambda: ["/bin/sh", "-c", said, "sh"])
    done = run_elsewhere(storage, "one", ["answer"], "", pytest.fail, person=person, trace=trace)
    assert done == Done(0, told, "")


def test_a_command_knows_how_hookrouter_is_started_where_its_output_is_read(
    machine: Machine, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKROUTER_HOME", "/where/it is read")
    monkeypatch.setattr(module, "script_argv", lambda: ["/bin/sh", "-c", f'printf %s "${READER_VARIABLE}"', "sh"])
    done = run_elsewhere(storage, "one", ["questions"], "", pytest.fail)
    assert json.loads(done.stdout) == start_for("one", {"HOOKROUTER_HOME": "/where/it is read"})


class Failing(MemoryStore):
    """A look at documents that may fail."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        self.documents, self.changes, self.held = store.documents, store.changes, store.held
        self.fails, self.has_failed = False, threading.Event()

    def read(self, kind: str, name: str) -> dict[str, object] | None:
        if self.fails:
            self.has_failed.set()
            raise StoreError("the engine is away")
        return super().read(kind, name)


@pytest.fixture
def failing(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> Failing:
    """What whoever asks sees of the engine."""
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 10)
    look = Failing(storage.store(FLEET, pytest.fail, "one"))
    monkeypatch.setattr(storage, "store", lambda *_: look)
    return look


def test_whoever_lost_the_engine_hears_what_came_of_it_once_it_is_back(
    storage: MemoryStorage, failing: Failing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "go")
    monkeypatch.setattr(module, "script_argv", lambda: ["/bin/sh", "-c", f"cat {tmp_path / 'go'}; exit 3", "sh"])
    view = MemoryStorage("one")
    view.areas["one", FLEET] = store = MemoryStore()
    store.documents, store.changes, store.held = failing.documents, failing.changes, failing.held
    with Machine(view), ThreadPoolExecutor() as pool:
        asked = pool.submit(run_elsewhere, storage, "one", ["answer"], "", pytest.fail)
        with (tmp_path / "go").open("w") as go:
            # It runs, and soon nobody seems to wait for it.
            failing.fails = True
            wait_until(lambda: store.lock_holder("asking", store.entries("errand")[0][0]) is None, 10, "the failure")
            go.write("done")
        wait_until(lambda: store.entries("errand")[0][1]["state"] == "done", 10, "its end")
        assert not asked.done()
        failing.fails = False
        assert asked.result(10) == Done(3, "done", "")
    assert store.entries("errand") == []


@pytest.mark.parametrize("words", [["answer"], ["sessions"]], ids=" ".join)
def test_what_was_not_taken_when_the_engine_came_back_is_withdrawn(
    storage: MemoryStorage, failing: Failing, words: list[str]
) -> None:
    failing.fails = True
    with failing.lock(*PRESENCE, 0), ThreadPoolExecutor() as pool:
        asked = pool.submit(run_elsewhere, storage, "one", words, "", pytest.fail)
        assert failing.has_failed.wait(10)
        failing.fails = False
        with pytest.raises(ErrandError) as refused:
            asked.result(10)
    # One that reads is asked for again.
    assert refused.value.may_have_run == (words == ["sessions"])
    assert failing.entries("errand") == []


def test_a_text_that_looks_like_an_option_is_a_text(machine: Machine, storage: MemoryStorage) -> None:
    assert run_elsewhere(storage, "one", ["send", "--", "--watch"], "", pytest.fail).code == 3


class Asker:
    """Asks the machine ``one`` to run a command, and may go before it has ended."""

    def __init__(self, storage: MemoryStorage, words: list[str]) -> None:
        self.store = storage.store(FLEET, pytest.fail, "one")
        self._name = " ".join(words)
        self._lock = self.store.lock("asking", self._name, 0).__enter__()
        self.store.write("errand", self._name, {"words": words, "given": "", "state": "asked"})

    def goes(self) -> None:
        self._lock.__exit__()

    def state(self) -> object:
        return (self.store.read("errand", self._name) or {}).get("state")


def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, then: str) -> Path:
    """Have each command make a file, and go on ``then``."""
    monkeypatch.setattr(module, "script_argv", lambda: ["/bin/sh", "-c", f"echo > {tmp_path}/begun; {then}", "sh"])
    return tmp_path / "begun"


@pytest.mark.parametrize("then", ["exec sleep 1000", 'trap "" TERM; while :; do sleep 0.05; done'])
def test_a_command_that_reads_is_ended_when_nobody_waits_any_more(
    machine: Machine, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, then: str
) -> None:
    monkeypatch.setattr(module, "_END_SECONDS", 0.05)
    file = begun(monkeypatch, tmp_path, then)
    asker = Asker(storage, ["queue", "list"])
    wait_until(file.exists, 10, "the command")
    assert asker.state() == "taken"
    asker.goes()
    wait_until(lambda: asker.state() == "done", 10, "its end")
    assert not machine.errands.are_running


def test_a_command_that_acts_is_not_cut_in_the_middle(
    machine: Machine, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    ended = f"while [ ! -e '{go_on}' ]; do sleep 0.01; done; echo > {tmp_path}/ended"
    file = begun(monkeypatch, tmp_path, ended)
    asker = Asker(storage, ["answer", "--any"])
    wait_until(file.exists, 10, "the command")
    asker.goes()
    # One that reads is ended meanwhile.
    reading = Asker(storage, ["sessions"])
    wait_until(lambda: reading.state() == "taken", 10, "another command")
    reading.goes()
    wait_until(lambda: reading.state() == "done", 10, "the end of the other")
    assert asker.state() == "taken"
    go_on.touch()
    wait_until(lambda: asker.state() == "done", 10, "its end")
    assert (tmp_path / "ended").exists()


def test_what_nobody_waits_for_when_its_turn_comes_is_not_run(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = begun(monkeypatch, tmp_path, ":")
    asker, turn = Asker(storage, ["answer", "--any"]), threading.Event()
    errands = Errands(MachineView(storage), {}, pytest.fail, lambda: None, "")
    for _ in range(16):
        errands._pool.submit(turn.wait, 10)
    errands.serve()
    assert asker.state() == "taken"
    asker.goes()
    turn.set()

    def is_done() -> bool:
        errands.serve()
        return asker.state() == "done"

    wait_until(is_done, 10, "its end")
    assert not file.exists()


def test_a_machine_says_that_it_sends_less_than_was_written(
    machine: Machine, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LONGEST_OUTPUT", 4)
    done = run_elsewhere(storage, "one", ["a"], "", pytest.fail)
    assert (done.stderr, done.is_cut) == ("hook", True)
    monkeypatch.setattr(module, "script_argv", lambda: ["/bin/sh", "-c", "printf 1234", "sh"])
    assert run_elsewhere(storage, "one", ["answer"], "", pytest.fail) == Done(0, "1234", "")


def test_what_runs_while_the_engine_is_opened_anew_is_told(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "go")
    monkeypatch.setattr(module, "script_argv", lambda: ["/bin/sh", "-c", f"cat {tmp_path / 'go'}; exit 3", "sh"])
    view = MachineView(storage)
    errands = Errands(view, {"PATH": "/usr/bin:/bin"}, pytest.fail, lambda: None, "")
    store = storage.store(FLEET, pytest.fail, "one")
    store.write("errand", "e", {"words": ["answer"], "given": "", "state": "asked"})
    with store.lock("asking", "e", 0):
        assert errands.serve() == 1
        errands.go_on_with(MachineView(storage))
        assert errands.serve() == 0
        (tmp_path / "go").write_text("done")
        while not errands.ended():
            pass
        errands.serve()
    errand = store.read("errand", "e") or {}
    assert (errand["state"], errand["code"], errand["stdout"]) == ("done", 3, "done")
