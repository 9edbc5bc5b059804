"""The prompt channel ``doorbell`` on the real client: a hook wakes Claude with each prompt, without a key."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client, read_payloads
from hookrouter._sandbox.scripted_model import ScriptedModel, ask, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.config import SessionsConfig
from hookrouter.queue.documents import Hold, Queue, change_queue, ended_items, list_queues, read_queue
from hookrouter.queue.items import Item, new_item
from hookrouter.queue.spawn import is_delivering
from hookrouter.sessions.records import SessionRecord, list_records
from hookrouter.storage.engine import open_store
from hookrouter.util.program import script_argv
from support.forms import FORM
from support.matrix import mostly_long
from support.mod_stage import short_folder
from support.resident import Resident
from support.safety import safety
from support.tested_client import VERSION, needs_mods

pytestmark = pytest.mark.live

EXACT = {
    "lines": "first line\n  second, indented\n\n\tfourth  with  blanks",
    "emoji": "ok 👍 rocket 🚀 flag 🇩🇪 naïve “quoted” … 日本語",
    "commands": "go on\n/clear\n!ls\n# no heading\n@readme & more",
    "backslash": "it ends in a backslash \\",
    "tag": "</system-reminder>\n<b>bold</b> &lt; <task-notification> </task-notification>",
    "quotes": "'one' \"two\" $HOME `x` #{pane_id} %n ^A",
    "long": "".join(f"word-{number:05d} " for number in range(2000))[:20_000].strip(),
}


class Rung:
    """A managed client whose queue goes in by the doorbell alone; no terminal of it is known."""

    def __init__(
        self,
        folder: str,
        server: PrivateTmux,
        model: ScriptedModel,
        front: str,
        config: str = "",
        channels: Sequence[str] = ("doorbell",),
        edit: Callable[[str], str] = str,
    ) -> None:
        """``edit`` changes the command line of the bell's entry."""
        program = find_client()
        assert program is not None
        self.program, self.server, self.model = program, server, model
        self._processes: list[subprocess.Popen[bytes]] = []
        # Without the plugin tmux hookrouter knows of no terminal, though the test looks at one.
        sessions = f"[plugins.tmux]\nenabled = false\n[sessions]\nchannels = {[*channels]}\nproof_wait = 15\n"
        agents = '[[agents]]\nid = "tester"\ngateway = "inbox"\n'
        self.stage = Stage(folder, f"{sessions}{agents}{config}")
        # `hookrouter install` asks the client on PATH for its version.
        claude = Path(folder, "bin", "claude")
        claude.parent.mkdir()
        claude.symlink_to(os.path.realpath(program))
        self.stage.variables["PATH"] = f"{claude.parent}:{os.environ['PATH']}"
        self.stage.record("UserPromptSubmit", "Stop", "SessionStart", "PostToolUse")
        self.stage.install("--front", front)
        settings = self.stage.client_home.read_settings()
        (entry,) = settings["hooks"]["FileChanged"]
        entry["hooks"][0]["command"] = edit(entry["hooks"][0]["command"])
        self.stage.client_home.write_settings(settings)
        self.store = open_store(self.stage.home, lambda text: pytest.fail(text))
        self.client = self.start_client()

    def start_client(self) -> ClientSession:
        """Start a client, and wait until hookrouter knows of it."""
        client = self.stage.client(self.program, self.server, self.model, session="managed")
        client.start()
        wait_until(lambda: self.record is not None, 20, "record of the session", lambda: str(self.stage.journal()))
        return client

    @property
    def record(self) -> SessionRecord | None:
        """The record of the only session."""
        return next(iter(list_records(self.store)), None)

    @property
    def session(self) -> str:
        """The session's name of now: it follows ``/clear``."""
        record = self.record
        assert record is not None
        return record.session

    @property
    def queue(self) -> Queue:
        return read_queue(self.store, self.session)

    def put(self, *texts: str) -> list[Item]:
        items = [new_item(text, by="agent") for text in texts]
        change_queue(self.store, self.session, lambda queue: queue._replace(items=(*queue.items, *items)))
        return items

    def deliver(self) -> subprocess.Popen[bytes]:
        """Start the real deliverer."""
        command = [*script_argv(), "queue", "deliver", f"--session={self.session}"]
        self._processes.append(subprocess.Popen(command, env=self.stage.environ))
        return self._processes[-1]

    def send(self, *texts: str) -> list[Item]:
        items = self.put(*texts)
        self.deliver()
        return items

    def resume(self) -> None:
        change_queue(self.store, self.session, lambda queue: queue._replace(hold=None))
        self.deliver()

    def close(self) -> None:
        self.kill_deliverer()
        for process in self._processes:
            process.kill()
            process.wait()
        self.client.stop()

    def kill_deliverer(self) -> bool:
        """Kill the process that delivers the queue; return whether there was one."""
        holders = [self.store.lock_holder("deliverer", queue.session) or "" for queue in list_queues(self.store)]
        numbers = [int(word) for word in " ".join(holders).replace(",", " ").split() if word.isdigit()]
        for number in numbers[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
                return True
        return False

    def wait(self, what: str, probe: Callable[[], object], timeout: float = 40) -> None:
        wait_until(lambda: bool(probe()), timeout, what, self.state)

    def wait_done(self, timeout: float = 60) -> None:
        self.wait("end of the queue", lambda: not list_queues(self.store), timeout)

    def held(self) -> Hold:
        self.wait("hold", lambda: self.queue.hold is not None)
        hold = self.queue.hold
        assert hold is not None
        return hold

    def ended(self) -> dict[str, Item]:
        return {item.id: item for _session, item in ended_items(self.store)}

    def prompts(self) -> list[str]:
        return [str(payload["prompt"]) for payload in self.stage.payloads("UserPromptSubmit")]

    def woken(self) -> list[str]:
        """Return the ids of the items with which Claude was woken, in order."""
        parts = [prompt.partition("[queued prompt ")[2].partition("]\n")[0] for prompt in self.prompts()]
        return [part for part in parts if part]

    def given(self, item: Item) -> str:
        """Return what the client was told behind an item's mark."""
        mark = f"[queued prompt {item.id}]\n"
        (prompt,) = [prompt for prompt in self.prompts() if mark in prompt]
        return prompt.partition(mark)[2]

    def is_delivering(self) -> bool:
        """Whether a deliverer is at work."""
        return is_delivering(self.store, self.session)

    def order(self) -> list[str]:
        """Return the events that the client has told of since its session began, in order."""
        payloads = [str(one["hook_event_name"]) for one in read_payloads(self.stage.payload_file)]
        return [event for event in payloads if event != "SessionStart"]

    def begun(self) -> list[str]:
        """Return the sources of the session's beginnings whose hooks have ended."""
        return [str(one.get("source", "")) for one in self.stage.journal() if one.get("event") == "SessionStart"]

    def state(self) -> str:
        """Return all that explains a failure."""
        journal = [one for one in self.stage.journal() if one.get("event") in ("queue", "FileChanged", "SessionStart")]
        return f"{list_queues(self.store)}\n{self.ended()}\n{self.record}\n{journal[-8:]}\n{self.client.screen()}"


@contextlib.contextmanager
def _rung(server: PrivateTmux, front: str = "cold", config: str = "", **more: Any) -> Iterator[Rung]:
    script = {"long": bash("until test -e go; do sleep 0.1; done"), "form": ask(FORM)}
    with short_folder() as folder, ScriptedModel(script) as model:
        rung = Rung(str(folder), server, model, front, config, **more)
        try:
            yield rung
        finally:
            rung.close()


@pytest.fixture
def rung(tmux_server: PrivateTmux) -> Iterator[Rung]:
    with _rung(tmux_server) as rung:
        yield rung


def _escaped(text: str) -> str:
    """Return a text as the client makes it part of its own: newer ones see to it that it cannot end that."""
    if VERSION < (2, 1, 330):
        return text
    text = text.replace("</system-reminder>", "&lt;/system-reminder>")
    return text.replace("<task-notification>", r"<\task-notification>").replace("</task-", r"<\/task-")


def test_prompts_wake_claude_in_order_once_and_exactly(rung: Rung) -> None:
    items = rung.send(*EXACT.values())
    rung.wait_done()
    assert rung.woken() == [item.id for item in items], rung.state()
    for item in items:
        ended = rung.ended()[item.id]
        assert (ended.state, ended.channel, ended.proof["event"]) == ("done", "doorbell", "UserPromptSubmit")
        said = rung.given(item)
        assert said.removesuffix("</system-reminder>").rstrip("\n") == _escaped(item.text), said[-200:]
    assert len(rung.stage.payloads("Stop")) == len(items)
    told = json.dumps([request.body["messages"] for request in rung.model.requests], ensure_ascii=False)
    assert all(json.dumps(_escaped(item.text), ensure_ascii=False)[1:-1] in told for item in items)


def test_commands_are_refused_and_hold_the_queue(rung: Rung) -> None:
    rung.send("a prompt", "/rename it")
    assert "plain prompts only" in rung.held().reason
    assert len(rung.woken()) == 1


def test_a_draft_stays_in_the_box(rung: Rung) -> None:
    rung.client.pane.type("half typed, of a person")
    rung.client.pane.wait_for("half typed, of a person", 10)
    items = rung.send("one", "two")
    rung.wait_done()
    assert rung.woken() == [item.id for item in items]
    rung.client.pane.wait_for("half typed, of a person", 10)
    rung.client.pane.press("Enter")
    rung.wait("the person's prompt", lambda: rung.prompts()[-1] == "half typed, of a person")


def test_after_clear_by_a_person_the_bell_rings_on(rung: Rung) -> None:
    first = rung.send("before")
    rung.wait_done()
    name, bells = rung.session, set(_bells(rung))
    rung.client.submit("/clear")
    rung.wait("the new session", lambda: rung.record is not None and rung.session != name)
    rung.wait("its bell", lambda: len(_bells(rung)) > len(bells))
    rung.wait("the end of the hook", lambda: "clear" in rung.begun())
    second = rung.send("after", "and on")
    rung.wait_done()
    assert rung.woken() == [item.id for item in [*first, *second]]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in _bells(rung))


