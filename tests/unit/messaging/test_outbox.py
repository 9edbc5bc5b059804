"""What the outbox promises: durable before put() returns, in order, nothing lost; and a deliverer on its own feet."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.messaging import outbox as outbox_module
from hookrouter.messaging.gateway import Message, ScheduledMessage
from hookrouter.messaging.message import encode
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.spawn import deliverer_environment, push, spawn_delivery
from hookrouter.storage import logs
from hookrouter.storage.documents import StoreBusy, StoreError
from hookrouter.storage.home import Home
from hookrouter.storage.logs import prepare_log
from hookrouter.util.clock import iso, seconds

if TYPE_CHECKING:
    from collections.abc import Callable


def wake(session: str = "s", text: str = "hello", **fields: str) -> Message:
    values = {"kind": "question", "agent": "main", "gateway": "g", "session_id": "sid", "tool_use_id": "toolu_1"}
    return Message(**{**values, "session": session, "subject": "a question", "text": text, **fields})


@pytest.fixture
def home(hookrouter_home: Path) -> Home:
    return Home.in_folder(str(hookrouter_home))


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def outbox(home: Home, reports: list[str]) -> Outbox:
    return Outbox(home, reports.append)


def folder() -> str:
    """Return the folder of the messages in the test's home."""
    return os.path.join(os.environ["HOOKROUTER_HOME"], "state", "outbox")


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still not after {seconds} s: {what}"
        time.sleep(0.01)


def test_put_keeps_the_whole_message_privately(outbox: Outbox) -> None:
    kept = outbox.put(wake(text="Which?\n> quoted ✓"))

    [file] = [path for path in Path(folder()).iterdir() if path.is_file()]
    assert kept.id
    assert kept.created_at.endswith("Z")
    assert kept.id in file.name
    assert file.stat().st_mode & 0o777 == 0o600
    assert Path(folder()).stat().st_mode & 0o777 == 0o700
    document = json.loads(file.read_text())
    assert document["version"] == 1
    [message] = outbox.pending()
    assert {**document, "then": [], "fallbacks": []} == encode(message)
    assert (message.attempts, message.last_error, message.given_up) == (0, None, None)
    assert outbox.get(kept.id) == message
    assert message.for_gateway(message.gateway) == kept


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(), session=st.text(), subject=st.text(st.characters(codec=None), max_size=5))
def test_any_text_survives_the_outbox(outbox: Outbox, text: str, session: str, subject: str) -> None:
    kept = outbox.put(wake(session, text, subject=subject))

    message = outbox.get(kept.id)
    assert message is not None
    assert message.for_gateway(message.gateway) == kept
    assert outbox.remove(kept.id)


def test_messages_are_listed_in_order_of_creation(outbox: Outbox) -> None:
    ids = [outbox.put(wake(text=str(number))).id for number in range(30)]

    assert outbox.ids() == ids
    assert [message.text for message in outbox.pending()] == [str(number) for number in range(30)]
    assert outbox.count() == 30


