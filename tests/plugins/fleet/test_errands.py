"""Errands: run once, by the machine that is asked, while somebody waits for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hookrouter.machines import Done, ErrandError
from hookrouter.storage.interface import StoreError
from hookrouter_fleet import errands as module
from hookrouter_fleet.errands import Errands, run_elsewhere
from hookrouter_fleet.kinds import FLEET
from hookrouter_fleet.replica import PRESENCE
from support.changes import once_saved
from support.errands import Machine, MachineView, left, quick_storage
from support.memory_storage import MemoryStorage, MemoryStore
from support.stepped_time import SteppedTime


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> MemoryStorage:
    return quick_storage(monkeypatch)


@pytest.fixture
def machine(storage: MemoryStorage, tmp_path: Path) -> Iterator[Machine]:
    with Machine(storage, str(tmp_path)) as running:
        yield running


@pytest.mark.parametrize("words", [["doctor"], [], ["serve", "--stop"], ["/bin/sh"], ["--machine", "x"]])
def test_no_other_command_is_run(machine: Machine, storage: MemoryStorage, words: list[str]) -> None:
    done = run_elsewhere(storage, "one", words, "", pytest.fail)
    assert done.code == 2
    assert "is not a command for another machine; allowed: answer, send" in done.stderr


def test_a_machine_that_is_not_there_does_nothing(storage: MemoryStorage) -> None:
    with pytest.raises(ErrandError, match="the machine one is not there") as refused:
        run_elsewhere(storage, "one", ["answer"], "", pytest.fail)
    assert not refused.value.may_have_run
    assert left(storage) == []


def test_what_is_not_taken_in_time_is_withdrawn(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TAKE_SECONDS", 0.05)
    store = storage.store(FLEET, pytest.fail, "one")
    with store.lock(*PRESENCE, 0), pytest.raises(ErrandError, match="did not take it; nothing was done") as refused:
        run_elsewhere(storage, "one", ["answer"], "", pytest.fail)
    assert not refused.value.may_have_run
    assert left(storage) == []


def test_of_a_machine_that_goes_in_between_it_is_not_known(storage: MemoryStorage) -> None:
    store = storage.store(FLEET, pytest.fail, "one")
    lock = store.lock(*PRESENCE, 0).__enter__()

    def take_and_go() -> None:
        while not (found := left(storage)):
            pass
        ((name, errand),) = found
        store.replace("errand", name, {**errand, "state": "taken"}, unchanged=errand)
        lock.__exit__()

    thread = threading.Thread(target=take_and_go)
    thread.start()
    with pytest.raises(ErrandError, match="has gone while it did that; whether it was done is not known") as refused:
        run_elsewhere(storage, "one", ["answer"], "", pytest.fail)
    thread.join()
    assert refused.value.may_have_run


def test_of_an_engine_that_goes_in_between_it_is_not_known(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreError("the engine is away")

    store = storage.store(FLEET, pytest.fail, "one")
    monkeypatch.setattr(MemoryStore, "read", away)
    monkeypatch.setattr(module, "time", SteppedTime())
    with store.lock(*PRESENCE, 0), pytest.raises(ErrandError, match="the engine is away; whether") as refused:
        run_elsewhere(storage, "one", ["answer"], "", pytest.fail)
    assert refused.value.may_have_run


def test_a_machine_that_cannot_say_for_a_moment_that_it_is_there_is_waited_for(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 10)
    store = storage.store(FLEET, pytest.fail, "one")
    with ThreadPoolExecutor() as pool:
        with store.lock(*PRESENCE, 0):
            asked = pool.submit(run_elsewhere, storage, "one", ["answer"], "", pytest.fail)
            once_saved(store, "errand", lambda: left(storage), "what is asked")
            ((name, errand),) = left(storage)
            taken = {**errand, "state": "taken"}
            store.replace("errand", name, taken, unchanged=errand)
        missed = threading.Event()
        former = store.lock_holder

        def lock_holder(*key: str) -> str | None:
            if (found := former(*key)) is None:
                missed.set()
            return found

        monkeypatch.setattr(store, "lock_holder", lock_holder)
        assert missed.wait(10)
        done = {**taken, "state": "done", "code": 0, "stdout": "yes", "stderr": ""}
        store.replace("errand", name, done, unchanged=taken)
        assert asked.result(10) == Done(0, "yes", "")


def test_what_nobody_waits_for_any_more_is_not_run(storage: MemoryStorage) -> None:
    store = storage.store(FLEET, pytest.fail, "one")
    store.write("errand", "orphan", {"words": ["answer"], "given": "", "state": "asked", "at": "2020-01-01T00:00:00Z"})
    errands = Errands(MachineView(storage), {}, pytest.fail, lambda: None, "")
    errands.serve()
    assert not errands.are_running
    assert left(storage) == []


@pytest.mark.parametrize(
    "words",
    [["questions", "--watch"], ["sessions", "--json", "--watch"], ["queue", "deliver", "--session=work"]],
    ids=" ".join,
)
def test_what_never_ends_is_not_run(machine: Machine, storage: MemoryStorage, words: list[str]) -> None:
    assert run_elsewhere(storage, "one", words, "", pytest.fail).code == 2


def test_what_a_process_had_taken_that_was_replaced_is_not_waited_for(storage: MemoryStorage) -> None:
    store = storage.store(FLEET, pytest.fail, "one")
    with store.lock(*PRESENCE, 0), ThreadPoolExecutor() as pool:
        asked = pool.submit(run_elsewhere, storage, "one", ["answer"], "", pytest.fail)
        once_saved(store, "errand", lambda: left(storage), "what is asked")
        ((name, errand),) = left(storage)
        store.replace("errand", name, {**errand, "state": "taken"}, unchanged=errand)
        Errands(MachineView(storage), {}, pytest.fail, lambda: None, "").serve()
        with pytest.raises(ErrandError, match="has gone while it did that; whether it was done is not known") as lost:
            asked.result(10)
    assert lost.value.may_have_run


def test_an_errand_that_the_engine_has_lost_is_not_waited_for(storage: MemoryStorage) -> None:
    store = storage.store(FLEET, pytest.fail, "one")
    with store.lock(*PRESENCE, 0), ThreadPoolExecutor() as pool:
        asked = pool.submit(run_elsewhere, storage, "one", ["answer"], "", pytest.fail)
        once_saved(store, "errand", lambda: left(storage), "what is asked")
        store.delete("errand", left(storage)[0][0])
        with pytest.raises(ErrandError, match="whether it was done is not known") as lost:
            asked.result(10)
    assert lost.value.may_have_run


@pytest.mark.parametrize(
    "errand",
    [
        {},
        {"state": "asked"},
        {"state": "asked", "words": "answer", "at": 5},
        {"state": "asked", "words": ["answer", 5], "given": None},
        {"state": "taken", "at": "yesterday"},
        {"state": ["asked"], "words": {"a": 1}},
    ],
)
def test_whatever_stands_there_ends_as_nothing_worse_than_a_refusal(
    storage: MemoryStorage, errand: dict[str, object]
) -> None:
    store = storage.store(FLEET, pytest.fail, "one")
    store.write("errand", "odd", errand)
    done = threading.Event()
    errands = Errands(MachineView(storage), {}, pytest.fail, done.set, "")
    with store.lock("asking", "odd", 0):
        errands.serve()
        if errands.are_running:
            assert done.wait(10)
            while errands.are_running:
                errands.serve()
            assert (store.read("errand", "odd") or {})["code"] == 2
