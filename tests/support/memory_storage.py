"""A second engine of documents, in this process's memory: shows that callers need nothing but the interface."""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager as ContextManager
from contextlib import nullcontext, suppress
from typing import Any

from hookrouter.storage.interface import StoreBusy

__all__ = ["MemoryStorage", "MemoryStore"]

_LOOK = 0.005
"""How often to look, in seconds, although nothing was told."""


class MemoryStorage:
    """The documents of machines that share this process's memory; one is the machine itself."""

    def __init__(self, machine: str = "one") -> None:
        self._machine = machine
        self.areas: dict[tuple[str, str], MemoryStore] = {}

    def store(self, area: str, report: Callable[[str], None], machine: str | None = None) -> MemoryStore:
        return self.areas.setdefault((machine or self._machine, area), MemoryStore())

    def together(self) -> ContextManager[None]:
        return nullcontext()

    def machines(self) -> list[str]:
        return sorted({machine for (machine, _area), store in self.areas.items() if store.documents})

    def everywhere(self) -> None: ...

    def init(self) -> list[str]:
        return []

    def migrate(self, version: int | None = None) -> list[str]:
        return []

    def check(self) -> list[str]:
        return []

    def close(self) -> None: ...


class MemoryStore:
    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], str] = {}
        self.changes: dict[tuple[str, str], int] = {}
        self.held: set[tuple[str, str]] = set()
        self.takings = 0
        self.told = threading.Condition()
        """Told of each change, and of each lock that is let go."""

    def write(self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True) -> str:
        self.documents[kind, name] = json.dumps(dict(document), allow_nan=False)
        self.changes[kind, name] = self.changes.get((kind, name), 0) + 1
        self._tell()
        return f"{kind} {name!r} in memory"

    def read(self, kind: str, name: str) -> dict[str, object] | None:
        text = self.documents.get((kind, name))
        return None if text is None else json.loads(text)

    def delete(self, kind: str, name: str) -> bool:
        if self.documents.pop((kind, name), None) is None:
            return False
        self.changes[kind, name] += 1
        self._tell()
        return True

    def _tell(self) -> None:
        with self.told:
            self.told.notify_all()

    def entries(self, kind: str, named: Callable[[str], bool] | None = None) -> list[tuple[str, dict[str, object]]]:
        # Another thread may add to it meanwhile.
        names = [name for one, name in list(self.documents) if one == kind and (named is None or named(name))]
        return [(name, json.loads(self.documents[kind, name])) for name in sorted(names)]

    def create(
        self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True
    ) -> dict[str, object] | None:
        first = self.read(kind, name)
        if first is None:
            self.write(kind, name, document, durable=durable)
        return first

    def replace(
        self,
        kind: str,
        name: str,
        document: Mapping[str, object],
        *,
        unchanged: Mapping[str, object],
        durable: bool = True,
    ) -> bool:
        if self.read(kind, name) != dict(unchanged):
            return False
        self.write(kind, name, document, durable=durable)
        return True

    def stamps(self, kind: str) -> dict[str, object]:
        return {name: self.changes[one, name] for one, name in self.documents if one == kind}

    def watch(self, kind: str, name: str | None = None) -> MemoryWatch:
        return MemoryWatch(self, lambda key: key[0] == kind and name in (None, key[1]))

    def lock(self, kind: str, name: str, timeout: float) -> MemoryLock:
        return MemoryLock(self, (kind, name), timeout)

    def lock_holder(self, kind: str, name: str) -> str | None:
        return f"holder {self.takings}" if (kind, name) in self.held else None

    def put_aside(self) -> tuple[str, list[str]]:
        return "memory", []

    def prune(self, seconds: float) -> None: ...


class MemoryLock:
    def __init__(self, store: MemoryStore, key: tuple[str, str], timeout: float) -> None:
        self._store, self._key, self._timeout = store, key, timeout

    def __enter__(self) -> MemoryLock:
        deadline = time.monotonic() + self._timeout
        while self._key in self._store.held:
            if (left := deadline - time.monotonic()) <= 0:
                raise StoreBusy(f"holder {self._store.takings}")
            with self._store.told:
                # What holds it may have let go of it just now, or be cut off without a word.
                self._store.told.wait(min(left, _LOOK))
        self._store.held.add(self._key)
        self._store.takings += 1
        return self

    def __exit__(self, *_error: object) -> None:
        self._store.held.discard(self._key)
        with self._store.told:
            self._store.told.notify_all()

    def forget(self) -> None: ...


class MemoryWatch:
    def __init__(self, store: MemoryStore, is_watched: Callable[[tuple[str, str]], bool]) -> None:
        self._store, self._is_watched = store, is_watched
        self._seen: Any = None

    def __enter__(self) -> MemoryWatch:
        self._seen = self._look()
        return self

    def __exit__(self, *_error: object) -> None: ...

    def wait(self, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while (now := self._look()) == self._seen:
            if (left := deadline - time.monotonic()) <= 0:
                return False
            with self._store.told:
                # It may have changed just now.
                self._store.told.wait(min(left, _LOOK))
        self._seen = now
        return True

    def fileno(self) -> int:
        return -1

    def _look(self) -> dict[tuple[str, str], int]:
        # Another thread may add to it meanwhile.
        while True:
            with suppress(RuntimeError):
                return {key: count for key, count in copy.copy(self._store.changes).items() if self._is_watched(key)}
