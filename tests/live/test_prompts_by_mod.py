"""The prompt channel ``mod`` on the real client: prompts and commands go in through the client's own interface."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.queue.documents import Queue, change_queue, ended_items, read_queue
from hookrouter.queue.items import Item, new_item
from hookrouter.sessions.mods import ModGate
from hookrouter.sessions.records import SessionRecord, read_record
from hookrouter.storage.engine import open_store
from hookrouter.util.program import script_argv
from support.mod_stage import client_environ, client_of, short_folder
from support.resident import Resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

SESSION = "managed"
CONFIG = '[serve]\nmod = true\n\n[sessions]\nchannels = ["mod"]\nproof_wait = 20\n'
LONG = "\n".join(f"{number}. line — of a long text 🚀 日本語" for number in range(1, 400))
TEXTS = [
    "do the first thing",
    "first line\n\n  third, indented\t with a tab\n/clear is no command here\n!ls neither",
    "it ends in a backslash \\",
    "look at @readme and # this, & that; 'in one word' \"please\" $HOME `x` #{pane_id} ^A",
    LONG,
]


class Modded:
    """A managed client with the mod, the router, and a queue that goes in by the mod alone."""

    def __init__(self, folder: str, server: PrivateTmux, model: ScriptedModel, version: str | None) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self.model = model
        self.stage = Stage(folder, CONFIG)
        command = os.path.join(self.stage.client_home.project, ".claude", "commands", "phase", "next.md")
        os.makedirs(os.path.dirname(command))
        with open(command, "w", encoding="utf-8") as file:
            file.write("do the next phase, $ARGUMENTS")
        self.stage.record("UserPromptSubmit", "Stop", "PreCompact", "SessionStart")
        self.stage.install("--front", "mod")
        self.store = open_store(self.stage.home, lambda text: pytest.fail(text))
        program = client_of(version) if version else find_client()
        assert program is not None
        words = [program, "--debug-file", os.path.join(folder, "debug.log")]
        environ = client_environ(self.stage, model)
        self.client = ClientSession(
            words, server, self.stage.client_home, environ, session=SESSION, width=120, height=40
        )

    def start(self) -> None:
        self.client.start()
        gate = ModGate(self.stage.home.router)

        def is_there() -> bool:
            record = self.record
            return record is not None and record.state == "idle" and gate.mod_of(record.session_id) is not None

        wait_until(is_there, 30, "the mod that asks for prompts", self.state)

    @property
    def record(self) -> SessionRecord | None:
        return read_record(self.store, SESSION)

    @property
    def queue(self) -> Queue:
        return read_queue(self.store, SESSION)

    def put(self, *texts: str) -> list[Item]:
        items = [new_item(text, by="agent") for text in texts]
        change_queue(self.store, SESSION, lambda queue: queue._replace(items=(*queue.items, *items)))
        return items

    def deliver(self) -> subprocess.Popen[bytes]:
        command = [*script_argv(), "queue", "deliver", f"--session={SESSION}"]
        self._processes.append(subprocess.Popen(command, env=self.stage.environ))
        return self._processes[-1]

    def send(self, *texts: str) -> list[Item]:
        items = self.put(*texts)
        self.deliver()
        return items

    def close(self) -> None:
        holder = self.store.lock_holder("deliverer", SESSION) or ""
        with suppress(ProcessLookupError, StopIteration):
            os.kill(next(int(word) for word in holder.replace(",", " ").split() if word.isdigit()), signal.SIGKILL)
        for process in self._processes:
            process.kill()
            process.wait()

    def wait(self, what: str, probe: Callable[[], object], timeout: float = 40) -> None:
        wait_until(lambda: bool(probe()), timeout, what, self.state)

    def wait_done(self, timeout: float = 90) -> None:
        self.wait("the end of the queue", lambda: not self.queue.items or self.queue.hold, timeout)
        assert self.queue.hold is None, self.state()

    def ended(self) -> dict[str, Item]:
        return {item.text: item for _session, item in ended_items(self.store)}

    def prompts(self) -> list[str]:
        return [str(payload["prompt"]) for payload in self.stage.payloads("UserPromptSubmit")]

    def state(self) -> str:
        """Return all that explains a failure."""
        journal = [one for one in self.stage.journal() if one.get("event") == "queue"]
        with open(os.path.join(self.stage.folder, "debug.log"), encoding="utf-8", errors="replace") as file:
            log = "".join([line[:300] for line in file if "hookrouter-mod" in line][-20:])
        return f"{self.queue}\n{self.ended()}\n{self.record}\n{journal[-8:]}\n{self.client.screen()}\n{log}"


@contextmanager
def modded(server: PrivateTmux, version: str | None = None) -> Iterator[Modded]:
    pytest.importorskip("uvicorn")
    with ExitStack() as stack:
        folder = stack.enter_context(short_folder())
        one = Modded(folder, server, stack.enter_context(ScriptedModel()), version)
        stack.enter_context(Resident(one.stage.environ))
        stack.callback(one.client.stop)
        stack.callback(one.close)
        one.start()
        yield one


@pytest.mark.parametrize("version", [None, "2.1.287"])
def test_texts_go_in_exactly_and_in_order(tmux_server: PrivateTmux, version: str | None) -> None:
    with modded(tmux_server, version) as one:
        one.send(*TEXTS)
        one.wait_done()
        assert one.prompts() == TEXTS
        ended = one.ended()
        assert {ended[text].state for text in TEXTS} == {"done"}, one.state()
        assert {ended[text].channel for text in TEXTS} == {"mod"}


COMMANDS = ["/phase:next one two", "/context", "/rename a new name", "/compact keep the plan", "/clear", "go on"]


@pytest.mark.parametrize("version", [None, "2.1.287"])
def test_commands_are_run(tmux_server: PrivateTmux, version: str | None) -> None:
    with modded(tmux_server, version) as one:
        one.send("something to compact", *COMMANDS)
        one.wait_done()
        ended = one.ended()
        assert {text: ended[text].state for text in COMMANDS} == dict.fromkeys(COMMANDS, "done"), one.state()


def test_what_it_does_not_carry_it_refuses(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        for text, reason in {"/model": "panel", "/nope": "no command", "!ls": "shell"}.items():
            one.send(text)
            one.wait("a hold", lambda: one.queue.hold)
            assert reason in one.ended()[text].reason
            change_queue(one.store, SESSION, lambda queue: queue._replace(hold=None, items=()))
        assert one.prompts() == []


def test_a_draft_stays_and_one_who_types_is_waited_for(tmux_server: PrivateTmux) -> None:
    with modded(tmux_server) as one:
        one.client.pane.type("half a thou")
        one.client.pane.wait_for("half a thou")
        one.send("go on with it")
        one.wait_done()
        assert one.prompts() == ["go on with it"]
        assert "half a thou" in one.client.screen()
