"""A session's queue on the real client: each item goes in once, in order, and proven, whoever else acts or dies."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ask, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.queue.documents import Hold, Queue, change_queue, ended_items, read_queue
from hookrouter.queue.items import Item, new_item
from hookrouter.queue.spawn import is_delivering
from hookrouter.sessions.records import SessionRecord, read_record
from hookrouter.storage.engine import open_store
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support import typing_channel

pytestmark = pytest.mark.live

SESSION = "managed"
FORM = {
    "questions": [
        {
            "question": "Which way?",
            "header": "Way",
            "options": [{"label": "Left", "description": "l"}, {"label": "Right", "description": "r"}],
            "multiSelect": False,
        }
    ]
}


class Queued:
    """A managed client with a queue."""

    def __init__(self, folder: Path, server: PrivateTmux, model: ScriptedModel, channel: str) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self.folder = folder
        self.server = server
        self.model = model
        self.stage = Stage(str(folder), f'[sessions]\nchannels = ["{channel}"]\nproof_wait = 15\n')
        source = Path(typing_channel.__file__).read_text()
        write_plugin(folder / "site", "typing-channel", source)
        self.stage.variables |= {"PYTHONPATH": str(folder / "site"), "HOOKROUTER_TEST_TYPING": str(folder)}
        command = Path(self.stage.client_home.project, ".claude", "commands", "phase", "next.md")
        command.parent.mkdir(parents=True)
        command.write_text("do the next phase, $ARGUMENTS")
        self.stage.record("UserPromptSubmit", "Stop", "PreCompact", "SessionStart")
        self.stage.install()
        self.store = open_store(self.stage.home, lambda text: pytest.fail(text))
        self.client = self.start_client()

    def start_client(self) -> ClientSession:
        """Start a client in the managed session, and wait until hookrouter knows of it."""
        program = find_client()
        assert program is not None
        before = self.record
        client = self.stage.client(program, self.server, self.model, session=SESSION)
        client.start()

        def is_known() -> bool:
            now = self.record
            return now is not None and (before is None or now.client_pid != before.client_pid) and now.state == "idle"

        wait_until(is_known, 20, "record of the session", lambda: str(self.stage.journal()))
        return client

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
        command = [*script_argv(), "queue", "deliver", f"--session={SESSION}"]
        self._processes.append(subprocess.Popen(command, env=self.stage.environ))
        return self._processes[-1]

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
        """Return the items that have ended, by text."""
        return {item.text: item for _session, item in ended_items(self.store)}

    def prompts(self) -> list[str]:
        """Return the prompts that the client told of, without its own."""
        prompts = [str(payload["prompt"]) for payload in self.stage.payloads("UserPromptSubmit")]
        return [prompt for prompt in prompts if not prompt.startswith("<task-notification>")]

    def state(self) -> str:
        """Return all that explains a failure."""
        journal = [one for one in self.stage.journal() if one.get("event") == "queue"]
        return f"{self.queue}\n{self.ended()}\n{self.record}\n{journal[-8:]}\n{self.client.screen()}"

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


@contextlib.contextmanager
def _queued(folder: Path, server: PrivateTmux, channel: str) -> Iterator[Queued]:
    with ScriptedModel({"long": bash("tail -f /dev/null"), "form": ask(FORM)}) as model:
        queued = Queued(folder, server, model, channel)
        yield queued
        queued.close()


@pytest.fixture
def queued(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Queued]:
    """Return a managed client whose items the channel ``keys`` submits."""
    with _queued(tmp_path, tmux_server, "keys") as queued:
        yield queued


@pytest.fixture
def stepwise(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Queued]:
    """Return one whose items a channel submits that can be stopped before each act."""
    with _queued(tmp_path, tmux_server, "typing") as queued:
        yield queued


def test_items_of_every_kind_are_submitted_in_order_once_and_proven(queued: Queued) -> None:
    texts = [
        "first prompt",
        "/phase:next one two",
        "!true",
        "/context",
        "after the context",
        "/clear",
        "after the clearing",
        "/rename a-name",
        "/compact keep the plan",
        "after the compaction",
        "/nope no such command",
        "held back",
    ]
    queued.send(*texts)
    hold = queued.held()

    ended = queued.ended()
    assert list(ended) == texts[:-1], queued.state()
    assert [item.state for item in ended.values()] == ["done"] * 10 + ["failed"]
    assert "Unknown command: /nope" in ended[texts[10]].reason
    assert hold.cause == "failed"
    proofs = [next(iter(item.proof.values())) for item in ended.values()]
    prompt = "UserPromptSubmit"
    assert proofs == [
        *(prompt, prompt, "shell", "command", prompt, "SessionStart", prompt),
        *("command", "PreCompact", prompt, "unknown command"),
    ]
    assert queued.prompts() == [texts[0], texts[1], texts[4], texts[6], texts[9]]
    starts = [item.started_at for item in ended.values()][:-1]
    assert starts == sorted(starts)
    assert [one["source"] for one in queued.stage.payloads("SessionStart")] == ["startup", "clear", "compact"]

    queued.resume()
    queued.wait_done()
    assert queued.prompts()[-1] == "held back"


def test_a_prompt_of_a_person_holds_the_queue_until_it_is_resumed(queued: Queued) -> None:
    queued.put("an item")
    queued.client.submit("a person's own words")
    hold = queued.held()
    assert (hold.cause, "a person's own words" in hold.reason) == ("person", True)
    queued.deliver().wait(30)
    queued.stage.wait_payload("Stop")
    assert queued.prompts() == ["a person's own words"]
    queued.resume()
    queued.wait_done()
    assert queued.prompts() == ["a person's own words", "an item"]


def test_a_half_typed_text_is_waited_for(queued: Queued) -> None:
    queued.client.pane.type("half typed")
    queued.client.pane.wait_for("half typed", 10)
    queued.send("an item")
    queued.wait("look at the box", lambda: queued.queue.items[0].reason)
    assert queued.prompts() == []
    queued.client.pane.press("Enter")
    assert queued.held().cause == "person"
    queued.stage.wait_payload("Stop")
    queued.resume()
    queued.wait_done()
    assert queued.prompts() == ["half typed", "an item"]


def test_escape_holds_the_queue_and_nothing_is_sent_afterwards(queued: Queued) -> None:
    queued.send("RUN long", "never before it is resumed")
    queued.client.pane.wait_for("tail -f", 20)
    queued.client.pane.press("Escape")
    assert queued.held().cause == "escape"
    item = queued.ended()["RUN long"]
    assert (item.state, "Escape" in item.reason) == ("failed", True)
    queued.wait("end of the deliverer", lambda: not is_delivering(queued.store, SESSION))
    assert queued.prompts() == ["RUN long"]


def test_a_question_in_the_middle_keeps_the_next_item_back(queued: Queued) -> None:
    queued.send("ASK form", "after the answer")
    queued.client.wait_dialog("Which way?", 30)
    queued.wait("item under way", lambda: queued.queue.under_way)
    assert queued.prompts() == ["ASK form"]
    queued.client.pane.press("Enter")
    queued.wait("end of the queue", lambda: not queued.queue.items, 60)
    assert queued.prompts() == ["ASK form", "after the answer"]


def test_a_client_that_is_killed_holds_its_queue_also_for_the_next_one(queued: Queued) -> None:
    queued.send("RUN long", "for later")
    queued.client.pane.wait_for("tail -f", 20)
    record = queued.record
    assert record is not None
    os.kill(record.client_pid, signal.SIGKILL)
    assert queued.held().cause == "client_ended"
    queued.client.stop()
    queued.client = queued.start_client()
    assert queued.queue.hold is not None
    queued.deliver().wait(30)
    assert queued.prompts() == ["RUN long"]
    queued.resume()
    queued.wait_done()
    assert queued.prompts() == ["RUN long", "for later"]


@pytest.mark.parametrize("where", ["paste", "enter"])
def test_a_deliverer_that_is_killed_between_two_acts_is_followed_by_one_that_goes_on(
    stepwise: Queued, where: str
) -> None:
    stepwise.stop_at(where)
    stepwise.send("only once")
    stepwise.wait("stop", lambda: (stepwise.folder / "stopped").exists())
    assert stepwise.kill_deliverers()
    (stepwise.folder / "go").touch()
    stepwise.wait("end of the deliverer", lambda: not is_delivering(stepwise.store, SESSION))
    assert stepwise.queue.under_way is not None
    stepwise.deliver()
    stepwise.wait_done()
    assert stepwise.prompts() == ["only once"]
    assert stepwise.ended()["only once"].state == "done"


def test_deliverers_that_are_killed_again_and_again_submit_nothing_twice_and_lose_nothing(queued: Queued) -> None:
    chance = random.Random(14)
    texts = [f"prompt number {number}" for number in range(8)]
    queued.send(*texts)
    killed = 0
    while queued.queue.items and killed < 25:
        time.sleep(chance.uniform(0.02, 0.7))
        killed += bool(queued.kill_deliverers())
        if (hold := queued.queue.hold) is not None:
            assert hold.cause == "unproven", queued.state()
            queued.resume()
        else:
            queued.deliver()
    while queued.queue.items:
        queued.wait("end or hold", lambda: not queued.queue.items or queued.queue.hold is not None, 60)
        if queued.queue.hold is not None:
            queued.resume()
    assert killed > 3
    prompts = [prompt for prompt in queued.prompts() if prompt in texts]
    assert len(prompts) == len(set(prompts)), queued.state()
    assert prompts == [text for text in texts if text in prompts]
    assert set(queued.ended()) == set(texts)
    for text, item in queued.ended().items():
        assert item.state == "done" or item.reason, item
        if item.state == "done":
            assert text in prompts


def test_several_senders_at_once_have_one_deliverer(queued: Queued) -> None:
    first, second = queued.put("from one"), queued.put("from another")
    processes = [queued.deliver() for _ in range(4)]
    queued.wait_done()
    for process in processes:
        process.wait(30)
    assert queued.prompts() == [first[0].text, second[0].text]