def test_order_and_ids_hold_when_the_clock_is_set_back(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([5_000_000_000_000_000_000, 5_000_000_000_000_000_000, 4_000_000_000_000_000_000])
    monkeypatch.setattr(outbox_module, "_last_id", (0, 0))
    monkeypatch.setattr(time, "time_ns", lambda: next(times))

    ids = [outbox.put(wake()).id for _ in range(3)]

    assert outbox.ids() == ids
    assert len(set(ids)) == 3


def test_put_does_not_look_at_the_waiting_messages(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox.put(wake())

    def refuse(*_arguments: object) -> Any:
        raise AssertionError("put() lists the folder, so it gets slower with every waiting message")

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    outbox.put(wake())
    monkeypatch.undo()

    assert outbox.count() == 2


def test_an_empty_outbox_needs_no_folder(outbox: Outbox) -> None:
    assert (outbox.pending(), outbox.ids(), outbox.count(), outbox.get("x")) == ([], [], 0, None)
    assert not Path(folder()).exists()


def test_put_says_why_it_cannot_write(outbox: Outbox, home: Home) -> None:
    Path(home.state).write_text("a file where the folder should be")

    with pytest.raises(StoreError, match="cannot write"):
        outbox.put(wake())


def test_an_attempt_is_counted_before_it_is_made_and_a_failure_kept(outbox: Outbox) -> None:
    name = outbox.put(wake()).id

    begun = outbox.tries.begin(name)
    assert begun is not None
    assert begun.attempts == 1
    assert begun.last_attempt_at is not None
    assert "interrupted" in begun.last_error

    outbox.tries.failed(name, "connection refused", next_attempt_at="2999-01-01T00:00:00.000Z")
    message = outbox.get(name)
    assert message is not None
    assert (message.attempts, message.last_error) == (1, "connection refused")
    assert message.next_attempt_at == "2999-01-01T00:00:00.000Z"

    outbox.tries.failed(name, "wrong token", given_up="abc")
    message = outbox.get(name)
    assert message is not None
    assert message.given_up is not None
    assert (message.given_up.reason, message.given_up.settings) == ("wrong token", "abc")


def test_a_dropped_message_does_not_come_back(outbox: Outbox) -> None:
    name = outbox.put(wake()).id

    assert outbox.remove(name)
    assert not outbox.remove(name)
    assert outbox.tries.begin(name) is None
    outbox.tries.failed(name, "too late")
    assert outbox.count() == 0


def test_a_corrupt_document_is_set_aside_and_the_others_stay(outbox: Outbox, reports: list[str]) -> None:
    names = [outbox.put(wake()).id for _ in range(3)]
    Path(folder(), f"wake-{names[1]}.json").write_text("{broken")

    assert [message.id for message in outbox.pending()] == [names[0], names[2]]
    assert len(reports) == 1
    assert names[1] in reports[0]


def test_a_document_edited_by_hand_is_completed(outbox: Outbox) -> None:
    name = outbox.put(wake()).id
    path = Path(folder(), f"wake-{name}.json")
    path.write_text(json.dumps({"id": "other", "text": 5, "attempts": "many", "given_up": "yes", "last_error": 1}))

    message = outbox.get(name)
    assert message is not None
    assert (message.id, message.attempts, message.given_up, message.last_error) == (name, 0, None, None)
    assert message.fault == "'kind' of the message is None, not a text"


def test_one_deliverer_at_a_time(outbox: Outbox, home: Home) -> None:
    with outbox.locks.delivering(), pytest.raises(StoreBusy), Outbox(home, print).locks.delivering():
        pass
    with outbox.locks.delivering():
        pass


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


def test_a_grown_log_is_set_aside(home: Home) -> None:
    log = Path(prepare_log(home, "x.log"))
    log.write_bytes(b"o" * logs.LOG_BYTES)

    assert prepare_log(home, "x.log") == str(log)

    assert not log.exists()
    assert Path(home.logs, "x.log.1").stat().st_size == logs.LOG_BYTES


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


def test_what_a_deliverer_starts_is_not_the_person_who_asked_from_another_machine(home: Home) -> None:
    asked = {"HOOKROUTER_ERRAND": "HOOKROUTER_PERSON HOOKROUTER_THIS_MACHINE", "HOOKROUTER_THIS_MACHINE": "1"}
    environ = {**asked, "HOOKROUTER_PERSON": "ann", "TRACEPARENT": "a trace", "PATH": "/bin"}
    assert deliverer_environment(environ, home) == {"TRACEPARENT": "a trace", "PATH": "/bin"}


def let_pass(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: now)


def test_a_push_starts_a_deliverer_for_what_waits(outbox: Outbox, home: Home, spawned: list[list[str]]) -> None:
    assert not push({}, home)
    outbox.put(wake())

    assert push({}, home)

    assert [argv[-2:] for argv in spawned] == [["deliver", "--detach"]]


def test_a_push_for_an_empty_outbox_looks_at_one_folder(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.remove(outbox.put(wake()).id)
    with monkeypatch.context() as patch:
        for name in ("stat", "open", "utime", "listdir"):
            patch.setattr(os, name, lambda *_arguments, **_options: pytest.fail("more than one look"))
        assert not push({}, home)
    assert spawned == []


def test_pushes_come_at_intervals(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())
    assert [push({}, home) for _ in range(5)] == [True, False, False, False, False]
    let_pass(monkeypatch, 25)
    assert not push({}, home)
    let_pass(monkeypatch, 10)
    assert push({}, home)
    assert not push({}, home)


def test_a_deliverer_that_a_hook_just_started_is_not_doubled_by_a_push(
    outbox: Outbox, home: Home, spawned: list[list[str]]
) -> None:
    outbox.put(wake())
    spawn_delivery({}, home)
    assert not push({}, home)
    assert len(spawned) == 1


def test_a_push_waits_as_long_as_the_deliverer_said(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())
    outbox.postpone(300)
    let_pass(monkeypatch, 290)
    assert not push({}, home)
    let_pass(monkeypatch, 20)
    assert push({}, home)


def test_a_clock_set_back_does_not_stop_pushes(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())
    outbox.postpone(30)
    let_pass(monkeypatch, -1e6)
    assert push({}, home)


def test_a_changed_config_makes_a_push_due(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(home.config_file).write_text("")
    outbox.put(wake())
    outbox.postpone(30)
    assert not push({}, home)
    later = time.time() + 5
    os.utime(home.config_file, (later, later))
    let_pass(monkeypatch, 5)
    assert push({}, home)


def test_no_push_while_a_deliverer_works(outbox: Outbox, home: Home, spawned: list[list[str]]) -> None:
    outbox.put(wake())
    with outbox.locks.delivering():
        assert not push({}, home)
    assert push({}, home)


def test_the_lock_of_a_killed_deliverer_does_not_stop_pushes(
    outbox: Outbox, home: Home, spawned: list[list[str]]
) -> None:
    outbox.put(wake())
    locks = Path(folder(), "locks")
    locks.mkdir()
    (locks / "outbox-delivery.lock").write_text("process 1")
    assert push({}, home)


def test_a_push_that_cannot_be_noted_is_not_made(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hookrouter.storage.documents.replace_file", full)
    assert not push({}, home)
    assert spawned == []


def test_a_push_that_cannot_start_a_deliverer_says_nothing(
    outbox: Outbox, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert not push({}, home)


def test_a_message_can_be_removed_where_no_lock_can_be_made(outbox: Outbox) -> None:
    name = outbox.put(wake()).id
    Path(folder(), "locks").write_text("a file where the folder should be")
    assert outbox.remove(name)
    assert outbox.count() == 0


def test_the_state_folder_is_closed_before_the_first_message(outbox: Outbox, home: Home) -> None:
    Path(home.state).mkdir()
    Path(home.state).chmod(0o777)
    outbox.put(wake())
    assert Path(home.state).stat().st_mode & 0o777 == 0o700


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


def test_what_follows_a_message_is_in_its_own_document_first(outbox: Outbox) -> None:
    then = [
        ScheduledMessage(wake(text="later"), 60),
        ScheduledMessage(wake(text="person", gateway="p"), 90, after_delivery=False),
    ]
    name = outbox.put(wake(), then=then, while_open={"kind": "question", "names": ["s"], "fields": {}}).id
    assert outbox.count() == 1

    message = outbox.get(name)
    assert message is not None
    for _ in range(2):
        # Doing it again, as after a kill, changes nothing.
        left = outbox.tries.unfold(message)
    assert left is not None
    [first, person] = outbox.pending()
    assert (first.id, [entry["text"] for entry in first.then]) == (name, ["later"])
    assert (person.text, person.gateway) == ("person", "p")
    assert person.not_before == iso(seconds(first.created_at) + 90)  # type: ignore[operator]

    outbox.tries.delivered(left)
    assert [message.text for message in outbox.pending()] == ["later", "person"]
    assert all(message.for_gateway(message.gateway).kind == "question" for message in outbox.pending())


@pytest.mark.parametrize("fields", [{"then": 5}, {"then": [5]}, {"while_open": {"kind": 1}}, {"refused": []}])
def test_fields_that_make_no_sense_are_left_out(outbox: Outbox, fields: dict[str, Any]) -> None:
    name = outbox.put(wake()).id
    path = Path(folder(), f"wake-{name}.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields, "tried_for": "long", "fallbacks": [1, "b"]}))

    message = outbox.get(name)
    assert message is not None
    assert (message.then, message.while_open, message.refused) == ((), None, {})
    assert (message.tried_for, message.fallbacks) == (0.0, ("b",))


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