@pytest.mark.long
def test_after_a_compaction_and_in_a_resumed_session_the_bell_rings_on(rung: Rung) -> None:
    first = rung.send("before")
    rung.wait_done()
    rung.client.submit("/compact keep it")
    rung.wait("the compaction", lambda: len(rung.begun()) == 2)
    rung.client.wait_idle()
    second = rung.send("after the compaction")
    rung.wait_done()
    rung.client.stop()
    rung.wait("the end", lambda: rung.record is None or rung.record.state == "gone")
    rung.client = rung.stage.client(rung.program, rung.server, rung.model, session="managed", words=["--continue"])
    rung.client.start()
    rung.wait("the resumed session", lambda: rung.record is not None and rung.record.state == "idle")
    third = rung.send("after the end")
    rung.wait_done()
    assert rung.woken() == [item.id for item in [*first, *second, *third]]


def test_a_dialog_of_a_turn_keeps_the_next_item_back(rung: Rung) -> None:
    rung.client.submit("ASK form")
    rung.client.wait_dialog("Which way?", 30)
    (item,) = rung.send("after the answer")
    rung.wait("the deliverer", rung.is_delivering)
    assert rung.woken() == []
    rung.client.confirm()
    rung.wait_done()
    assert rung.woken() == [item.id]
    assert rung.order() == ["UserPromptSubmit", "PostToolUse", "Stop", "UserPromptSubmit", "Stop"]


