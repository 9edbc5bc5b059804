"""Processes that serve one call after the other: only for plugins that say so, and only if they are as they were."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookrouter._serving import fitness, protocol
from hookrouter.testing import sample
from hookrouter.testing.plugins import write_plugin
from support.hook_place import BASH
from support.resident import PATIENCE, Called, Resident, eventually
from support.shared import Shared

pytestmark = pytest.mark.xdist_group("kept processes")  # most share a router

HEADER = """
import atexit, os, signal, subprocess, sys, threading, time
from hookrouter import hookimpl, stateless
from hookrouter.replies import *

kept = []


def said(what):
    return PreToolUseReply.deny(repr(what))


"""

TELLER = """
@hookimpl
@stateless
def pre_tool_use_bash(tool_input):
    command = tool_input.command
    if command.startswith("do "):
        exec(command[3:])
    return said([os.getpid(), eval(command[5:]) if command.startswith("tell ") else None])
"""


class Place:
    def __init__(self, folder: Path) -> None:
        self.home, self.plugins = folder / "home", folder / "plugins"
        self.home.mkdir()
        self.plugins.mkdir()
        environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self.router = Resident({**environ, "HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(self.plugins)})

    def plugin(self, body: str, name: str = "teller") -> None:
        write_plugin(self.plugins, name, HEADER + body)

    def call(self, command: str = "ls", **more: object) -> Called:
        payload = {**BASH, "tool_input": {"command": command}}
        return self.router.call("pre-tool-use", payload, **more)  # type: ignore[arg-type]

    def ask(self, command: str = "ls", **more: object) -> tuple[int, object]:
        """Return the process that has answered, and what it has told."""
        reply = self.call(command, **more).reply
        pid, told = eval(reply["hookSpecificOutput"]["permissionDecisionReason"].partition(": ")[2])
        self.rest()
        return pid, told

    def rest(self) -> None:
        """Wait until the router has heard of the end of all calls, and has loaded what they needed."""
        eventually(lambda: (now := self.router.status())["running"] == 0 and not now["loading"])

    def warmed(self) -> int:
        """Return the process that serves one call after the other by now."""
        former = -1
        for _ in range(20):
            pid, _ = self.ask()
            if pid == former:
                return pid
            former = pid
        raise AssertionError("each call had a process of its own")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.router.kill()


@pytest.fixture(scope="module")
def tellers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[Place]]:
    def make() -> Iterator[Place]:
        made = Place(tmp_path_factory.mktemp("teller"))
        made.plugin(TELLER)
        with made.router:
            yield made

    with Shared(contextmanager(make)) as shared:
        yield shared


@pytest.fixture
def teller(tellers: Shared[Place], request: pytest.FixtureRequest) -> Iterator[Place]:
    """Return a place whose router runs with TELLER, one for all tests that leave both as they are."""
    with tellers.lent(request.session) as place:
        yield place


def test_one_process_serves_the_calls_of_a_plugin_that_leaves_nothing(teller: Place) -> None:
    pid = teller.warmed()
    assert [teller.ask()[0] for _ in range(5)] == [pid] * 5
    assert teller.router.status()["warm"] >= 1


def test_each_call_of_a_plugin_that_says_nothing_of_that_has_a_process_of_its_own(place: Place) -> None:
    place.plugin(TELLER.replace("@stateless\n", ""))
    with place.router:
        pids = [place.ask()[0] for _ in range(8)]
    assert len(set(pids)) == len(pids)


def test_a_plugin_that_says_nothing_of_that_ends_the_process_of_one_that_does(place: Place) -> None:
    place.plugin(TELLER)
    place.plugin("@hookimpl\ndef stop(event):\n    pass\n", "other")
    with place.router:
        pid = place.warmed()
        assert place.router.call("stop", sample("Stop")).exit_code == 0
        place.rest()
        assert place.ask()[0] != pid


@pytest.mark.parametrize(
    "lie",
    [
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        "kept.append(os.open('/dev/null', os.O_RDONLY))",
        "kept.append(subprocess.Popen(['sleep', '600'], start_new_session=True))",
        "kept.append(subprocess.Popen(['true']))",
        "import colorsys",
        "signal.signal(signal.SIGUSR1, lambda *_: None)",
        "signal.signal(signal.SIGWINCH, lambda *_: None)",
        "signal.setitimer(signal.ITIMER_VIRTUAL, 600)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])",
        "atexit.register(print)",
        "os.environ['LEFT'] = '1'",
        "os.chdir('/tmp')",
        "sys.excepthook = print",
        "sys.path_hooks.append(print)",
        "raise ValueError('no')",
        "print('noise')",
    ],
)
def test_a_process_in_which_something_was_left_serves_no_further_call(teller: Place, lie: str) -> None:
    pid = teller.warmed()
    assert teller.call(f"do {lie}").end[:2] == b"X\0"
    teller.rest()
    assert teller.ask()[0] != pid


def test_what_a_call_registers_for_the_end_of_its_process_is_called(teller: Place, tmp_path: Path) -> None:
    teller.warmed()
    teller.call(f"do atexit.register(open, {str(tmp_path / 'ended')!r}, 'w')")
    eventually((tmp_path / "ended").exists)


def test_nothing_of_one_call_is_seen_by_the_next_one(teller: Place, tmp_path: Path) -> None:
    tell = "tell [os.getcwd(), os.environ.get('SECRET'), os.environ.get('TZ'), time.tzname[0], sys.argv[-1]]"
    pid = teller.warmed()
    environ = {**teller.router.environ, "SECRET": "hidden", "TZ": "XYZ-3"}
    folder = str(tmp_path)
    assert teller.ask(tell, cwd=folder, environ=environ) == (pid, [folder, "hidden", "XYZ-3", "XYZ", "pre-tool-use"])
    later, told = teller.ask(tell)
    assert (later, told) == (pid, ["/", None, teller.router.environ.get("TZ"), *told[3:4], "pre-tool-use"])  # type: ignore[index]
    assert told[3] != "XYZ"  # type: ignore[index]


def test_a_process_holds_nothing_of_the_calls_that_it_has_served(teller: Place) -> None:
    pid = teller.warmed()
    before = sorted(os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd"))
    for _ in range(30):
        assert teller.ask()[0] == pid
    assert sorted(os.readlink(f"/proc/{pid}/fd/{one}") for one in os.listdir(f"/proc/{pid}/fd")) == before
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert not any("memfd" in one or "plugin-output" in one for one in before)


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("do os.kill(os.getpid(), signal.SIGSEGV)", protocol.KILLED + bytes([signal.SIGSEGV, 1])),
        ("do import ctypes; ctypes.CDLL(None)._exit(7)", protocol.ENDED + b"\7\7"),
    ],
)
def test_a_crash_in_a_later_call_is_told_to_its_caller(place: Place, command: str, end: bytes) -> None:
    place.plugin(TELLER)
    with place.router:
        pid = place.warmed()
        assert place.call(command).end == end
        # The plugin is called in a process of its own from now on, which ends with the call.
        pids = [place.ask()[0] for _ in range(3)]
        assert pid not in pids
        assert len(set(pids)) == len(pids)


def test_a_later_call_is_limited_in_time_and_ends_with_its_caller(place: Place) -> None:
    place.plugin(TELLER)
    (place.home / "config.toml").write_text("[plugins.teller]\ntimeout = 0.5\n")
    with place.router:
        place.warmed()
        done = place.call("do time.sleep(600)")
        assert "took longer than its timeout" in str(done.reply)
        (place.home / "config.toml").write_text("[plugins.teller]\ntimeout = 600\n")
        pid = place.warmed()
        place.call("do time.sleep(600)", meanwhile=lambda caller: caller.leave())
        eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_processes_that_wait_end_with_the_router(place: Place) -> None:
    place.plugin(TELLER)
    with place.router:
        pid = place.warmed()
        place.router.kill(signal.SIGKILL)
        eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_a_process_is_replaced_in_the_end(tellers: Shared[Place], monkeypatch: pytest.MonkeyPatch) -> None:
    # It is about this very process, which must have no child.
    tellers.drop()
    fit = fitness.Fitness()
    assert fit.holds()
    monkeypatch.setattr(fitness, "MOST_CALLS", 2)
    assert not fit.holds()


def test_a_process_that_has_grown_is_replaced(teller: Place) -> None:
    pid = teller.warmed()
    assert teller.ask("do 'x' * (64 << 20)")[0] == pid
    assert teller.ask()[0] != pid


def test_a_question_is_saved_and_delivered_by_a_process_that_has_done_so_before(teller: Place) -> None:
    teller.warmed()
    pids = set()
    for number in range(6):
        event = sample("PreToolUse", tool="AskUserQuestion")
        event = {**event, "session_id": f"s{number}", "tool_use_id": f"toolu_{number}"}
        assert teller.router.call("pre-tool-use", event).exit_code == 0
        [record] = [json.loads(line) for line in (teller.home / "logs" / f"s{number}.jsonl").read_text().splitlines()]
        assert record["outcome"] == "asked"
        pids.add(record["pid"])
        teller.rest()
        # It is the deliverer who takes it out of the outbox, into the inbox.
        outbox = teller.home / "state" / "outbox"
        eventually(lambda folder=outbox: not list(folder.glob("wake-*.json")), PATIENCE)  # type: ignore[misc]
    assert len(pids) < 6
