"""Documents in files that several processes read and write, and locks between them."""

from __future__ import annotations

import contextlib
import fcntl
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from hookrouter.storage.documents import Store, StoreBusy

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path, reports) -> Store:
    return Store(str(tmp_path / "state"), reports.append)


@contextlib.contextmanager
def python(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program in a process of its own, and end it with the block."""
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_kill_9_at_any_moment_leaves_a_whole_document(store, reports):
    writer = """
import sys
from hookrouter.storage.documents import Store
store = Store(sys.argv[1], print)
number = 0
while True:
    number += 1
    store.write("question", "a", {"number": number, "filling": "x" * (number * 997 % 50_000)}, durable=number % 2 == 0)
    if number == 1:
        print("started", flush=True)
"""
    for attempt in range(6):
        with python(writer, store.folder) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            until = time.monotonic() + 0.01 * (attempt + 1)
            while time.monotonic() < until:
                document = store.read("question", "a")
                assert document is not None
                assert document["filling"] == "x" * (document["number"] * 997 % 50_000)
            process.send_signal(signal.SIGKILL)
            process.wait()
        ((name, document),) = store.entries("question")
        assert name == "a"
        assert document["filling"] == "x" * (document["number"] * 997 % 50_000)
    assert reports == []


def test_a_lock_excludes_another_process_and_names_it(store):
    holder = """
import sys, time
from hookrouter.storage.documents import Store
with Store(sys.argv[1], print).lock("answer", "a", 0):
    print("held", flush=True)
    time.sleep(60)
"""
    with python(holder, store.folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StoreBusy, match=f"process {process.pid}, since 20"), store.lock("answer", "a", 0):
            pass
        started = time.monotonic()
        with pytest.raises(StoreBusy), store.lock("answer", "a", 0.1):
            pass
        assert time.monotonic() - started >= 0.1
        with store.lock("answer", "b", 0):
            pass
        process.kill()
        process.wait()
        with store.lock("answer", "a", 0):
            pass


def test_a_lock_file_that_its_holder_removes_meanwhile_is_no_lock(store, monkeypatch):
    flock = fcntl.flock
    holders = [store.lock("answer", "a", 0)]
    holders[0].__enter__()

    def flock_after_the_release(descriptor: int, operation: int) -> None:
        while holders:
            holders.pop().__exit__(None, None, None)
        flock(descriptor, operation)

    monkeypatch.setattr("fcntl.flock", flock_after_the_release)
    with store.lock("answer", "a", 1), pytest.raises(StoreBusy), store.lock("answer", "a", 0):
        pass


def test_processes_that_count_under_a_lock_lose_no_count(store):
    counter = """
import sys
from hookrouter.storage.documents import Store
store = Store(sys.argv[1], print)
for _ in range(50):
    with store.lock("count", "a", 30):
        document = store.read("count", "a") or {"n": 0}
        store.write("count", "a", {"n": document["n"] + 1}, durable=False)
"""
    with (
        python(counter, store.folder) as one,
        python(counter, store.folder) as two,
        python(counter, store.folder) as three,
    ):
        assert [one.wait(), two.wait(), three.wait()] == [0, 0, 0]
    assert store.read("count", "a") == {"n": 150}


def test_a_lock_needs_no_room_for_the_name_of_its_holder(tmp_path):
    code = (
        "import resource, signal, sys; from hookrouter.storage.documents import Store\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "with Store(sys.argv[1], print).lock('a', 'b', 0): print('held')\n"
    )
    with python(code, str(tmp_path / "state")) as process:
        assert process.communicate(timeout=30)[0] == "held\n"