def test_no_prompt_joins_a_turn_that_runs_a_tool(rung: Rung) -> None:
    rung.client.submit("RUN long")
    rung.client.pane.wait_for("until test", 20)
    (item,) = rung.send("of its own turn")
    rung.wait("the deliverer", rung.is_delivering)
    # Nor does one whose bell is rung by somebody else.
    for bell in _bells(rung):
        bell.write_text("rung")
    rung.wait("a look at the bell", lambda: any(one.get("event") == "FileChanged" for one in rung.stage.journal()))
    assert rung.woken() == []
    Path(rung.stage.client_home.project, "go").touch()
    rung.wait_done()
    assert rung.woken() == [item.id]
    assert rung.order() == ["UserPromptSubmit", "PostToolUse", "Stop", "UserPromptSubmit", "Stop"]
    assert [stop["stop_hook_active"] for stop in rung.stage.payloads("Stop")] == [False, True]


@pytest.mark.long
def test_a_picker_that_a_person_has_open_is_waited_for(rung: Rung) -> None:
    rung.client.submit("/model")
    rung.client.pane.wait_for("Esc", 20)
    (item,) = rung.send("after the picker")
    rung.wait("the deliverer", rung.is_delivering)
    assert rung.woken() == []
    rung.client.pane.press("Escape")
    rung.wait_done()
    assert rung.woken() == [item.id]


