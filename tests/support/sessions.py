"""Sessions as commands find them: clients that run, their registry, what hooks have told, and queues."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hookrouter.cli.application import Application
from hookrouter.queue.documents import Queue, change_queue, read_queue
from hookrouter.queue.editing import added
from hookrouter.queue.items import Item, new_item
from hookrouter.sessions.records import SessionRecord, change_record
from hookrouter.storage.interface import DocumentStore
from hookrouter.util.claude_process import process_space
from hookrouter.util.clock import iso
from support.pure import GONE

__all__ = ["Machine"]

_ids = count(GONE + 1)


class Machine:
    """The clients of this machine, for the HOME of the test.

    None of them is a process: each has an id that no system gives away, and this process takes it for one that runs.
    """

    def __init__(self) -> None:
        self._registry = Path(os.environ["HOME"]) / ".claude" / "sessions"
        self._running: set[int] = set()
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(os, "kill", self._signalled(os.kill))

    def _signalled(self, kill: Callable[[int, int], None]) -> Callable[[int, int], None]:
        def look_or_kill(pid: int, number: int) -> None:
            if pid not in self._running:
                kill(pid, number)
            elif number:
                self._running.discard(pid)

        return look_or_kill

    @property
    def store(self) -> DocumentStore:
        """The documents of the test's home."""
        return Application.from_environ().store

    def client(self, session_id: str, status: str = "idle", folder: str = "/project", **entry: Any) -> int:
        """Have a client run outside every terminal, and be in the registry; return its process id."""
        pid = next(_ids)
        self._running.add(pid)
        self.enter(pid, session_id, status, folder, **entry)
        return pid

    def enter(self, pid: int, session_id: str, status: str = "idle", folder: str = "/project", **entry: Any) -> None:
        """Write a client's entry in the registry."""
        self._registry.mkdir(parents=True, exist_ok=True)
        known = {"pid": pid, "sessionId": session_id, "cwd": folder, "status": status, "kind": "interactive"}
        (self._registry / f"{pid}.json").write_text(json.dumps({**known, **entry}))

    def kill(self, pid: int) -> None:
        """End a client at once; its entry stays."""
        self._running.remove(pid)

    def close(self) -> None:
        """End all clients."""
        self._patch.undo()

    def record(self, session: str, pid: int = 0, state: str = "idle", **more: Any) -> SessionRecord:
        """Have hooks told of a session."""
        known = {"session_id": "s-1", "since": iso(), "client_pid": pid, "client_host": process_space() if pid else ""}
        one = SessionRecord(session=session, state=state, **{**known, **more})
        change_record(self.store, session, lambda _: one)
        return one

    def put(self, session: str, *texts: str, by: str = "agent") -> list[Item]:
        """Put items into a queue."""
        items = [new_item(text, by=by) for text in texts]
        change_queue(self.store, session, lambda queue: added(queue, items))
        return items

    def queue(self, session: str) -> Queue:
        """Return a queue."""
        return read_queue(self.store, session)

    def texts(self, session: str) -> list[str]:
        """Return the texts of what waits in a queue."""
        return [item.text for item in self.queue(session).items]

    def set_state(self, session: str, item: Item, state: str, **more: Any) -> None:
        """Give an item another state, as a deliverer does."""
        changed = item._replace(state=state, **more)
        change_queue(self.store, session, lambda queue: queue.with_item(changed))
