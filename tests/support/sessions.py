"""Sessions as commands find them: clients that run, their registry, what hooks have told, and queues."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hookrouter.cli.application import Application
from hookrouter.queue.documents import Queue, change_queue, read_queue
from hookrouter.queue.editing import added
from hookrouter.queue.items import Item, new_item
from hookrouter.sessions.records import SessionRecord, change_record
from hookrouter.storage.interface import DocumentStore
from hookrouter.util.claude_process import process_space
from hookrouter.util.clock import iso

__all__ = ["Machine"]


class Machine:
    """The clients of this machine, for the HOME of the test."""

    def __init__(self) -> None:
        self._registry = Path(os.environ["HOME"]) / ".claude" / "sessions"
        self._clients: list[subprocess.Popen[bytes]] = []

    @property
    def store(self) -> DocumentStore:
        """The documents of the test's home."""
        return Application.from_environ().store

    def client(self, session_id: str, status: str = "idle", folder: str = "/project", **entry: Any) -> int:
        """Start a process that stands for a client outside every terminal, and is in the registry; return its id."""
        # It inherits nothing: a test may itself run in a terminal.
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={})
        self._clients.append(process)
        self.enter(process.pid, session_id, status, folder, **entry)
        return process.pid

    def enter(self, pid: int, session_id: str, status: str = "idle", folder: str = "/project", **entry: Any) -> None:
        """Write a client's entry in the registry."""
        self._registry.mkdir(parents=True, exist_ok=True)
        known = {"pid": pid, "sessionId": session_id, "cwd": folder, "status": status, "kind": "interactive"}
        (self._registry / f"{pid}.json").write_text(json.dumps({**known, **entry}))

    def kill(self, pid: int) -> None:
        """End a client at once; its entry stays."""
        (process,) = [one for one in self._clients if one.pid == pid]
        process.kill()
        process.wait(10)

    def close(self) -> None:
        """End all clients."""
        for process in self._clients:
            process.kill()
            process.communicate()

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
