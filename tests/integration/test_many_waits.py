"""More processes wait than the kernel has inotify instances for one user: each is told of its own answer."""

from __future__ import annotations

import os
import select
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from hookrouter.dialogs.handover import ANSWER
from hookrouter.dialogs.waiting import watches_of
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home

WAITING = 150
"""Linux allows 128 instances by default."""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems tell of nothing")
def test_each_of_very_many_waits_is_woken_by_the_system(tmp_path: Path) -> None:
    home = Home.in_folder(str(tmp_path))
    ready, told = os.pipe()
    children = {}
    try:
        for number in range(WAITING):
            child = os.fork()
            if child == 0:
                os._exit(wait(home, f"question-{number}", told))
            children[child] = f"question-{number}"
        for _ in children:
            assert os.read(ready, 1) == b"."
        store = open_store(home, pytest.fail)
        for child, name in list(children.items()):
            store.write(ANSWER, name, {"name": name}, durable=False)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            del children[child]
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)
        os.close(ready)
        os.close(told)


def wait(home: Home, name: str, told: int) -> int:
    """Wait as a hook does, without ever looking by itself; return 0 once the answer is there."""
    store = open_store(home, print)
    with ExitStack() as stack:
        watches = [stack.enter_context(watch) for watch in watches_of(store, name)]
        poll = select.poll()
        for watch in watches:
            if watch.fileno() < 0:
                return 1
            poll.register(watch.fileno(), select.POLLIN)
        os.write(told, b".")
        while store.read(ANSWER, name) is None:
            if not poll.poll(60_000):
                return 2
            for watch in watches:
                watch.wait(0)
    return 0
