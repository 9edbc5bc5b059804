"""The outbox, used by several processes, and the deliverers that are started for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.messaging import outbox as outbox_module
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.spawn import push, spawn_delivery
from hookrouter.storage.home import Home
from support.outbox_messages import folder, wake

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def home(hookrouter_home: Path) -> Home:
    return Home.in_folder(str(hookrouter_home))


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def outbox(home: Home, reports: list[str]) -> Outbox:
    return Outbox(home, reports.append)


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still not after {seconds} s: {what}"
        time.sleep(0.01)


PUTTER = """
import os, sys
from hookrouter.messaging.gateway import Message
from hookrouter.storage.home import Home
from hookrouter.messaging.outbox import Outbox
outbox = Outbox(Home.from_environ(os.environ), print)
for number in range(int(sys.argv[1])):
    print(outbox.put(Message("question", "a", "g", "s", "sid", "t", "subject", "text " * 500)).id, flush=True)
"""


def test_processes_that_put_at_once_lose_nothing(outbox: Outbox) -> None:
    command = [sys.executable, "-c", PUTTER, "25"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ids = [line for process in processes for line in process.communicate(timeout=60)[0].split()]

    assert len(ids) == 75
    assert outbox.ids() == sorted(ids)
    assert all(message.text == "text " * 500 for message in outbox.pending())


@pytest.mark.parametrize("messages_first", [1, 5, 11])
def test_kill_9_while_messages_are_put(outbox: Outbox, reports: list[str], messages_first: int) -> None:
    with subprocess.Popen([sys.executable, "-c", PUTTER, "100000"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ids = [process.stdout.readline().strip() for _ in range(messages_first)]
        process.kill()
        ids += process.stdout.read().split()

    kept = outbox.ids()
    assert set(ids) <= set(kept), "a message whose put() had returned is gone"
    assert len(kept) <= len(ids) + 1
    assert len(outbox.pending()) == len(kept)
    assert reports == []
    assert outbox.put(wake()).id in outbox.ids()


def test_the_hot_path_imports_little() -> None:
    script = "import sys; import hookrouter.messaging.outbox; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )

    heavy = {"json", "pathlib", "subprocess", "attrs", "cattrs", "typer", "requests", "backoff", "asyncio", "datetime"}
    heavy |= {"dataclasses", "tempfile", "logging", "shutil", "hashlib", "importlib.metadata"}
    bare = set(
        subprocess.run(
            [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert not (heavy & loaded) - bare


STAND_IN = """
import json, os, sys, time
here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
found = {
    "argv": sys.argv, "pid": os.getpid(), "sid_at_start": os.getsid(0), "environ": dict(os.environ),
    "fds": {str(fd): os.readlink(f"/proc/self/fd/{fd}") for fd in range(64) if os.path.lexists(f"/proc/self/fd/{fd}")},
}
print("on stderr", file=sys.stderr)
with open(os.path.join(here, "started.tmp"), "w") as file:
    json.dump(found, file)
os.rename(os.path.join(here, "started.tmp"), os.path.join(here, "started"))
for _ in range(3000):
    if os.path.exists(os.path.join(here, "finish")):
        break
    time.sleep(0.01)