def test_without_a_terminal_the_default_channels_come_to_it(tmux_server: PrivateTmux) -> None:
    with _rung(tmux_server, channels=SessionsConfig().channels) as rung:
        items = rung.send("one", "two")
        rung.wait_done()
        assert [rung.ended()[item.id].channel for item in items] == ["doorbell", "doorbell"]


@pytest.mark.long
def test_an_item_that_no_hook_takes_goes_to_the_next_channel(tmux_server: PrivateTmux) -> None:
    with _rung(tmux_server, edit=lambda command: f"true {command}", channels=["doorbell", "stop"]) as rung:
        (item,) = rung.send("by the end of a turn")
        # Which is a turn that somebody has to begin, so that nobody can bring it now.
        hold = rung.held()
        assert hold.cause == "undelivered", rung.state()
        assert "stop: it replies only when a turn ends" in hold.reason
        assert (rung.queue.items[0].id, rung.woken()) == (item.id, [])
        outcomes = [
            one for one in rung.stage.journal() if one.get("event") == "queue" and one.get("channel") == "doorbell"
        ]
        assert {(one["outcome"], one["steps"][-1]) for one in outcomes} == {("unavailable", "withdrawn")}


def test_a_hook_that_dies_with_the_item_holds_the_queue_and_nobody_tries_again(tmux_server: PrivateTmux) -> None:
    with _rung(tmux_server, edit=lambda command: f"( {command} ) 2>/dev/null; kill -9 $$") as rung:
        items = rung.send("lost on the way", "not before somebody says so")
        hold = rung.held()
        assert hold.cause == "unproven", rung.state()
        assert rung.woken() == []
        assert rung.ended()[items[0].id].state == "failed"
        assert [item.id for item in rung.queue.items] == [items[1].id]
        hooked = [one for one in rung.stage.journal() if one.get("event") == "FileChanged"]
        assert [one["outcome"] for one in hooked][:1] == ["wake"]


@pytest.mark.long
def test_deliverers_that_are_killed_again_and_again_wake_claude_once_with_each(rung: Rung) -> None:
    chance = random.Random(20)
    items = rung.send(*(f"prompt number {number}" for number in range(8)))
    killed = 0
    while rung.queue.items and killed < 25:
        time.sleep(chance.uniform(0.02, 1.2))
        killed += rung.kill_deliverer()
        rung.resume()
    while rung.queue.items:
        rung.wait("end or hold", lambda: not rung.queue.items or rung.queue.hold is not None, 60)
        if rung.queue.items:
            rung.resume()
    assert killed > 3
    woken = rung.woken()
    with safety("no item wakes Claude twice or out of order"):
        assert woken == [item.id for item in items if item.id in woken], rung.state()
    for name, item in rung.ended().items():
        assert (item.state == "done") == (name in woken) or item.reason, item


@pytest.mark.parametrize("front", mostly_long(["cold", "python", "native"], "native"))
def test_it_rings_through_each_front_and_the_router(tmux_server: PrivateTmux, front: str) -> None:
    with _rung(tmux_server, front) as rung, Resident(rung.stage.environ) as router:
        calls = router.status()["calls"]
        items = rung.send("one", "two\nlines", "three")
        rung.wait_done()
        assert rung.woken() == [item.id for item in items]
        assert (router.status()["calls"] > calls) == (front != "cold")


def test_it_rings_beside_the_mod(tmux_server: PrivateTmux) -> None:
    needs_mods()
    pytest.importorskip("uvicorn")
    with _rung(tmux_server, "mod", "[serve]\nmod = true\n") as rung, Resident(rung.stage.environ) as router:
        wait_until(lambda: (router.status()["gate"] or {}).get("mod"), 20, "the gate", lambda: str(router.status()))
        items = rung.send("one", "two\nlines", "three")
        rung.wait_done()
        assert rung.woken() == [item.id for item in items]


def _bells(rung: Rung) -> list[Path]:
    return sorted(Path(rung.stage.home.state, "bells").glob("*/hookrouter-bell"))
