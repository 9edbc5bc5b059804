"""Calls that the resident router serves: what a hook is promised holds for them, and nothing of one stays behind."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter._serving import protocol
from hookrouter._serving.copied_pages import MOST_PAGES
from hookrouter.messaging.spawn import LONGEST_PUSH_WAIT, postpone
from hookrouter.storage.engine import OUTBOX, open_store
from hookrouter.storage.home import Home
from hookrouter.testing import sample
from hookrouter.testing.plugins import write_plugin
from hookrouter.util import unix_socket
from support.hook_place import BASH
from support.resident import PATIENCE, Caller, Resident, eventually

HEADER = "import os, sys, time\nfrom hookrouter import hookimpl\nfrom hookrouter.replies import *\n"

TELLER = """
@hookimpl
def pre_tool_use(event, context):
    print("noise")
    mask = os.umask(0o22)
    os.umask(mask)
    seen = [os.getcwd(), os.environ.get("WORD"), context.environ.get("WORD"), "%o" % mask, sys.argv[-2:]]
    return PreToolUseReply.deny(repr(seen))
"""


class Place:
    def __init__(self, folder: Path) -> None:
        self.home, self.plugins = folder / "home", folder / "plugins"
        self.home.mkdir()
        self.plugins.mkdir()
        environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self.router = Resident({**environ, "HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(self.plugins)})

    def plugin(self, name: str, body: str) -> Path:
        return write_plugin(self.plugins, name, HEADER + body)

    def config(self, text: str) -> None:
        (self.home / "config.toml").write_text(text)

    def deny(self, **arguments: object) -> str:
        """Call with BASH; return the reason of the refusal."""
        reply = self.router.call("pre-tool-use", BASH, **arguments).reply  # type: ignore[arg-type]
        return str(reply["hookSpecificOutput"]["permissionDecisionReason"])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.router.kill()


def test_a_call_has_the_callers_folder_environment_mask_and_arguments(place: Place, tmp_path: Path) -> None:
    place.plugin("teller", TELLER)
    with place.router:
        said = place.deny(cwd=tmp_path, environ={**place.router.environ, "WORD": "one"})
        assert said == f"teller: {[str(tmp_path), 'one', 'one', '22', ['run', 'pre-tool-use']]!r}"
        assert place.deny() == f"teller: {['/', None, None, '22', ['run', 'pre-tool-use']]!r}"
        done = place.router.call("pre-tool-use", BASH)
        assert "noise" not in done.stdout + done.stderr


def test_nobody_listens_and_a_call_is_written_to_the_journal_all_the_same(place: Place) -> None:
    with place.router:
        done = place.router.call("pre-tool-use", BASH)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    record = json.loads((place.home / "logs" / "s.jsonl").read_text())
    assert (record["event"], record["tool"]) == ("PreToolUse", "Bash")


def test_what_is_not_for_this_router_is_sent_away_and_counted_by_reason(place: Place, tmp_path: Path) -> None:
    with place.router:
        environ = place.router.environ
        other = {**environ, "HOOKROUTER_HOME": str(tmp_path / "other")}
        assert place.router.call("stop", sample("Stop"), environ=other).end == protocol.COLD
        assert place.router.call("stop", sample("Stop"), environ={**environ, "PYTHONPATH": "/x"}).end == protocol.COLD
        assert place.router.call("stop", sample("Stop"), environ={**environ, "LC_ALL": "de_DE.ISO-8859-1"}).end == b"C"
        assert place.router.call("stop", sample("Stop"), environ={**environ, "LC_ALL": "de_DE.UTF-8"}).end == b"X\0\1"
        eventually(lambda: sum(place.router.status()["sent_away"].values()) == 3)
        assert place.router.status()["sent_away"] == {
            "another home": 1,
            "another PYTHON* variable or character set": 2,
        }


def test_garbage_instead_of_a_hello_is_sent_away_and_harms_nobody(place: Place) -> None:
    from hookrouter._serving import address

    with place.router:
        for data in (b"", b"GET / HTTP/1.1\r\n\r\n", b"HKR3\xff\xff\xff\xff", b"HKR3\0\0\0\3abc", b"HKR9\0\0\0\1\0"):
            with unix_socket.connect(place.router.folder, address.CALLS, 20) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                assert connection.recv(1) in (protocol.COLD, b"")
        assert place.router.call("stop", sample("Stop")).exit_code == 0


def test_a_caller_that_leaves_before_it_gives_its_descriptors_has_made_no_call(place: Place) -> None:
    place.plugin("teller", TELLER)
    with place.router:
        with place.router.connect("pre-tool-use") as connection:
            assert connection.recv(1) == protocol.READY
        eventually(lambda: place.router.status()["running"] == 0)
    assert not (place.home / "logs" / "s.jsonl").exists()


def test_a_caller_that_leaves_before_it_is_answered_was_not_sent_away_for_an_error(place: Place) -> None:
    with place.router:
        for _ in range(5):
            place.router.connect("pre-tool-use").close()
        eventually(lambda: sum(place.router.status()["sent_away"].values()) == 5)
        assert place.router.status()["sent_away"] == {"the caller left": 5}


def test_a_caller_that_is_killed_takes_its_call_with_it(place: Place, tmp_path: Path) -> None:
    began, ended = tmp_path / "began", tmp_path / "ended"
    place.plugin(
        "slow",
        f"""
