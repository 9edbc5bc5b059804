"""Queues that processes change at once."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from hookrouter.queue.documents import (
    ended_items,
    read_queue,
)
from hookrouter.storage.documents import Store

if TYPE_CHECKING:
    from pathlib import Path


_PROGRAM = """
import sys
from hookrouter.queue.documents import change_queue
from hookrouter.queue.editing import added
from hookrouter.queue.items import DONE, QUEUED, DELIVERING, new_item
from hookrouter.storage.documents import Store

store, letter = Store(sys.argv[1], print), sys.argv[2]
sys.stdout.write("ready\\n"); sys.stdout.flush(); sys.stdin.readline()
for number in range(int(sys.argv[3])):
    item = new_item(f"{letter}{number}", by="agent")
    change_queue(store, "work", lambda queue: added(queue, [item], first=number % 3 == 0))
    if number % 2:
        def end(queue):
            done = next((one for one in queue.items if one.state == QUEUED), None)
            return None if done is None else queue.ended(done.id, DONE, reason=letter)
        change_queue(store, "work", end)
"""


def test_two_processes_at_once_lose_nothing_and_nothing_ended_comes_back(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "state"), lambda _: None)
    count = 40
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(tmp_path / "state"), letter, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for letter in "ab"
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        process.communicate(timeout=120)
        assert process.returncode == 0
    waiting = [one.text for one in read_queue(store, "work").items]
    ended = [one.text for _, one in ended_items(store)]
    assert sorted(waiting + ended) == sorted(f"{letter}{number}" for letter in "ab" for number in range(count))
    assert len(ended) == count