open(os.path.join(here, "finished"), "w").close()
"""

PARENT = """
import os, sys
from hookrouter.storage.home import Home
from hookrouter.messaging.spawn import spawn_delivery
environ = {**os.environ, "PYTHONPATH": sys.argv[1]}
environ |= {"CLAUDE_CODE_MESSAGING_TOKEN": "t", "CLAUDE_CODE_MESSAGING_SOCKET": "s"}
os.chdir(os.path.dirname(environ["HOOKROUTER_HOME"]))
environ["HOOKROUTER_HOME"] = os.path.basename(environ["HOOKROUTER_HOME"])
spawn_delivery(environ, Home.from_environ(environ))
print("reply")
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A package that stands where the child looks for hookrouter, and says how it was started."""
    package = tmp_path / "path" / "hookrouter"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STAND_IN)
    return package.parent


def test_the_deliverer_outlives_the_hook_and_holds_none_of_its_pipes(stand_in: Path, hookrouter_home: Path) -> None:
    reading, writing = os.pipe()
    parent = subprocess.run(
        [sys.executable, "-c", PARENT, str(stand_in)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        pass_fds=[writing],
    )
    # subprocess.run returned, so both pipes were closed: the child, which waits for us, does not hold them.
    os.close(writing)
    assert os.read(reading, 1) == b"", "the child holds a descriptor that the hook itself had inherited"
    os.close(reading)
    assert (parent.returncode, parent.stdout, parent.stderr) == (0, "reply\n", "")
    assert not (stand_in / "finished").exists()

    wait_for((stand_in / "started").exists, "the deliverer runs")
    found = json.loads((stand_in / "started").read_text())
    assert found["argv"][1:] == ["deliver", "--detach"]
    assert found["sid_at_start"] == found["pid"], "it must lead a session of its own"
    assert found["environ"]["HOOKROUTER_HOME"] == str(hookrouter_home)
    assert not [name for name in found["environ"] if name.startswith("CLAUDE_CODE_MESSAGING")]
    log = hookrouter_home / "logs" / "delivery.log"
    assert found["fds"].items() >= {"0": os.devnull, "1": os.devnull, "2": str(log)}.items()
    assert set(found["fds"]) == {"0", "1", "2"}

    (stand_in / "finish").touch()
    wait_for((stand_in / "finished").exists, "the deliverer finished its work after the hook was gone")
    assert log.read_text() == "on stderr\n"
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700


def test_an_interpreter_without_setsid_still_starts_a_deliverer(
    stand_in: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.posix_spawn

    def old(*arguments: Any, **options: Any) -> int:
        if "setsid" in options:
            raise NotImplementedError
        return real(*arguments, **options)

    monkeypatch.setattr(os, "posix_spawn", old)
    (stand_in / "finish").touch()
    pid = spawn_delivery({**os.environ, "PYTHONPATH": str(stand_in)}, home)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert json.loads((stand_in / "started").read_text())["argv"][1:] == ["deliver", "--detach"]


def test_delivery_does_not_need_its_log(stand_in: Path, home: Home) -> None:
    Path(home.logs).write_text("a file where the folder should be")
    (stand_in / "finish").touch()

    pid = spawn_delivery({**os.environ, "PYTHONPATH": str(stand_in)}, home)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_deliverer_that_cannot_be_started_is_an_os_error(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        spawn_delivery({}, home)
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(OSError, match="interpreter"):
        spawn_delivery({}, home)


def test_the_deliverer_leaves_the_session_that_started_it(hookrouter_home: Path) -> None:
    assert hookrouter_home.is_dir()
    script = (
        "import os; from hookrouter.cli.deliver_process import main; code = main(['--detach']);"
        "print(code, os.getsid(0) == os.getpid(), os.getcwd())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)

    assert (done.stdout, done.stderr) == ("0 True /\n", "")


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The deliverers that were started: none really is."""
    started: list[list[str]] = []

    def spawn(_path: str, argv: list[str], _environ: object, **_options: object) -> int:
        started.append(argv)
        return 1

    monkeypatch.setattr(os, "posix_spawn", spawn)
    return started


def test_a_push_starts_a_deliverer_for_what_waits(outbox: Outbox, home: Home, spawned: list[list[str]]) -> None:
    assert not push({}, home)
    outbox.put(wake())

    assert push({}, home)

    assert [argv[-2:] for argv in spawned] == [["deliver", "--detach"]]


def test_a_deliverer_that_a_hook_just_started_is_not_doubled_by_a_push(
    outbox: Outbox, home: Home, spawned: list[list[str]]
) -> None:
    outbox.put(wake())
    spawn_delivery({}, home)
    assert not push({}, home)
    assert len(spawned) == 1


def test_a_push_that_cannot_start_a_deliverer_says_nothing(
    outbox: Outbox, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert not push({}, home)


FILLER = """
import os, resource, sys
from hookrouter.messaging.gateway import Message
from hookrouter.storage.home import Home
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.documents import StoreError
outbox = Outbox(Home.from_environ(os.environ), print)
wake = Message("question", "a", "g", "s", "sid", "t", "subject", "text " * 500)
first = outbox.put(wake)
# A file can grow no further, as on a disk that is full: the first bytes are written, the others are not.
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for act in (lambda: outbox.put(wake), lambda: outbox.tries.begin(first.id)):
    try:
        act()
    except StoreError as error:
        print(error)
outbox.remove(first.id) if sys.argv[1:] else None
"""


@pytest.mark.parametrize("arguments", [[], ["remove"]])
def test_a_full_disk_leaves_nothing_half_written(outbox: Outbox, arguments: list[str]) -> None:
    script = [sys.executable, "-c", FILLER, *arguments]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60)

    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"cannot write {folder()}/wake-") for line in lines)
    assert [message.attempts for message in outbox.pending()] == ([] if arguments else [0])
    assert [path.name for path in Path(folder()).glob(".*")] == []


def test_no_deliverer_is_started_while_one_is_at_work(outbox: Outbox, home: Home, spawned: list[list[str]]) -> None:
    outbox.put(wake())
    with outbox.locks.delivering():
        assert spawn_delivery({}, home) == 0
    assert spawn_delivery({}, home) == 1
    assert len(spawned) == 1


def test_ids_of_processes_forked_from_one_at_the_same_moment_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    outbox_module._new_id()
    # The clock shows them all the same time.
    monkeypatch.setattr(outbox_module.time, "time_ns", lambda: 1_800_000_000_000_000_000)
    read, write = os.pipe()
    children = []
    for _ in range(30):
        child = os.fork()
        if child == 0:
            os.write(write, "".join(f"{outbox_module._new_id()[1]}\n" for _ in range(3)).encode())
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(write)
    with open(read, encoding="ascii") as file:
        ids = file.read().split()
    assert len(set(ids)) == len(ids) == 90