@hookimpl
def pre_tool_use(event, context):
    open({str(began)!r}, "w").write(str(os.getpid()))
    while True:
        sum(range(1000))
""",
    )
    place.config("[plugins.slow]\ntimeout = 600\n")
    with place.router:

        def leave(caller: Caller) -> None:
            eventually(lambda: began.exists() and bool(began.read_text()))
            caller.leave()

        place.router.call("pre-tool-use", BASH, meanwhile=leave)
        eventually(lambda: not _lives(int(began.read_text())))
        assert not ended.exists()


def test_what_the_system_tells_of_the_connection_ends_no_call(place: Place) -> None:
    # It may tell late of a message that has been read: a call that such a signal ended would be lost.
    place.plugin("teller", TELLER)
    with place.router:

        def be_told_of(caller: Caller) -> None:
            caller.connection.sendall(b"G" * 100)

        for _ in range(5):
            assert place.router.call("pre-tool-use", BASH, meanwhile=be_told_of).exit_code == 0


def test_a_call_goes_on_when_the_router_is_killed(place: Place, tmp_path: Path) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    place.plugin(
        "slow",
        f"""
@hookimpl
def pre_tool_use(event, context):
    open({str(began)!r}, "w").close()
    while not os.path.exists({str(go)!r}):
        time.sleep(0.01)
    return PreToolUseReply.deny("after all")
""",
    )
    with place.router:

        def kill(_caller: Caller) -> None:
            eventually(began.exists)
            place.router.kill()
            go.touch()

        done = place.router.call("pre-tool-use", BASH, meanwhile=kill)
    assert done.reply["hookSpecificOutput"]["permissionDecisionReason"] == "slow: after all"
    # Its lock is free, and no spare child of it is left.
    with place.router:
        assert place.deny() == "slow: after all"


@pytest.mark.parametrize(
    ("body", "end"),
    [("os.kill(os.getpid(), 11)", b"K\x0b\1"), ("os.kill(os.getpid(), 9)", b"K\x09\1")],
    ids=["SEGV", "KILL"],
)
def test_a_plugin_that_ends_its_process_ends_the_caller_in_the_same_way(place: Place, body: str, end: bytes) -> None:
    place.plugin("bad", f"@hookimpl\ndef pre_tool_use(event, context):\n    {body}\n")
    with place.router:
        assert place.router.call("pre-tool-use", BASH).end == end
        # As in a cold run: it is called in a child from then on, and the call is answered.
        assert place.router.call("pre-tool-use", BASH).exit_code == 0
        assert place.router.status()["died"] == 1


def test_exit_code_two_comes_back(place: Place) -> None:
    place.plugin(
        "guard", "@hookimpl\ndef teammate_idle(event, context):\n    return TeammateIdleReply.block('go on')\n"
    )
    with place.router:
        done = place.router.call("teammate-idle", sample("TeammateIdle"))
    assert (done.exit_code, done.stderr) == (2, "guard: go on")


def test_changed_plugin_code_runs_at_the_next_call_and_the_router_learns_it(place: Place) -> None:
    # It tells whether the router has loaded it, or the child of its call.
    file = place.plugin(
        "teller",
        """
LOADED_IN = os.getpid()

@hookimpl
def pre_tool_use(event, context):
    return PreToolUseReply.deny('one, ' + ('late' if LOADED_IN == os.getpid() else 'early'))
