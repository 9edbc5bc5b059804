"""The fronts: a call gets to the router whole, or runs cold with the same stdin; never both, never neither."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hookrouter import _fronts
from hookrouter._installation import front_command
from hookrouter._serving import address, protocol
from hookrouter.util import unix_socket
from support.resident import eventually
from support.stand_in_router import StandInRouter, taken

SOURCES = Path(_fronts.__path__[0])

RECORDER = """
import json, os, sys
data = sys.stdin.buffer.read() if not os.isatty(0) else b""
print(json.dumps({"argv": sys.argv[1:], "size": len(data), "head": data[:40].decode(), "cwd": os.getcwd()}))
sys.exit(7)
"""


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("native") / "native"
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=undefined"]
    subprocess.run([compiler, *flags, "-o", program, SOURCES / "native.c"], check=True)
    return [str(program)]


@pytest.fixture(params=["python", "native"])
def front(request: pytest.FixtureRequest) -> list[str]:
    """Return the words that start a front."""
    if request.param == "native":
        found: list[str] = request.getfixturevalue("native")
        return found
    return front_command.front_words(front_command.Front.PYTHON, "")[:-1]


class Caller:
    """A front beside a stand-in router, with a cold run that tells what it got."""

    def __init__(self, front: Sequence[str], folder: Path) -> None:
        self.folder = str(folder / "router")
        recorder = folder / "recorder.py"
        recorder.write_text(RECORDER)
        self.cold = [sys.executable, "-P", str(recorder), "run", "stop"]
        self._front = list(front)

    def start(self, environ: Mapping[str, str] | None = None, cwd: str | None = None, **pipes: Any) -> Any:
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes}
        return subprocess.Popen([*self._front, self.folder, *self.cold], env=environ, cwd=cwd, **streams)

    def run(self, data: bytes = b"payload", **options: Any) -> tuple[int, bytes]:
        with self.start(**options) as process:
            out, errors = process.communicate(data, timeout=30)
        assert errors == b"", errors
        return process.returncode, out

    def assert_cold(self, data: bytes = b"payload", **options: Any) -> dict[str, Any]:
        code, out = self.run(data, **options)
        told: dict[str, Any] = json.loads(out)
        assert (code, told["argv"], told["size"]) == (7, ["run", "stop"], len(data))
        assert told["head"] == data[:40].decode()
        return told


@pytest.fixture
def caller(front: list[str], tmp_path: Path) -> Caller:
    return Caller(front, tmp_path)


def end_with(end: bytes) -> Callable[[socket.socket], tuple[protocol.Hello, bytes, str]]:
    """Return the part of a router that serves a call, writes to both pipes, and ends it so."""

    def part(connection: socket.socket) -> tuple[protocol.Hello, bytes, str]:
        hello, descriptors = taken(connection)
        stdin, stdout, stderr, folder, _life = descriptors
        with open(stdin, "rb") as file:
            data = file.read()
        os.write(stdout, b"the reply")
        place = os.readlink(f"/proc/self/fd/{folder}") if sys.platform == "linux" else ""
        for descriptor in (stdout, stderr, folder):
            os.close(descriptor)
        connection.sendall(end)
        return hello, data, place

    return part


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3_000_000], ids=str)
def test_a_call_gets_to_the_router_whole(caller: Caller, size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    environ = {**os.environ, "EMPTY": "", "ODD": "a=b\nc", "BYTES": "\udcff"}
    with StandInRouter(caller.folder, end_with(b"X\0\1")) as router:
        assert caller.run(data, environ=environ, cwd=str(tmp_path)) == (0, b"the reply")
    hello, payload, place = router.results[0]
    assert payload == data
    assert hello.words == tuple(caller.cold)
    assert dict(hello.environ) == environ
    assert hello.parent == os.getpid()
    assert place in ("", str(tmp_path))


@pytest.mark.parametrize(
    ("end", "code"), [(b"X\2\1", 2), (b"E\5\5", 5), (b"K\x0b\1", -11), (b"K\x09\1", -9), (b"X\xff\1", 255)]
)
def test_a_front_ends_as_its_call_did(caller: Caller, end: bytes, code: int) -> None:
    with StandInRouter(caller.folder, end_with(end)):
        assert caller.run() == (code, b"the reply")


def test_a_payload_that_is_too_large_is_cut_off_where_that_can_be_seen(caller: Caller) -> None:
    with StandInRouter(caller.folder, end_with(b"X\0\1")) as router:
        caller.run(b"x" * (16 * 1024 * 1024 + 4711))
    assert len(router.results[0][1]) == 16 * 1024 * 1024 + 1


def test_an_environment_of_two_megabytes_gets_there(caller: Caller) -> None:
    environ = {**os.environ, **{f"LARGE_{number}": "x" * 100_000 for number in range(20)}}
    with StandInRouter(caller.folder, end_with(b"X\0\1")) as router:
        assert caller.run(environ=environ)[0] == 0
    assert dict(router.results[0][0].environ) == environ


def test_no_router_and_a_stale_socket_mean_a_cold_run(caller: Caller) -> None:
    caller.assert_cold()
    os.mkdir(caller.folder)
    caller.assert_cold()
    unix_socket.listen(caller.folder, address.CALLS, 1).close()
    assert os.path.exists(os.path.join(caller.folder, address.CALLS))
    caller.assert_cold(b"x" * 1_000_000)


def say(answer: bytes, *, after_hello: bool) -> Callable[[socket.socket], bytes]:
    """Return a part that answers a hello with these bytes, and returns what the caller says after it."""

    def part(connection: socket.socket) -> bytes:
        if after_hello:
            protocol.receive_hello(connection)
        connection.sendall(answer)
        return connection.recv(10) if answer != protocol.READY else b""

    return part


@pytest.mark.parametrize("after_hello", [True, False])
@pytest.mark.parametrize("answer", [b"C", b"", b"?", b"HTTP/1.1 400"], ids=repr)
def test_whoever_is_not_ready_gets_no_call(caller: Caller, answer: bytes, after_hello: bool) -> None:
    with StandInRouter(caller.folder, say(answer, after_hello=after_hello) if answer else lambda _: None):
        caller.assert_cold()


def test_a_router_that_hangs_is_given_up_and_its_socket_removed(caller: Caller) -> None:
    with StandInRouter(caller.folder, lambda connection: [protocol.receive_hello(connection), connection.recv(1)]):
        caller.assert_cold()
        assert not os.path.exists(os.path.join(caller.folder, address.CALLS))
        # The next one does not wait for it.
        caller.assert_cold()


def lose(connection: socket.socket) -> None:
    """Take a call, and end without a word, as a router that is killed with its child."""
    for descriptor in taken(connection)[1]:
        os.close(descriptor)


def test_a_lost_call_is_brought_once_more_with_the_same_payload(caller: Caller) -> None:
    with StandInRouter(caller.folder, lose, end_with(b"X\0\1")) as router:
        assert caller.run(b"the payload") == (0, b"the reply")
    assert router.results[1][1] == b"the payload"


def test_a_call_that_is_lost_twice_runs_cold(caller: Caller) -> None:
    with StandInRouter(caller.folder, lose, lambda connection: (lose(connection), connection.sendall(b"Z"))):
        caller.assert_cold(b"the payload")


def test_a_call_that_is_lost_with_its_router_runs_cold(caller: Caller) -> None:
    def part(connection: socket.socket) -> None:
        lose(connection)
        os.unlink(os.path.join(caller.folder, address.CALLS))

    with StandInRouter(caller.folder, part):
        caller.assert_cold(b"x" * 100_000)


def test_a_front_that_is_killed_closes_its_connection(caller: Caller) -> None:
    def part(connection: socket.socket) -> bytes:
        hello, _descriptors = taken(connection)
        children.append(hello)
        return connection.recv(1)

    children: list[protocol.Hello] = []
    with StandInRouter(caller.folder, part) as router, caller.start() as process:
        process.stdin.close()
        eventually(lambda: bool(children))
        process.send_signal(signal.SIGTERM)
        eventually(lambda: bool(router.results))
        assert router.results == [b""]


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closed_descriptors_mean_a_cold_run(caller: Caller, closed: int) -> None:
    with (
        StandInRouter(caller.folder, end_with(b"X\0\1")) as router,
        caller.start(preexec_fn=lambda: os.close(closed)) as process,
    ):
        process.communicate(b"", timeout=30)
    assert router.results == []


def test_a_folder_that_is_gone(caller: Caller, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ready = tmp_path / "ready"
    script = f'rmdir {gone}; touch {ready}; exec "$@"'
    with StandInRouter(caller.folder, end_with(b"X\0\1")) as router:
        words = ["sh", "-c", script, "sh", *caller._front, caller.folder, *caller.cold]
        done = subprocess.run(words, input=b"payload", capture_output=True, cwd=gone, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"the reply")
    assert router.results[0][1] == b"payload"


def test_a_path_that_is_longer_than_an_address(front: list[str], tmp_path: Path) -> None:
    long = tmp_path / ("x" * 120) / ("y" * 120)
    long.mkdir(parents=True)
    caller = Caller(front, long)
    with StandInRouter(caller.folder, end_with(b"X\0\1")):
        assert caller.run() == (0, b"the reply")


def test_the_native_front_says_which_protocol_it_speaks(native: list[str]) -> None:
    done = subprocess.run([*native, "--protocol"], capture_output=True, check=True)
    assert done.stdout.strip() == protocol.MAGIC


def test_a_person_who_starts_a_front_is_told_what_it_is(front: list[str]) -> None:
    done = subprocess.run(front, capture_output=True, check=False)
    assert (done.returncode, b"hookrouter install" in done.stderr) == (1, True)


@pytest.fixture
def own_program(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    from hookrouter.util.program import script_argv

    home = tmp_path / "home"
    home.mkdir()
    return [*script_argv(), "run", "stop"], {**os.environ, "HOOKROUTER_HOME": str(home)}


def test_the_cold_run_of_the_python_front_is_the_program_itself(
    tmp_path: Path, own_program: tuple[list[str], dict[str, str]]
) -> None:
    """The same import path, arguments and site as ``hookrouter run`` has."""
    words, environ = own_program
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    from hookrouter.testing import sample
    from hookrouter.testing.plugins import write_plugin

    write_plugin(
        plugins,
        "teller",
        """
