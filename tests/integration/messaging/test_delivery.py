"""Deliverers and their workers as processes: those that stay, meet, hang or are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.waiting import wait_until
from hookrouter.cli.deliver_process import main
from hookrouter.messaging import pauses
from hookrouter.messaging.delivery.workers import Processes
from hookrouter.messaging.gateway import Message
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.retry import RetryPolicy
from hookrouter.messaging.spawn import spawn_delivery
from hookrouter.storage.documents import Store, StoreBusy
from hookrouter.storage.home import Home
from hookrouter.util.clock import iso, now
from support.delivery_bench import FAILED, SENT, Bench

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def bench(hookrouter_home: Path) -> Bench:
    return Bench(Home.in_folder(str(hookrouter_home)))


def test_a_deliverer_that_stays_delivers_at_once_when_a_pause_ends(
    bench: Bench,
) -> None:
    state = Store(bench.home.state, print)
    pauses.begin(state, "s")
    bench.put("held")
    # Something that is due much later keeps the deliverer.
    failing = bench.put("failing", session="other")
    bench.gateway.answer = lambda wake: FAILED if wake.session == "other" else SENT
    messages, again = bench.outbox.watches()
    with messages, again:
        deliverer = bench.deliverer(
            workers=Processes(bench.outbox, (messages, again)),
            retry=RetryPolicy(lambda _: 3600.0),
            is_stale=lambda: False,
        )
        thread = threading.Thread(target=deliverer.stay, daemon=True)
        thread.start()
        wait_until(lambda: bench.message(failing).failures == 1, 10, "first attempt")
        assert bench.outbox.count() == 2
        pauses.end(state, "s")
        bench.outbox.look_again()
        wait_until(lambda: bench.outbox.count() == 1, 10, "delivery")
        bench.outbox.remove(failing.id)
        thread.join(10)
    assert not thread.is_alive()


SLOW = """
import os, sys, time
folder, text = os.environ["SCRATCH"], sys.stdin.read()
with open(os.path.join(folder, "calls"), "a") as file:
    file.write(os.environ["HOOKROUTER_WAKE_ID"] + "\\n")
while os.path.exists(os.path.join(folder, "slow")):
    time.sleep(0.01)
with open(os.path.join(folder, "texts"), "a") as file:
    file.write(text + "\\n")
"""


class RealProcess:
    """Real deliverers over a command gateway whose program blocks as long as the file ``slow`` exists."""

    def __init__(self, bench: Bench, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.outbox = bench.outbox
        self.journal = bench.journal
        monkeypatch.setenv("SCRATCH", str(folder))
        program = folder / "program.py"
        program.write_text(SLOW)
        argv = json.dumps([sys.executable, str(program)])
        Path(bench.home.config_file).write_text(f'[gateways.g]\ntype = "command"\nargv = {argv}\n')

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-m", "hookrouter", "deliver"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def wait_for_calls(self, count: int) -> None:
        deadline = time.monotonic() + 20
        while len(self.lines("calls")) < count:
            assert time.monotonic() < deadline, (
                f"{self.lines('calls')} after 20 s, {count} calls expected; {self.outbox.pending()}; "
                f"{self.journal.records(None)}"
            )
            time.sleep(0.01)


@pytest.fixture
def real(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealProcess]:
    yield RealProcess(bench, tmp_path, monkeypatch)
    # Programs whose deliverer was killed end by themselves then.
    (tmp_path / "slow").unlink(missing_ok=True)


def finish(process: subprocess.Popen[str], said: str = "") -> None:
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (0, "")
    assert said in stderr
    assert bool(said) == bool(stderr), stderr


def worker_of(process: subprocess.Popen[str]) -> int:
    [pid] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(pid)


def test_kill_9_of_all_that_delivers_loses_nothing(bench: Bench, real: RealProcess) -> None:
    (real.folder / "slow").touch()
    wakes = [bench.put("one"), bench.put("two")]
    with real.start() as process:
        real.wait_for_calls(1)
        os.kill(worker_of(process), signal.SIGKILL)
        os.kill(process.pid, signal.SIGKILL)
    assert bench.outbox.ids() == [wake.id for wake in wakes]
    assert "interrupted" in bench.message(wakes[0]).last_error

    (real.folder / "slow").unlink()
    with real.start() as process:
        finish(process)

    assert bench.outbox.count() == 0
    assert real.lines("calls") == [wakes[0].id, wakes[0].id, wakes[1].id], "the same id, so that the agent can tell"


def test_kill_9_of_the_deliverer_does_not_make_its_worker_and_the_next_one_send_twice(
    bench: Bench, real: RealProcess
) -> None:
    (real.folder / "slow").touch()
    wakes = [bench.put("one"), bench.put("two")]
    with real.start() as process:
        real.wait_for_calls(1)
        os.kill(process.pid, signal.SIGKILL)
    with real.start() as process:
        finish(process)
    assert len(real.lines("calls")) == 1
    assert bench.outbox.count() == 2

    (real.folder / "slow").unlink()
    wait_until(lambda: bench.outbox.count() == 0, 20, "empty outbox: the worker that was left delivers the rest")
    assert real.lines("calls") == [wake.id for wake in wakes]


def test_kill_9_of_a_worker_is_a_failed_attempt(bench: Bench, real: RealProcess) -> None:
    (real.folder / "slow").touch()
    wake = bench.put("one")
    with real.start() as process:
        real.wait_for_calls(1)
        os.kill(worker_of(process), signal.SIGKILL)
        finish(process)

    message = bench.message(wake)
    assert (message.attempts, message.failures) == (1, 1)
    assert message.next_attempt_at > message.last_attempt_at, "a message that kills its worker waits as others do"
    assert "interrupted" in message.last_error


def test_of_two_deliverers_one_leaves_at_once_and_nothing_is_sent_twice(bench: Bench, real: RealProcess) -> None:
    (real.folder / "slow").touch()
    bench.put("one")
    with real.start() as first:
        real.wait_for_calls(1)
        late = bench.put("two")
        with real.start() as second:
            finish(second, "another deliverer is at work, so this one delivered nothing")
        assert len(real.lines("calls")) == 1
        (real.folder / "slow").unlink()
        finish(first)

    assert real.lines("texts") == ["one", "two"]
    assert real.lines("calls")[1] == late.id
    assert bench.outbox.count() == 0


STUCK = """
import sys, time
from hookrouter import hookimpl
from hookrouter.messaging.gateway import Gateway, SendResult