""",
    )
    with place.router:
        eventually(lambda: place.deny() == "teller: one, early")
        boot = place.router.status()["boot"]
        _replace(file, "'one, '", "'another, '")
        # Sent away, or answered by the new code: never by the old one.
        eventually(lambda: place.router.call("pre-tool-use", BASH).end != protocol.COLD)
        assert place.deny().startswith("teller: another, ")
        assert place.router.status()["boot"] != boot


def test_changed_config_holds_for_the_next_call(place: Place) -> None:
    place.plugin("teller", TELLER)
    with place.router:
        assert place.router.call("pre-tool-use", BASH).reply is not None
        place.config("[plugins.teller]\nenabled = false\n")
        assert place.router.call("pre-tool-use", BASH).reply is None


def test_a_module_that_starts_a_thread_is_left_to_the_calls(place: Place) -> None:
    place.plugin(
        "threaded",
        """
import threading
threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()

@hookimpl
def pre_tool_use(event, context):
    return PreToolUseReply.deny(str(threading.active_count()))
""",
    )
    with place.router:
        for _ in range(3):
            assert place.deny() == "threaded: 2"
        eventually(lambda: bool(place.router.status()["not_loaded"]))
        assert len(os.listdir(f"/proc/{place.router.pid}/task")) == 1 or sys.platform != "linux"
        assert place.deny() == "threaded: 2"


def test_what_a_plugin_starts_holds_neither_the_callers_pipes_nor_the_routers_sockets(place: Place) -> None:
    place.plugin(
        "starter",
        """
import subprocess
@hookimpl
def pre_tool_use(event, context):
    found = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False).stdout
    return PreToolUseReply.deny(str(found.count("socket")))
""",
    )
    with place.router:
        assert place.deny() == "starter: 0"


def test_fifty_calls_at_once_are_all_served(place: Place) -> None:
    from concurrent.futures import ThreadPoolExecutor

    place.plugin("teller", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('one')\n")
    with place.router, ThreadPoolExecutor(50) as pool:
        # The folder of this process is that of all threads, so the connections are made first.
        from hookrouter.util.unix_socket import in_folder

        with in_folder(place.router.folder):
            calls = [pool.submit(_raw_call, place) for _ in range(50)]
            ends = [call.result() for call in calls]
    assert ends == [b"X\0\2"] * 50


def _raw_call(place: Place) -> bytes:
    import tempfile

    from hookrouter.util.program import script_argv

    with socket.socket(socket.AF_UNIX) as connection, tempfile.TemporaryFile() as stdin, open(os.devnull, "w") as out:
        connection.settimeout(60)
        connection.connect("calls")
        words = [*script_argv(), "run", "pre-tool-use"]
        connection.sendall(protocol.encode_hello(0, 0o22, words, place.router.environ))
        assert connection.recv(1) == protocol.READY
        stdin.write(json.dumps(BASH).encode())
        stdin.seek(0)
        folder = os.open("/", os.O_RDONLY)
        reading, writing = os.pipe()
        socket.send_fds(connection, [protocol.GO], [stdin.fileno(), out.fileno(), out.fileno(), folder, reading])
        os.close(folder)
        end = connection.recv(1) + connection.recv(1) + connection.recv(1)
        os.close(reading)
        os.close(writing)
        return end


def test_a_router_that_stops_lets_its_calls_end(place: Place, tmp_path: Path) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    body = (
        f"    open({str(began)!r}, 'w').close()\n    while not os.path.exists({str(go)!r}):\n        time.sleep(0.01)\n"
    )
    place.plugin("slow", f"@hookimpl\ndef pre_tool_use(event, context):\n{body}")
    for number in (signal.SIGTERM, signal.SIGHUP):
        began.unlink(missing_ok=True)
        go.unlink(missing_ok=True)
        with place.router:

            def interrupt(_caller: Caller, number: int = number) -> None:
                eventually(began.exists)
                boot = place.router.status()["boot"]
                place.router.send_signal(number)
                if number == signal.SIGHUP:
                    eventually(lambda: place.router.boot() not in ("", boot))
                go.touch()

            assert place.router.call("pre-tool-use", BASH, meanwhile=interrupt).exit_code == 0


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _replace(file: Path, old: str, new: str) -> None:
    # Python takes bytecode for that of another source of the same second and length.
    assert len(old) != len(new)
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="the limit of another process can be set on Linux only")
def test_a_router_without_a_descriptor_left_takes_calls_again_once_one_has_ended(place: Place, tmp_path: Path) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    body = (
        f"    open({str(began)!r}, 'w').close()\n    while not os.path.exists({str(go)!r}):\n        time.sleep(0.01)\n"
    )
    place.plugin("slow", f"@hookimpl\ndef pre_tool_use(event, context):\n{body}")
    with place.router:

        def exhaust(_caller: Caller) -> None:
            eventually(began.exists)
            used = [int(name) for name in os.listdir(f"/proc/{place.router.pid}/fd")]
            resource.prlimit(place.router.pid, resource.RLIMIT_NOFILE, (min(set(range(999)) - set(used)), 999))
            with place.router.connect("stop") as waiting:
                waiting.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    waiting.recv(1)
                go.touch()
                waiting.settimeout(30)
                assert waiting.recv(1) == protocol.READY

        assert place.router.call("pre-tool-use", BASH, meanwhile=exhaust).exit_code == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of copied pages")
def test_a_call_does_not_wait_for_memory_that_calls_before_it_wrote_to(place: Place) -> None:
    def tells_nothing_new() -> bool:
        before = router.status()["copied_pages"]
        place.deny()
        eventually(lambda: not router.status()["running"])
        after: int = router.status()["copied_pages"]
        return 0 < before == after

    place.plugin("teller", TELLER)
    with place.router as router:
        eventually(tells_nothing_new)
        assert router.status()["copied_pages"] <= MOST_PAGES


def test_the_agent_is_started_while_the_hook_that_asks_it_waits(place: Place, tmp_path: Path) -> None:
    started = tmp_path / "started"
    place.config(f'[gateways.night]\ntype = "command"\nargv = ["touch", "{started}"]\n[plugins.asker]\ntimeout = 60\n')
    place.plugin(
        "asker",
        f"""
