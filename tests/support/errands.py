"""Machines of a fleet that serve errands in a thread, over documents in memory."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hookrouter.dialogs.answers.identity import PERSON_VARIABLE
from hookrouter.messaging.trace_context import VARIABLE, TraceContext
from hookrouter_fleet import errands as module
from hookrouter_fleet.errands import Errands
from hookrouter_fleet.kinds import FLEET
from hookrouter_fleet.replica import PRESENCE
from support.memory_storage import MemoryStorage

__all__ = ["MINE", "OTHER", "Machine", "MachineView", "left", "quick_storage"]


MINE, OTHER = (TraceContext(digit * 32, digit * 16).header() for digit in "12")


class Machine:
    """The machine ``one``, which serves errands in a thread while it is there."""

    def __init__(self, storage: MemoryStorage, state: str = "") -> None:
        self.storage = storage
        self.store = storage.store(FLEET, pytest.fail, "one")
        self._woken = threading.Event()
        environ = {"PATH": "/usr/bin:/bin", PERSON_VARIABLE: "whoever started this", VARIABLE: OTHER}
        self.errands = Errands(MachineView(storage), environ, pytest.fail, self._woken.set, state)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with self.store.lock(*PRESENCE, 0):
            while not self._ends.is_set() or self.errands.are_running:
                self.errands.serve()
                self._woken.wait(0.01)
                self._woken.clear()

    def __enter__(self) -> Machine:
        self._thread.start()
        while self.store.lock_holder(*PRESENCE) is None:
            pass
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()


class MachineView(MemoryStorage):
    """The same documents, as the machine ``one`` sees them."""

    def __init__(self, storage: MemoryStorage) -> None:
        super().__init__("one")
        self.areas = storage.areas


def quick_storage(monkeypatch: pytest.MonkeyPatch) -> MemoryStorage:
    """Return the documents as whoever asks sees them, who looks often; a command tells what it is given, and fails."""
    monkeypatch.setattr(module, "script_argv", lambda: ["/bin/sh", "-c", 'cat; echo "$@" >&2; exit 3', "sh"])
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 0.2)
    return MemoryStorage("desk")


def left(storage: MemoryStorage) -> list[Any]:
    """Return the errands that the machine ``one`` has."""
    return storage.store(FLEET, pytest.fail, "one").entries("errand")
