"""Ending what a sandbox has started, and removing what it has written."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.util.claude_process import is_gone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["RUN_MARK", "ending_on_signals", "family", "reap", "remove_folder"]

RUN_MARK = "HOOKROUTER_TEST_RUN"
"""The environment variable that marks every process of one sandbox, so that orphans are found as well."""

_POLL = 0.02
_STAYS_AWAY = 0.7
_GRACE = 1.0


def remove_folder(path: str, timeout: float = 5.0) -> None:
    """Remove a folder, even if programs that were just ended still write, for ``timeout`` seconds. Never raises.

    A client that is ended writes its transcript and calls its last hooks meanwhile, so the folder must stay away.
    """
    since = time.monotonic()

    def gone() -> bool:
        nonlocal since
        if os.path.exists(path):
            shutil.rmtree(path, ignore_errors=True)
            since = time.monotonic()
        return time.monotonic() - since >= _STAYS_AWAY

    with contextlib.suppress(WaitTimeoutError):
        wait_until(gone, timeout, f"end of the folder {path}")


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """Turn the first SIGINT, SIGTERM or SIGHUP into KeyboardInterrupt; later ones do not disturb the cleaning up."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(_number: int, _frame: object) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Process(NamedTuple):
    pid: int
    parent: int
    marked: bool


def _processes(mark: str) -> list[_Process]:
    """List this user's processes; ``marked`` says whether one's environment holds ``mark``."""
    found = []
    if os.path.isdir("/proc/self"):
        wanted = mark.encode()
        for entry in os.listdir("/proc"):
            if not entry.isdecimal():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{entry}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                marked = False
                with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                    marked = wanted in file.read().split(b"\0")
                found.append(_Process(int(entry), parent, marked))
        return found
    # By its path: PATH may lead to nothing but the programs of a sandbox.
    words = ["/bin/ps", "axeww", "-o", "pid=,ppid=,command="]
    listing = subprocess.run(words, capture_output=True, text=True, check=False)
    for line in listing.stdout.splitlines():
        fields = line.split(None, 2)
        if len(fields) >= 2 and fields[0].isdecimal() and fields[1].isdecimal():
            found.append(_Process(int(fields[0]), int(fields[1]), len(fields) > 2 and mark in fields[2].split()))
    return found


def family(roots: Iterable[int], mark: str) -> set[int]:
    """Return ``roots`` with all their descendants and every process that carries ``mark``, without this process."""
    processes = _processes(mark)
    members = set(roots) | {process.pid for process in processes if process.marked}
    while True:
        more = {process.pid for process in processes if process.parent in members} - members
        if not more:
            return members - {os.getpid()}
        members |= more


def reap(roots: Iterable[int], mark: str, grace: float = _GRACE) -> None:
    """End ``roots``, their descendants and the processes whose environment holds ``mark`` (``NAME=value``).

    They get SIGTERM, and SIGKILL after ``grace`` seconds. Never raises.
    """
    members = family(roots, mark)
    for pid in members:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while members and time.monotonic() < deadline:
        living = {process.pid for process in _processes(mark)}
        members = {pid for pid in members if pid in living and not is_gone(pid)}
        if members:
            time.sleep(_POLL)
    for pid in members | family((), mark):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