from hookrouter.messaging.gateway import Message

@hookimpl
def pre_tool_use(event, context):
    context.outbox.put(Message("question", "night", "night", "s", "1", "", "a subject", "a text"))
    context.start_delivery()
    deadline = time.monotonic() + {PATIENCE}
    while not os.path.exists({str(started)!r}) and time.monotonic() < deadline:
        time.sleep(0.02)
    return PreToolUseReply.deny(str(os.path.exists({str(started)!r})))
""",
    )
    home = Home.from_environ(place.router.environ)
    # So that nothing but the call itself starts a deliverer.
    assert postpone(home, open_store(home, pytest.fail, OUTBOX), LONGEST_PUSH_WAIT)
    with place.router:
        assert place.deny() == "asker: True"


@pytest.mark.parametrize("on_error", ["open", "closed"])
@pytest.mark.parametrize("waits", [False, True])
def test_a_delivery_after_the_reply_is_started_by_the_call_itself(
    place: Place, tmp_path: Path, on_error: str, waits: bool
) -> None:
    """Also if plugins are called in a process apart, and at once if another one waits for it."""
    started = tmp_path / "started"
    place.config(
        f'[gateways.night]\ntype = "command"\nargv = ["touch", "{started}"]\n'
        f'[plugins.asker]\ntimeout = 60\non_error = "{on_error}"\n'
    )
    there = f"os.path.exists({str(started)!r})"
    waiting = (
        "    context.start_delivery()\n    deadline = time.monotonic() + 20\n"
        f"    while not {there} and time.monotonic() < deadline:\n        time.sleep(0.02)\n"
    )
    place.plugin(
        "asker",
        "from hookrouter.messaging.gateway import Message\n\n@hookimpl\ndef pre_tool_use(event, context):\n"
        '    context.outbox.put(Message("question", "night", "night", "s", "1", "", "a subject", "a text"))\n'
        f"    context.start_delivery(after_reply=True)\n{waiting if waits else ''}"
        f"    return PreToolUseReply.deny(str({there}))\n",
    )
    home = Home.from_environ(place.router.environ)
    # So that nothing but the call itself starts a deliverer.
    assert postpone(home, open_store(home, pytest.fail, OUTBOX), LONGEST_PUSH_WAIT)
    with place.router:
        told = place.deny()
        assert not waits or told == "asker: True"
        eventually(started.exists)
