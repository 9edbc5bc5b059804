"""A client, a person and a deliverer in one process, of which anything may be cut off between any two steps.

The hooks are those of the plugin, the deliverer is the real one; the client and the channel are models that do what was
measured of them. Documents are in memory. Each process is a call that :class:`Killed` may leave at any write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hookrouter_sessions as plugin
from hookrouter import _wiring
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.cli.application import Application
from hookrouter.config import Agent, Config, SessionsConfig
from hookrouter.context import Context
from hookrouter.events import EVENT_CLASSES
from hookrouter.markers import hookimpl
from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptRequest, PromptStatus
from hookrouter.queue.delivery import attempt, evidence, loop
from hookrouter.queue.delivery.loop import QueueDeliverer
from hookrouter.queue.documents import Queue, change_queue, ended_items, read_queue
from hookrouter.queue.items import Item, new_item
from hookrouter.storage import documents
from hookrouter.storage.home import Home
from hookrouter.storage.interface import DocumentStore, StoreError
from hookrouter.storage.journal import Journal
from hookrouter.terminals import TerminalAddress
from hookrouter.util import clock
from hookrouter.util.clock import iso
from hookrouter_sessions import failing
from hookrouter_sessions.channels import ringing
from support.memory_storage import MemoryStore
from support.stepped_time import SteppedTime

__all__ = ["SESSION", "Killed", "World"]

SESSION = "claude-00000001"
"""The name of a session outside terminals whose id begins so."""

PROOF_SECONDS = 0.03

_TIMED = (attempt, clock, evidence, failing, loop, ringing)

TYPED, ENTERED = "typed", "entered"


class _Wiring:
    """What hooks are wired with, but that nobody delivers the outbox: tests look into it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_wiring, name)

    def start_delivery(self, services: object, *, after_reply: bool = False) -> None:
        """Start nothing."""


WIRING: Any = _Wiring()


class Killed(BaseException):
    """A process is killed."""


class _Enough(BaseException):
    """A deliverer has waited for long enough: it is left there, as if killed."""