class Stuck(Gateway):
    type = "stuck"

    def check(self, settings):
        return []

    def deliver(self, wake, settings):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass

@hookimpl
def gateway():
    return Stuck()
"""

RUN_STUCK = """
import sys
from hookrouter.cli.deliver_process import main
from hookrouter.messaging.delivery import attempt
attempt.ATTEMPT_SECONDS, attempt.GRACE_SECONDS = 0.2, 0.2
from hookrouter.cli import deliver_process
import stuck
real = deliver_process.gateways
deliver_process.gateways = lambda plugins: {**real(plugins), "stuck": stuck.gateway()}
sys.exit(main([]))
"""


def test_a_gateway_that_cannot_be_stopped_does_not_hold_the_lock_for_ever(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    Path(bench.home.config_file).write_text('[gateways.g]\ntype = "stuck"\n[gateways.h]\ntype = "inbox"\n')
    stuck = bench.put("stuck")
    bench.put("fine", gateway="h")
    command = [sys.executable, "-c", RUN_STUCK]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ)

    assert done.returncode == 0
    assert "Timeout" in done.stderr, "where it hung"
    assert bench.outbox.ids() == [stuck.id]
    assert bench.message(stuck).failures == 1
    with bench.outbox.locks.delivering():
        pass


def test_plugins_that_cannot_be_asked_keep_the_messages(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, real: RealProcess
) -> None:
    def exits(_plugins: object) -> None:
        sys.exit(3)

    monkeypatch.setattr("hookrouter.cli.deliver_process.gateways", exits)
    monkeypatch.chdir("/")
    wake = bench.put("hello")

    assert main([]) == 0

    assert "no active plugin provides a gateway 'command'" in bench.message(wake).last_error
    assert "SystemExit: 3" in json.dumps(bench.journal.records(None))


FLAKY = """
import os, sys
folder, text = os.environ["SCRATCH"], sys.stdin.read()
with open(os.path.join(folder, "calls"), "a") as file:
    file.write(text + "\\n")
