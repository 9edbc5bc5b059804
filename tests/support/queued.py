"""A managed client with a queue: what tests and programs put in, have delivered, and see of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from hookrouter._sandbox.client import ClientSession, dialog_is_open, find_client
from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.queue.documents import Hold, Queue, change_queue, ended_items, read_queue
from hookrouter.queue.items import Item, new_item
from hookrouter.queue.spawn import is_delivering
from hookrouter.sessions.records import SessionRecord, read_record
from hookrouter.storage.engine import open_store
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.clock import iso
from hookrouter.util.program import script_argv
from support import typing_channel
from support.cleared import ForgetfulModel, clear

__all__ = ["SESSION", "Queued"]

SESSION = "managed"
RECORDED = ("UserPromptSubmit", "Stop", "PreCompact", "SessionStart")


class Queued:
    """A managed client with a queue."""

    def __init__(
        self,
        folder: Path,
        server: PrivateTmux,
        model: ScriptedModel,
        channel: str,
        *,
        proof_wait: int = 15,
        config: str = "",
        prepare: Callable[[Stage], None] | None = None,
        recorded: Sequence[str] = RECORDED,
        install: Sequence[str] = (),
        start: bool = True,
    ) -> None:
        """``config`` is put before the table ``[sessions]``; ``prepare`` changes the stage once hooks are installed.

        ``install`` are the options of ``hookrouter install``. Several channels are joined: ``mod+keys``.
        """
        self._processes: list[subprocess.Popen[bytes]] = []
        self._began = ""
        self.folder = folder
        self.server = server
        self.model = model
        table = f"{config}[sessions]\nchannels = {channel.split('+')}\nproof_wait = {proof_wait}\n"
        self.stage = Stage(str(folder), table)
        source = Path(typing_channel.__file__).read_text()
        write_plugin(folder / "site", "typing-channel", source)
        self.stage.variables |= {"PYTHONPATH": str(folder / "site"), "HOOKROUTER_TEST_TYPING": str(folder)}
        command = Path(self.stage.client_home.project, ".claude", "commands", "phase", "next.md")
        command.parent.mkdir(parents=True)
        command.write_text("do the next phase, $ARGUMENTS")
        if "doorbell" in channel.split("+"):
            self._put_client_on_path()
        self.stage.record(*recorded)
        self.stage.install(*install)
        if prepare is not None:
            prepare(self.stage)
        self.store = open_store(self.stage.home, lambda text: pytest.fail(text))
        if start:
            self.client = self.start_client()

    def begin(self, model: ForgetfulModel) -> None:
        """Be as if new, for another test: an empty queue, nothing asked or counted. ``model`` is its own."""
        self.close()
        self.wait("end of the deliverer", lambda: not self.is_delivering)
        change_queue(self.store, SESSION, lambda queue: queue._replace(items=(), hold=None))
        clear(self.client, self.stage, model)
        self.wait("rest", lambda: self.record is not None and self.record.state == "idle")
        self._began = iso()

    def start_client(self, *words: str, width: int = 120, height: int = 40) -> ClientSession:
        """Start a client in the managed session, and wait until hookrouter knows of it."""
        before = self.record
        client = self._client(words, {"width": width, "height": height})
        client.start()

        def is_known() -> bool:
            now = self.record
            is_new = now is not None and (before is None or _client(now) != _client(before))
            return is_new and now is not None and now.state == "idle"

        wait_until(is_known, 20, "record of the session", lambda: str(self.stage.journal()))
        return client

    def _put_client_on_path(self) -> None:
        """Have ``hookrouter install`` find the client: it asks for its version before it registers some hooks."""
        program = find_client()
        assert program is not None
        claude = self.folder / "bin" / "claude"
        claude.parent.mkdir()
        claude.symlink_to(os.path.realpath(program))
        self.stage.variables["PATH"] = f"{claude.parent}:{os.environ['PATH']}"

    def _client(self, words: Sequence[str], size: Mapping[str, int]) -> ClientSession:
        """Return a client that is not started yet."""
        program = find_client()
        assert program is not None
        return self.stage.client(program, self.server, self.model, words=words, session=SESSION, **size)

    @property
    def record(self) -> SessionRecord | None:
        return read_record(self.store, SESSION)

    @property
    def queue(self) -> Queue:
        return read_queue(self.store, SESSION)

    def put(self, *texts: str) -> list[Item]:
        """Put items last, in one step."""
        items = [new_item(text, by="agent") for text in texts]
        change_queue(self.store, SESSION, lambda queue: queue._replace(items=(*queue.items, *items)))
        return items

    def deliver(self) -> subprocess.Popen[bytes]:
        """Start the real deliverer."""
        self._processes = [process for process in self._processes if process.poll() is None]
        command = [*script_argv(), "queue", "deliver", f"--session={SESSION}"]
        self._processes.append(subprocess.Popen(command, env=self.stage.environ))
        return self._processes[-1]

    @property
    def is_delivering(self) -> bool:
        """Whether a deliverer is at work, or is about to be."""
        return is_delivering(self.store, SESSION) or any(process.poll() is None for process in self._processes)

    def close(self) -> None:
        """End every deliverer."""
        self.kill_deliverers()
        for process in self._processes:
            process.kill()
            process.wait()

    def send(self, *texts: str) -> list[Item]:
        """Put items last and have them delivered."""
        items = self.put(*texts)
        self.deliver()
        return items

    def resume(self) -> None:
        """Go on, as the command does."""
        change_queue(self.store, SESSION, lambda queue: queue._replace(hold=None))
        self.deliver()

    def wait(self, what: str, probe: Callable[[], object], timeout: float = 30) -> None:
        """Wait for something of the queue."""
        wait_until(lambda: bool(probe()), timeout, what, self.state)

    def wait_done(self, timeout: float = 60) -> None:
        """Wait until nothing is left in the queue."""
        self.wait("end of the queue", lambda: not self.queue.items, timeout)

    def held(self) -> Hold:
        """Wait until the queue is held, and return why."""
        self.wait("hold", lambda: self.queue.hold is not None)
        hold = self.queue.hold
        assert hold is not None
        return hold

    def ended(self) -> dict[str, Item]:
        """Return the items that have ended since :meth:`begin`, by text."""
        return {item.text: item for _session, item in ended_items(self.store) if item.ended_at >= self._began}

    def prompts(self) -> list[str]:
        """Return the prompts that the client told of, without its own."""
        prompts = [str(payload["prompt"]) for payload in self.stage.payloads("UserPromptSubmit")]
        return [prompt for prompt in prompts if not prompt.startswith("<task-notification>")]

    def state(self) -> str:
        """Return all that explains a failure."""
        journal = [one for one in self.stage.journal() if one.get("event") == "queue"]
        return f"{self.queue}\n{self.ended()}\n{self.record}\n{journal[-8:]}\n{self.client.screen()}"

    def press_on_dialog(self, key: str) -> None:
        """Press a key as a person does, again while the dialog is there: it ignores keys in its first moments."""
        for _ in range(10):
            if not dialog_is_open(self.client.screen()):
                return
            self.client.pane.press(key)
            with contextlib.suppress(WaitTimeoutError):
                wait_until(lambda: not dialog_is_open(self.client.screen()), 1.0, "end of the dialog")
        pytest.fail(self.state())

    def stop_at(self, where: str) -> None:
        """Have the channel stop before its next act of this kind."""
        for name in ("stopped", "go"):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "stop-at").write_text(where)

    def kill_deliverers(self) -> int:
        """Kill the process that delivers the queue, if there is one; return its id, or 0."""
        holder = self.store.lock_holder("deliverer", SESSION) or ""
        numbers = [int(word) for word in holder.replace(",", " ").split() if word.isdigit()]
        if not numbers:
            return 0
        try:
            os.kill(numbers[0], signal.SIGKILL)
        except ProcessLookupError:
            return 0
        return numbers[0]


def _client(record: SessionRecord) -> tuple[int, str]:
    """Return what tells one client from another: older ones do not say their process id."""
    return record.client_pid, "" if record.client_pid else record.session_id