class _Store(MemoryStore):
    """Documents whose writer may be killed before any write."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def write(self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True) -> str:
        self._world.step()
        return super().write(kind, name, document, durable=durable)

    def delete(self, kind: str, name: str) -> bool:
        self._world.step()
        return super().delete(kind, name)


class World:
    """One home, one managed client outside terminals, and what was submitted in it."""

    def __init__(self, folder: Path) -> None:
        self.home = Home.in_folder(str(folder / "home"))
        self.store = _Store(self)
        self.time = SteppedTime()
        """What the deliverer and the hooks take for the time: nobody waits for it to go by."""
        self._patched: list[Any] = [patch.object(documents, "Store", lambda *_where, **_base: self.store)]
        self._patched += [patch.object(module, "time", self.time) for module in _TIMED]
        for one in self._patched:
            one.start()
        self._folder = folder
        self.config = Config(
            agents=(Agent(id="night"),), sessions=SessionsConfig(channels=("model",), proof_wait=PROOF_SECONDS)
        )
        self.dead: set[int] = set()
        self.pid = 1_000_000
        self.number = 0
        self.session_id = ""
        self.box = ""
        self.submitted: list[str] = []
        self.is_busy = False
        self.pending: list[tuple[str, Callable[[], None]]] = []
        """What the client does next: a hook of an event, or, without a name, what comes after one."""
        self.terminal: TerminalAddress | None = None
        """Where the hooks' client is drawn."""
        self.contribution: object = _Contribution(self)
        """The plugin that brings the prompt channel."""
        self.contributions: dict[str, object] = {}
        """More such plugins, by name."""
        self.steps_left: int | None = None
        """After so many writes the process that runs is killed; None for never."""
        self.told: list[dict[str, object]] = []

    def close(self) -> None:
        """Have documents be files again, and the time what it is."""
        for one in reversed(self._patched):
            one.stop()

    # --- what may be killed

    def step(self) -> None:
        """Count one step of the process that runs."""
        if self.steps_left is None:
            return
        if self.steps_left == 0:
            self.steps_left = None
            raise Killed
        self.steps_left -= 1

    def cut_off(self, work: Callable[[], object], after: int | None) -> bool:
        """Run a process that is killed after so many steps; return whether it was."""
        self.steps_left = after
        try:
            work()
        except (Killed, _Enough):
            return True
        finally:
            self.steps_left = None
            # What the system does for a process that ends.
            self.store.held.clear()
        return False

    # --- the client

    def start_client(self) -> None:
        """A client starts in the session's place; one that was there is gone, without a word."""
        self.dead.add(self.pid)
        self.pid += 1
        self.box, self.is_busy = "", False
        self.pending.clear()
        self._new_session()
        self._hook("SessionStart", source="startup", model="m")

    def press_enter(self) -> None:
        """Enter: what stands in the box is submitted."""
        text, self.box = self.box.strip(), ""
        if not text:
            return
        self.submitted.append(text)
        name, _, arguments = text.removeprefix("/").partition(" ")
        if text.startswith("/clear"):
            self._hook("SessionEnd", reason="clear")
            self._new_session()
            self._hook("SessionStart", source="clear", model=None)
        elif text.startswith("/compact"):
            self._hook("PreCompact", trigger="manual", custom_instructions=arguments)
            # The client goes on once the hook has ended, however that ended.
            self.pending.append(("", lambda: self._record_command(name, arguments, "Compacted")))
        elif text.startswith("/"):
            self._record_command(name, arguments, "Done")
        else:
            self.is_busy = True
            self._hook("UserPromptSubmit", prompt=text)
            # The client writes it down once the hook has ended, however that ended.
            self.pending.append(("", lambda: self._record(content=text)))

    def end_turn(self) -> None:
        """Claude's turn ends."""
        if self.is_busy:
            self.is_busy = False
            self._hook("Stop", stop_hook_active=False, last_assistant_message="done", background_tasks=[])

    def press_escape(self) -> None:
        """A person stops Claude: no hook."""
        if self.is_busy:
            self.is_busy = False
            self._record(content=[{"type": "text", "text": "[Request interrupted by user]"}])
            self.time.sleep(0.002)

    def run_hooks(self, *, killed_after: int | None = None) -> None:
        """Run the hooks that are due; the first may be killed."""
        while self.pending:
            self.cut_off(self.pending.pop(0)[1], killed_after)
            killed_after = None

    def lose_hook(self) -> None:
        """The next hook is killed before it does anything; the client goes on."""
        if self.pending and self.pending[0][0]:
            self.pending.pop(0)

    # --- hookrouter

    @property
    def app(self) -> Application:
        """The services of a process of hookrouter."""
        index = [
            DiscoveredPlugin(name="sessions", value=plugin.__name__, hooks=("stop",)),
        ]
        bringing = {"model": self.contribution, **self.contributions}
        index += [DiscoveredPlugin(name=name, value=name, hooks=("prompt_channel",)) for name in bringing]
        objects: dict[str, object] = {"sessions": plugin, **bringing}
        plugins = Plugins(index, self.config, self._fault, objects)
        return Application(
            home=self.home,
            config=self.config,
            environ={"HOME": str(self._folder)},
            plugins=plugins,
            journal=Journal(self.home.logs),
            wiring=WIRING,
        )

    def send(self, text: str) -> Item:
        """Put an item last."""
        item = new_item(text, by="agent")
        change_queue(self.store, self.session, lambda queue: queue._replace(items=(*queue.items, item)))
        return item

    def resume(self) -> None:
        """End a hold."""
        change_queue(self.store, self.session, lambda queue: queue._replace(hold=None))

    def deliver(self, killed_after: int | None = None) -> None:
        """Run a deliverer until it ends, has nothing to do but wait, or is killed after so many steps."""
        self.cut_off(lambda: _Stepper(self).run(), killed_after)

    def deliver_for(self, seconds: float) -> None:
        """Run a deliverer until it ends, or has been at work for so many seconds of the world's time."""
        self.cut_off(lambda: _Patient(self, seconds).run(), None)

    @property
    def session(self) -> str:
        """The session's name."""
        return f"claude-{self.session_id[:8]}"

    @property
    def queue(self) -> Queue:
        """The session's queue."""
        return read_queue(self.store, self.session)

    def items(self) -> dict[str, Item]:
        """Return every item there is, by id, ended ones included. One that is in a queue has not ended.

        A process that was killed may have kept it as ended before it took it out of its queue.
        """
        found: dict[str, Item] = {}
        for _name, document in self.store.entries("queue"):
            entries: Any = document["items"]
            for entry in entries:
                assert entry["id"] not in found, "an item is in two queues"
                found[entry["id"]] = Item(**entry)
        return {item.id: item for _session, item in ended_items(self.store)} | found

    # --- the parts

    def _new_session(self) -> None:
        self.number += 1
        self.session_id = f"{self.number:08d}-1111-4111-8111-111111111111"

    @property
    def _transcript(self) -> Path:
        return self._folder / f"{self.session_id}.jsonl"

    def fail_turn(self, error: str, text: str, **fields: Any) -> None:
        """Claude's turn ends in an error; ``fields`` are more of its record in the transcript."""
        self.is_busy = False
        content = [{"type": "text", "text": text}]
        message = {"role": "assistant", "model": "<synthetic>", "content": content}
        self._record("assistant", message=message, error=error, isApiErrorMessage=True, **fields)
        self._hook("StopFailure", error=error, last_assistant_message=text)

    def say(self, text: str) -> None:
        """Claude says something in its turn."""
        content = [{"type": "text", "text": text}]
        self._record("assistant", message={"role": "assistant", "model": "m", "content": content})

    def hook(self, event: str, /, **fields: Any) -> None:
        """The client fires a hook."""
        self._hook(event, **fields)

    def record(self, kind: str, **fields: Any) -> None:
        """The client writes a line into the transcript."""
        self._record(kind, **fields)

    def messages(self) -> list[Any]:
        """Return the messages that wait for agents, oldest first."""
        return self.app.outbox.pending()

    def _record(self, kind: str = "user", **fields: Any) -> None:
        entry: dict[str, Any] = {"type": kind, "timestamp": iso()}
        entry |= {"message": {"role": "user", **fields}} if kind == "user" else fields
        with self._transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def _record_command(self, name: str, arguments: str, output: str) -> None:
        content = f"<command-name>/{name}</command-name>\n<command-args>{arguments}</command-args>"
        self._record("system", subtype="local_command", content=content)
        self._record(
            "system", subtype="local_command", content=f"<local-command-stdout>{output}</local-command-stdout>"
        )

    def fire(self, event: str, environ: Mapping[str, str] | None = None, /, **fields: Any) -> Any:
        """Run the plugin's hook of an event at once; return its reply."""
        return self._run_hook(self._payload(event, fields), {**self._environ, **(environ or {})})

    def new_session(self) -> None:
        """The client goes on with another session, of which no hook has told yet."""
        self._new_session()

    @property
    def _environ(self) -> dict[str, str]:
        return {"CLAUDE_PID": str(self.pid), "HOME": str(self._folder), "CLAUDE_CODE_ENTRYPOINT": "cli"}

    def _payload(self, event: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "hook_event_name": event,
            "session_id": self.session_id,
            "transcript_path": str(self._transcript),
            "cwd": str(self._folder),
            **fields,
        }

    def _hook(self, event: str, /, **fields: Any) -> None:
        payload, environ = self._payload(event, fields), self._environ
        self.pending.append((event, lambda: self._run_hook(payload, environ)))

    def _run_hook(self, payload: dict[str, Any], environ: dict[str, str], module: Any = plugin) -> Any:
        event = payload["hook_event_name"]
        app = self.app
        record: dict[str, object] = {}
        context = Context(
            event=event,
            payload=payload,
            home=self.home,
            config=self.config,
            environ=environ,
            plugins=app.plugins,
            journal=app.journal,
            wiring=WIRING,
            record=record,
        )
        context.place(self.terminal)
        name = "".join(f"_{one.lower()}" if one.isupper() else one for one in event).strip("_")
        reply = getattr(module, name)(EVENT_CLASSES[event].from_json(payload), context)
        self.told.append(record)
        return reply

    def _fault(self, name: str, text: str) -> None:
        raise AssertionError(f"{name}: {text}")