sys.exit(1 if os.path.exists(os.path.join(folder, "down")) else 0)
"""


class Staying(RealProcess):
    """Detached deliverers, which stay as long as there is something to try."""

    def __init__(self, bench: Bench, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(bench, folder, monkeypatch)
        (folder / "program.py").write_text(FLAKY)

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-m", "hookrouter", "deliver", "--detach"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def staying(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Staying:
    return Staying(bench, tmp_path, monkeypatch)


def test_the_deliverer_stays_until_a_failing_gateway_is_back(bench: Bench, staying: Staying) -> None:
    (staying.folder / "down").touch()
    bench.put("hello")
    with staying.start() as process:
        staying.wait_for_calls(2)
        assert process.poll() is None
        (staying.folder / "down").unlink()
        finish(process)
    assert bench.outbox.count() == 0


def test_a_deliverer_that_stays_delivers_what_is_put_in_without_a_new_process(bench: Bench, staying: Staying) -> None:
    (staying.folder / "down").touch()
    bench.put("stuck")
    bench.outbox.put(Message("question", "a", "inbox", "t", "sid", "toolu_1", "subject", "fine"))
    with staying.start() as process:
        staying.wait_for_calls(1)
        late = bench.outbox.put(Message("question", "a", "inbox", "u", "sid", "toolu_1", "subject", "late"))
        assert spawn_delivery(os.environ, bench.home) == 0, "one is at work"
        wait_until(lambda: late.id not in bench.outbox.ids(), 20, "the late message's delivery")
        (staying.folder / "down").unlink()
        finish(process)


def test_kill_9_of_a_deliverer_that_stays_and_the_next_one_goes_on(bench: Bench, staying: Staying) -> None:
    (staying.folder / "down").touch()
    wake = bench.put("hello")
    with staying.start() as process:
        staying.wait_for_calls(2)
        os.kill(process.pid, signal.SIGKILL)
    assert bench.message(wake).failures >= 1
    (staying.folder / "down").unlink()
    with staying.start() as process:
        finish(process)
    assert bench.outbox.count() == 0


def test_a_retry_by_a_person_reaches_the_deliverer_that_stays(bench: Bench, staying: Staying) -> None:
    (staying.folder / "down").touch()
    wake = bench.put("hello")
    bench.outbox.tries.begin(wake.id)
    bench.outbox.tries.failed(wake.id, "connection refused", next_attempt_at=iso(now() + 500))
    with staying.start() as process:
        wait_until(lambda: process.poll() is None and is_held(bench.outbox), 20, "deliverer at work")
        (staying.folder / "down").unlink()
        assert main([]) == 0
        finish(process)
    assert staying.lines("calls") == ["hello"]


def is_held(outbox: Outbox) -> bool:
    try:
        with outbox.locks.delivering():
            return False
    except StoreBusy:
        return True


def test_a_changed_config_reaches_the_deliverer_that_stays(
    bench: Bench, staying: Staying, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(bench.home.config_file).write_text("")
    bench.put("hello")
    script = (
        "import sys; from hookrouter.cli.deliver_process import main; "
        "from hookrouter.messaging.delivery import deliverer; deliverer.LOOK_SECONDS = 0.2; "
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "--detach"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: [m for m in bench.outbox.pending() if m.last_error], 20, "a failed attempt")
        Path(bench.home.config_file).write_text('[gateways.g]\ntype = "inbox"\n')
        finish(process)
    wait_until(lambda: bench.outbox.count() == 0, 30, "delivery by the deliverer that took its place")


def test_one_frozen_gateway_holds_up_nobody_else(bench: Bench, real: RealProcess) -> None:
    (real.folder / "slow").touch()
    with open(bench.home.config_file, "a") as file:
        file.write('[gateways.h]\ntype = "inbox"\n')
    frozen = [bench.put(f"frozen {number}", session=str(number)) for number in range(6)]
    fine = [bench.put("fine", session=str(number), gateway="h") for number in range(20)]
    with real.start() as process:
        wait_until(lambda: not {one.id for one in fine} & set(bench.outbox.ids()), 30, "delivery by the other gateway")
        assert {wake.id for wake in frozen} == set(bench.outbox.ids())
        real.wait_for_calls(4)
        (real.folder / "slow").unlink()
        finish(process)
    assert bench.outbox.count() == 0


@pytest.mark.parametrize("whole_group", [False, True])
def test_kill_9_again_and_again(bench: Bench, tmp_path: Path, whole_group: bool) -> None:
    """Nothing is lost, sessions stay in order, and only the message of a worker that was killed comes twice."""
    calls = tmp_path / "calls"
    argv = ["/bin/sh", "-c", f'echo "$HOOKROUTER_WAKE_ID $HOOKROUTER_WAKE_SESSION" >> {calls}']
    Path(bench.home.config_file).write_text(f'[gateways.g]\ntype = "command"\nargv = {json.dumps(argv)}\n')
    wakes = [bench.put(str(number), session=str(number % 5)) for number in range(20)]
    command = [sys.executable, "-P", "-m", "hookrouter", "deliver", "--detach"]
    kills = 0

    def count() -> int:
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    for turn in range(100):
        goal = count() + turn % 4
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
            # It may end before that, where a worker that was left is at a session's messages.
            wait_until(lambda: count() >= goal or process.poll() is not None, 30, f"{goal} calls")  # noqa: B023
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL) if whole_group else process.kill()
                kills += 1
        if not bench.outbox.count():
            break
    wait_until(lambda: not bench.outbox.count(), 30, "empty outbox")
    assert bench.outbox.count() == 0
    assert kills

    seen = [line.split() for line in calls.read_text().splitlines()]
    assert {name for name, _session in seen} == {wake.id for wake in wakes}
    assert len(seen) <= len(wakes) + (kills * 5 if whole_group else 0)
    for session in "01234":
        order = list(dict.fromkeys(name for name, of in seen if of == session))
        assert order == sorted(order)
