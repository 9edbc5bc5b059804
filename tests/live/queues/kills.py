"""Kills one process of a stage after the other, at random moments: deliverer, router, senders, hooks, client.

Only processes of the stage are looked at: those that have its home in their environment.
"""

from __future__ import annotations

import collections
import contextlib
import os
import random
import signal
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["KINDS", "Killer", "processes"]

KINDS = ("deliverer", "router", "sender", "hook", "client")
_WORDS = {"deliverer": ("queue", "deliver"), "router": ("serve",), "sender": ("send",), "hook": ("run",)}
"""The words by which the processes of hookrouter are told from each other, behind the program's name."""
_PATIENCE = 4.0
"""Seconds for which a process of a kind is awaited: a hook lives for a moment only."""


def processes(home: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Return process ids and command lines of those that have ``HOOKROUTER_HOME`` set to a home."""
    mark = f"HOOKROUTER_HOME={home}".encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = [os.fsdecode(word) for word in file.read().split(b"\0") if word]
            if words:
                yield int(name), words


class Killer:
    """A thread that kills, for one ``with`` block, until so many have died."""

    def __init__(self, home: str, count: int, seed: int, client: Callable[[], int]) -> None:
        """``client`` returns the process id of the client, 0 for none; it is chosen one time in thirteen."""
        self._home = home
        self._left = count
        self._random = random.Random(seed)
        self._client = client
        self._is_over = threading.Event()
        self._is_allowed = threading.Event()
        self._is_allowed.set()
        self._thread = threading.Thread(target=self._go_on)
        self.done: collections.Counter[str] = collections.Counter()
        """How many were killed of each kind."""

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._is_allowed.set()
        self._thread.join()

    @property
    def is_done(self) -> bool:
        """Whether as many have died as were to be killed."""
        return self._left <= 0

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Kill nothing meanwhile."""
        self._is_allowed.clear()
        try:
            yield
        finally:
            self._is_allowed.set()

    def _go_on(self) -> None:
        kinds = [kind for kind in KINDS if kind != "client"] * 3
        while self._left > 0 and not self._is_over.wait(self._random.uniform(0.05, 1.2)):
            self._is_allowed.wait()
            kind = self._random.choice([*kinds, "client"])
            pid = self._awaited(kind)
            if not pid:
                continue
            if kind in ("hook", "sender"):
                # At any moment of its short life.
                time.sleep(self._random.uniform(0.0, 0.08))
            if not self._is_allowed.is_set():
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.done[kind] += 1
                self._left -= 1

    def _awaited(self, kind: str) -> int:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and not self._is_over.is_set() and self._is_allowed.is_set():
            if found := self._found(kind):
                return self._random.choice(found)
            time.sleep(0.005)
        return 0

    def _found(self, kind: str) -> list[int]:
        if kind == "client":
            return [pid] if (pid := self._client()) else []
        return [pid for pid, words in processes(self._home) if _is_of(kind, words)]


def _is_of(kind: str, words: Sequence[str]) -> bool:
    wanted = _WORDS[kind]
    place = next((at for at, word in enumerate(words) if os.path.basename(word) == "hookrouter"), None)
    return place is not None and tuple(words[place + 1 : place + 1 + len(wanted)]) == wanted
