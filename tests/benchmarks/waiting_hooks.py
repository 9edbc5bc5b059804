"""What many waiting processes cost, and how soon each is woken, if the user has no inotify instance left.

    python tests/benchmarks/waiting_hooks.py [--processes N] [--seconds N] [--write]

Each process watches what a waiting PermissionRequest hook watches: its answer, its waiting document and the pauses.
All are idle for some seconds, and then the answer of one after the other is written. ``--write`` puts the figures into
docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import select
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hookrouter.dialogs.handover import ANSWER
from hookrouter.dialogs.waiting import watches_of
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from support.manual import write_part


def main() -> int:
    """Hold the processes, wake each, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/evidence/speed.md")
    given = parser.parse_args()
    library = ctypes.CDLL(None)
    while library.inotify_init1(os.O_CLOEXEC) >= 0:
        pass
    with tempfile.TemporaryDirectory() as folder:
        home = Home.in_folder(folder)
        store = open_store(home, print)
        pipes = [start(home, f"question-{number}") for number in range(given.processes)]
        for descriptor in pipes:
            os.read(descriptor, 1)
        before = [busy_of(pid) for pid in children()]
        time.sleep(given.seconds)
        busy = sum(busy_of(pid) for pid in children()) - sum(before)
        woken = []
        for number, descriptor in enumerate(pipes):
            started = time.monotonic()
            store.write(ANSWER, f"question-{number}", {"n": number}, durable=False)
            woken.append(float(os.read(descriptor, 64)) - started)
            os.wait()
    share = 100 * busy / given.seconds
    figures = f"{1000 * statistics.median(woken):.1f} ms | {1000 * max(woken):.1f} ms"
    lines = [
        "| processes that wait | all together, idle | woken after: median | longest |",
        "|---|---|---|---|",
        f"| {given.processes} | {share:.1f} % of one processor | {figures} |",
    ]
    print("\n".join(lines))
    if given.write:
        write_part("docs/evidence/speed.md", "waiting-hooks", "\n".join(lines))
    return 0


def start(home: Home, name: str) -> int:
    """Start a process that waits for one answer; return a pipe that says when it waits, and when it was woken."""
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        return read
    # What the parent has used up stays so; these copies are in this process's way.
    os.closerange(3, write)
    os.closerange(write + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    store = open_store(home, print)
    with ExitStack() as stack:
        watches = [stack.enter_context(watch) for watch in watches_of(store, name)]
        poll = select.poll()
        for watch in watches:
            poll.register(watch.fileno(), select.POLLIN)
        os.write(write, b".")
        while store.read(ANSWER, name) is None:
            poll.poll()
            for watch in watches:
                watch.wait(0)
        os.write(write, str(time.monotonic()).encode())
    os._exit(0)


def children() -> list[str]:
    """Return the process ids of this process's children."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def busy_of(pid: str) -> float:
    """Return the seconds for which a process has been running on a processor, to the nanosecond."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    sys.exit(main())