import sys, os
from hookrouter import hookimpl
from hookrouter.replies import StopReply
@hookimpl
def stop(event, context):
    return StopReply.block(repr([sys.path, sys.argv, sys.prefix, sys.flags.safe_path, os.getcwd()]))
""",
    )
    environ["PYTHONPATH"] = str(plugins)
    payload = json.dumps(sample("Stop")).encode()
    front = front_command.front_words(front_command.Front.PYTHON, str(tmp_path / "none"))
    told = []
    for command in (words, [*front, *words]):
        done = subprocess.run(command, input=payload, env=environ, capture_output=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.replace(b"False", b"True"))
    assert told[0] == told[1]
    assert b"teller" in told[0]


def test_a_lost_call_leaves_nothing_of_its_reply(caller: Caller) -> None:
    """A reply that is written twice is no JSON any more, and a refusal in it would not be read."""

    def lose_late(connection: socket.socket) -> None:
        _hello, descriptors = taken(connection)
        os.write(descriptors[1], b"half of a rep")
        for descriptor in descriptors:
            os.close(descriptor)

    with StandInRouter(caller.folder, lose_late, end_with(b"X\0\1")):
        assert caller.run() == (0, b"the reply")
    with StandInRouter(caller.folder, lose_late, lose_late):
        caller.assert_cold()


@pytest.mark.parametrize("number", [0, 65, 200, 255])
def test_an_end_by_something_that_is_no_signal_is_a_failure(caller: Caller, number: int) -> None:
    with StandInRouter(caller.folder, end_with(b"K" + bytes([number, 1]))):
        assert caller.run() == (1, b"the reply")


def test_a_stdin_that_does_not_block_is_read_to_its_end(caller: Caller) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with StandInRouter(caller.folder, end_with(b"X\0\1")) as router, caller.start(stdin=reading) as process:
        os.close(reading)
        with open(writing, "wb") as pipe:
            pipe.write(b"payload")
        assert process.communicate(timeout=30) == (b"the reply", b"")
    assert router.results[0][1] == b"payload"


def test_a_stdin_that_cannot_be_read_is_the_cold_runs_business(caller: Caller, tmp_path: Path) -> None:
    write_only = os.open(tmp_path / "stdin", os.O_WRONLY | os.O_CREAT)
    with StandInRouter(caller.folder, end_with(b"X\0\1")) as router, caller.start(stdin=write_only) as process:
        _out, errors = process.communicate(timeout=30)
    os.close(write_only)
    assert process.returncode == 1
    assert b"Error" in errors
    assert [type(result) for result in router.results] == [AssertionError]


def test_a_process_that_may_write_no_files_runs_cold_with_its_payload(caller: Caller) -> None:
    import resource

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    with StandInRouter(caller.folder, end_with(b"X\0\1")):
        caller.assert_cold(b"x" * 300_000, preexec_fn=limited)


def test_a_process_that_may_open_nothing_more_runs_cold(caller: Caller) -> None:
    import resource

    def limited() -> None:
        # Enough for the folder and the connection.
        resource.setrlimit(resource.RLIMIT_NOFILE, (5, 64))

    with StandInRouter(caller.folder, end_with(b"X\0\1")):
        with caller.start(preexec_fn=limited) as process:
            process.communicate(b"payload", timeout=30)
        # Whether the cold run itself gets on with so few is not this test's business.
        assert process.returncode != 0