class _Stepper(QueueDeliverer):
    """The deliverer, whose waits let the client's hooks run."""

    def __init__(self, world: World) -> None:
        super().__init__(world.app, world.session)
        self._world = world
        self._waits = 0

    def _wait(self, patience: float) -> None:
        if patience <= 0:
            return
        self._waits += 1
        if self._world.pending:
            left, self._world.steps_left = self._world.steps_left, None
            self._world.pending.pop(0)[1]()
            self._world.steps_left = left
        else:
            self._world.time.sleep(0.002)
        if self._waits > 20:
            raise _Enough


class _Patient(QueueDeliverer):
    """The deliverer, whose waits take as long as they are to take, in the world's time."""

    def __init__(self, world: World, seconds: float) -> None:
        super().__init__(world.app, world.session)
        self._world = world
        self._end = world.time.monotonic() + seconds

    def _wait(self, patience: float) -> None:
        if patience <= 0:
            return
        self._world.time.sleep(patience)
        if self._world.time.monotonic() >= self._end:
            raise _Enough


class _Contribution:
    def __init__(self, world: World) -> None:
        self._world = world

    @hookimpl
    def prompt_channel(self) -> _Channel:
        return _Channel(self._world)


class _Channel(PromptChannel):
    """A channel by keys, as the interface asks for."""

    name = "model"

    def __init__(self, world: World) -> None:
        self._world = world

    def refusal(self, request: PromptRequest) -> str:
        """Carry everything but what says no."""
        return "it says no" if request.item.text.startswith("refuse") else ""

    def submit(self, request: PromptRequest) -> PromptOutcome:
        """Type, read back, press Enter once."""
        world, text = self._world, request.item.text
        try:
            if reason := request.stopped():
                return PromptOutcome(PromptStatus.NOT_NOW, reason)
            if world.is_busy:
                return PromptOutcome(PromptStatus.NOT_NOW, "Claude works")
            if request.item.phase == ENTERED and world.box != text:
                return PromptOutcome(PromptStatus.UNCERTAIN, "Enter may have been pressed")
            if not request.item.phase or not world.box:
                if world.box:
                    return PromptOutcome(PromptStatus.NOT_NOW, "a person types", is_person=True)
                request.save_phase(TYPED)
                world.step()
                world.box = text
            elif world.box != text:
                return PromptOutcome(PromptStatus.NOT_NOW, "a person types", is_person=True)
            request.save_phase(ENTERED)
            world.step()
            if world.box != text:
                return PromptOutcome(PromptStatus.UNCERTAIN, "the box has changed")
            world.press_enter()
            world.step()
        except StoreError as error:
            return PromptOutcome(PromptStatus.UNCERTAIN, str(error))
        return PromptOutcome(PromptStatus.SUBMITTED, "Enter was pressed")


def store_of(world: World) -> DocumentStore:
    """Return the documents of a world, as what they are used as."""
    return world.store
