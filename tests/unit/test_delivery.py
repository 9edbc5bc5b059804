"""Delivery: tries, order, faults of gateways, and deliverers that meet, die or overlap."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.answering import Wake, Woken
from hookrouter.application import Application
from hookrouter.clock import iso, now
from hookrouter.config import Config
from hookrouter.delivery import BLOCKING_ATTEMPTS, Deliverer, deliver_all, main, waits
from hookrouter.home import Home
from hookrouter.journal import Journal
from hookrouter.outbox import Outbox
from hookrouter.store import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SENT = Woken(delivered=True, reason="taken")
FAILED = Woken(delivered=False, reason="connection refused")
REFUSED = Woken(delivered=False, reason="wrong token", retry=False)


class Recorder:
    """A gateway that notes what it is asked to deliver and answers as told."""

    type = "recorder"

    def __init__(self, answer: Callable[[Wake], object] = lambda _wake: SENT) -> None:
        self.answer = answer
        self.seen: list[Wake] = []
        self.problems: list[str] = []

    def check(self, settings: Mapping[str, object]) -> list[str]:
        return self.problems

    def deliver(self, wake: Wake, settings: Mapping[str, object]) -> Any:
        self.seen.append(wake)
        return self.answer(wake)

    def texts(self) -> list[str]:
        return [wake.text for wake in self.seen]


class Bench:
    """An outbox with a deliverer over recorder gateways, in one home."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.outbox = Outbox(home, print)
        self.journal = Journal(home.logs)
        self.gateway = Recorder()
        self.tables: dict[str, Mapping[str, object]] = {"g": {"type": "recorder"}, "h": {"type": "recorder"}}
        self.problems: tuple[str, ...] = ()
        self.first_wait = 0.0
        self.attempt_seconds = 900.0

    def put(self, text: str, session: str = "s", gateway: str = "g") -> Wake:
        return self.outbox.put(Wake("question", "a", gateway, session, "sid", "toolu_1", "subject", text))

    def deliverer(self) -> Deliverer:
        config = Config(gateways=self.tables, problems=self.problems)
        gateways = {"recorder": self.gateway}
        return Deliverer(self.outbox, config, gateways, self.journal, self.first_wait, self.attempt_seconds)

    def run(self) -> bool:
        return deliver_all(self.outbox, self.deliverer().deliver_due)

    def message(self, wake: Wake) -> dict[str, Any]:
        message = self.outbox.get(wake.id)
        assert message is not None, f"{wake.text!r} is gone from the outbox"
        return message

    def records(self, session_id: str | None = "sid") -> list[tuple[object, object, object]]:
        return [(record["level"], record["outcome"], record["reason"]) for record in self.journal.records(session_id)]


@pytest.fixture
def bench(hookrouter_home: Path) -> Bench:
    return Bench(Home.in_folder(str(hookrouter_home)))


def test_a_delivered_message_is_removed_and_journalled(bench: Bench) -> None:
    wake = bench.put("hello")

    assert bench.run()

    assert bench.gateway.seen == [wake]
    assert bench.outbox.count() == 0
    [record] = bench.journal.records("sid")
    assert record["level"] == "info"
    assert record["event"] == "delivery"
    assert record["outcome"] == "delivered"
    assert record["wake"] == wake.id
    assert record["gateway"] == "g"
    assert record["tool_use_id"] == "toolu_1"


def test_three_tries_then_kept_then_one_try_in_each_later_run(bench: Bench) -> None:
    bench.gateway.answer = lambda _wake: FAILED
    wake = bench.put("hello")

    bench.run()
    assert len(bench.gateway.seen) == 3
    assert {seen.id for seen in bench.gateway.seen} == {wake.id}
    assert bench.message(wake)["last_error"] == "connection refused"
    assert bench.message(wake)["attempts"] == 3
    assert bench.records() == [("warning", "kept", "connection refused")]

    bench.run()
    assert len(bench.gateway.seen) == 4

    bench.gateway.answer = lambda _wake: SENT
    bench.run()
    assert bench.outbox.count() == 0
    assert bench.gateway.seen[-1].id == wake.id


def test_the_second_try_can_succeed(bench: Bench) -> None:
    answers = iter([FAILED, SENT])
    bench.gateway.answer = lambda _wake: next(answers)
    bench.put("hello")

    bench.run()

    assert bench.outbox.count() == 0
    assert bench.records() == [("info", "delivered", "taken")]


def test_the_tries_are_2_and_4_seconds_apart(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    bench.gateway.answer = lambda _wake: FAILED
    bench.put("hello")

    deliverer = Deliverer(bench.outbox, Config(gateways=bench.tables), {"recorder": bench.gateway}, bench.journal)
    deliver_all(bench.outbox, deliverer.deliver_due)

    assert slept == [2.0, 4.0]


def test_waits_double_and_heed_the_other_side() -> None:
    generator = waits(2.0)
    next(generator)
    answers = [FAILED, FAILED._replace(retry_after=1.0), FAILED._replace(retry_after=20.0), FAILED]

    assert [generator.send(answer) for answer in answers] == [2.0, 4.0, 20.0, 16.0]


def raising(error: BaseException) -> Callable[[Wake], object]:
    def answer(_wake: Wake) -> object:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (raising(ConnectionError("refused")), "ConnectionError: refused"),
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt: "),
        (raising(GeneratorExit("odd")), "GeneratorExit: odd"),
    ],
)
def test_a_gateway_that_misbehaves_has_failed_a_try(
    bench: Bench, answer: Callable[[Wake], object], reason: str
) -> None:
    bench.gateway.answer = answer
    wake = bench.put("hello")

    bench.run()

    assert len(bench.gateway.seen) == 3
    assert bench.message(wake)["last_error"] == reason


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Woken(delivered=True, reason=None), "a Woken whose reason is None"),  # type: ignore[arg-type]
        (Woken(delivered="yes", reason=""), "a Woken whose delivered is 'yes'"),  # type: ignore[arg-type]
        (FAILED._replace(retry_after="1"), "a Woken whose retry_after is '1'"),  # type: ignore[arg-type]
        (True, "True, not a Woken"),
        (None, "None, not a Woken"),
        ((True, "looks like one"), "(True, 'looks like one'), not a Woken"),
    ],
)
def test_a_gateway_that_returns_the_wrong_thing_is_called_once_until_its_plugin_changes(
    bench: Bench, answer: object, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = ModuleType("pigeon")
    plugin.__file__ = str(tmp_path / "pigeon.py")
    monkeypatch.setitem(sys.modules, "pigeon", plugin)
    bench.gateway = type("Loft", (Recorder,), {"__module__": "pigeon"})(lambda _wake: answer)
    wake = bench.put("hello")

    bench.run()
    bench.run()

    assert len(bench.gateway.seen) == 1
    reason = f"a fault of the plugin that brings the gateway type 'recorder': deliver() of pigeon.Loft returned {fault}"
    assert bench.message(wake)["last_error"] == reason
    assert bench.records() == [("error", "given_up", reason)]

    (tmp_path / "pigeon.py").write_text("# mended\n")
    bench.gateway.answer = lambda _wake: SENT
    bench.run()
    assert bench.outbox.count() == 0


def test_a_gateway_that_hangs_holds_up_the_others_for_a_bounded_time(bench: Bench) -> None:
    bench.attempt_seconds = 0.2
    bench.gateway.answer = lambda wake: time.sleep(60) if wake.gateway == "g" else SENT
    stuck = bench.put("stuck")
    bench.put("fine", gateway="h")

    bench.run()

    assert "timeout" in bench.message(stuck)["last_error"]
    assert bench.outbox.ids() == [stuck.id]
    assert bench.message(stuck)["attempts"] == 1, "one that hangs is not asked again in the same pass"


def test_a_gateway_that_hangs_is_left_alone_for_the_rest_of_the_pass(bench: Bench) -> None:
    bench.attempt_seconds = 0.1
    bench.gateway.answer = lambda wake: time.sleep(60)
    for number in range(5):
        bench.put(str(number), session=f"session-{number}")

    bench.run()

    assert bench.gateway.texts() == ["0"]
    assert [record["messages"] for record in bench.journal.records(None)] == [4]


def test_a_refusal_is_kept_and_tried_again_only_after_a_change_of_config(bench: Bench) -> None:
    bench.gateway.answer = lambda _wake: REFUSED
    wake = bench.put("hello")

    bench.run()
    bench.run()
    assert len(bench.gateway.seen) == 1
    assert bench.message(wake)["given_up"]["reason"] == "wrong token"
    assert bench.records() == [("error", "given_up", "wrong token")]

    bench.gateway.answer = lambda _wake: SENT
    bench.tables["g"] = {"type": "recorder", "token_env": "OTHER"}
    bench.run()
    assert bench.outbox.count() == 0


def test_a_refused_message_does_not_hold_up_its_session(bench: Bench) -> None:
    bench.gateway.answer = lambda wake: REFUSED if wake.text == "bad" else SENT
    bad = bench.put("bad")
    bench.put("good")

    bench.run()

    assert bench.outbox.ids() == [bad.id]


@pytest.mark.parametrize(
    ("tables", "problems", "check", "reason"),
    [
        ({}, (), [], "config.toml has no [gateways.g]"),
        ({}, ("config.toml: not TOML: line 3",), [], "no [gateways.g]; config.toml: not TOML: line 3"),
        (
            {"g": {"type": "recrder"}},
            (),
            [],
            "gateways.g.type: no active plugin brings a gateway 'recrder'; there are: rec",
        ),
        ({"g": {"type": "recorder"}}, (), ["argv: missing"], "config.toml: gateways.g.argv: missing"),
    ],
)
def test_a_message_without_a_usable_gateway_is_kept_and_reported(
    bench: Bench,
    tables: dict[str, Mapping[str, object]],
    problems: tuple[str, ...],
    check: list[str],
    reason: str,
) -> None:
    bench.tables, bench.problems, bench.gateway.problems = tables, problems, check
    first = bench.put("one")
    bench.put("two", session="t")

    bench.run()
    bench.run()
    assert bench.gateway.seen == []
    assert reason in bench.message(first)["last_error"]
    assert bench.message(first)["attempts"] == 0
    [record, _second_run] = bench.journal.records(None)
    assert (record["level"], record["outcome"], record["messages"]) == ("warning", "kept", 2)
    assert reason in str(record["reason"])

    bench.tables, bench.problems, bench.gateway.problems = {"g": {"type": "recorder"}}, (), []
    bench.run()
    assert bench.gateway.texts() == ["one", "two"]
    assert bench.outbox.count() == 0


def test_a_check_that_raises_is_reported(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_settings: Mapping[str, object]) -> list[str]:
        raise KeyError("oops")

    monkeypatch.setattr(bench.gateway, "check", check)
    wake = bench.put("hello")

    bench.run()

    assert bench.message(wake)["last_error"] == "gateway 'g': check() raised KeyError: 'oops'"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda: sys.exit(3), "check() raised SystemExit: 3"),
        (lambda: time.sleep(60), "check() raised PluginTimeout: took longer than its timeout of 0.2 s"),
        (lambda: 5, "check() returned 5, not a list of texts"),
        (lambda: [5], "check() returned [5], not a list of texts"),
    ],
)
def test_a_check_that_misbehaves_does_not_stop_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: Callable[[], Any], reason: str
) -> None:
    monkeypatch.setattr("hookrouter.delivery.CHECK_SECONDS", 0.2)
    monkeypatch.setattr(bench.gateway, "check", lambda settings: fault() if settings else [])
    bench.tables["g"] = {"type": "recorder", "bad": True}
    bad = [bench.put("bad", session=str(number)) for number in range(3)]
    bench.put("fine", gateway="h")
    started = time.monotonic()

    bench.run()

    assert bench.outbox.ids() == [wake.id for wake in bad]
    assert bench.gateway.texts() == ["fine"]
    assert bench.message(bad[0])["last_error"] == f"gateway 'g': {reason}"
    assert time.monotonic() - started < 5, "check() is asked once a pass, not for each message"
    assert [record["outcome"] for record in bench.journal.records(None)] == ["kept"]


class FullDisk(Outbox):
    """An outbox whose documents can no longer be changed."""

    def record_attempt(self, name: str) -> dict[str, Any] | None:
        raise StoreError("cannot write: No space left on device")

    def record_failure(self, name: str, reason: str, **_more: str | None) -> None:
        raise StoreError("cannot write: No space left on device")


@pytest.mark.parametrize("answer", [FAILED, REFUSED, None])
def test_a_full_disk_does_not_keep_the_other_messages(bench: Bench, answer: Woken | None) -> None:
    bench.gateway.answer = lambda wake: answer if wake.gateway == "g" else SENT
    bench.tables["odd"] = {"type": "nobody's"}
    stuck = [bench.put("bad", session=str(number), gateway="g" if number else "odd") for number in range(4)]
    bench.put("fine", gateway="h")
    bench.outbox = FullDisk(bench.home, print)

    assert bench.run()

    assert bench.outbox.ids() == [wake.id for wake in stuck]
    assert bench.gateway.texts()[-1] == "fine"
    assert "No space left" in json.dumps(bench.journal.records(None))


def test_a_message_that_cannot_be_read_does_not_keep_the_others(bench: Bench) -> None:
    unreadable = bench.put("unreadable")
    bench.put("fine")

    class Guarded(Outbox):
        def get(self, name: str) -> dict[str, Any] | None:
            if name == unreadable.id:
                raise StoreError("cannot read: Permission denied")
            return super().get(name)

    bench.outbox = Guarded(bench.home, print)

    assert bench.run()

    assert bench.gateway.texts() == ["fine"]
    assert bench.outbox.ids() == [unreadable.id]
    assert "Permission denied" in json.dumps(bench.journal.records(None))


def test_a_fault_of_the_deliverer_costs_one_message_its_turn(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = bench.put("broken")
    bench.put("fine", session="t")
    real = Deliverer._attempt

    def attempt(self: Deliverer, wake: Wake, *arguments: Any, **options: Any) -> Woken:
        if wake.id == broken.id:
            raise RuntimeError("unforeseen")
        return real(self, wake, *arguments, **options)

    monkeypatch.setattr(Deliverer, "_attempt", attempt)

    bench.run()

    assert bench.outbox.ids() == [broken.id]
    assert bench.records()[0] == ("error", "kept", "RuntimeError: unforeseen")


def test_what_is_left_decides_when_it_is_pushed_again(bench: Bench) -> None:
    def due() -> float:
        return round(os.stat(os.path.join(bench.outbox.folder, "next-push")).st_mtime - time.time(), -1)

    bench.gateway.answer = lambda _wake: FAILED
    bench.put("hello")
    bench.run()
    assert due() == 30
    bench.run()
    assert due() == 60
    for _ in range(8):
        bench.run()
    assert due() == 600

    bench.put("new", session="t")
    bench.run()
    assert due() == 30


def test_a_push_comes_when_the_pause_of_the_other_side_is_over(bench: Bench) -> None:
    bench.gateway.answer = lambda _wake: FAILED._replace(retry_after=200.0)
    bench.put("hello")
    bench.run()
    due = os.stat(os.path.join(bench.outbox.folder, "next-push")).st_mtime - time.time()
    assert 190 < due <= 200


def test_a_message_that_is_not_one_is_kept_and_reported(bench: Bench) -> None:
    broken = bench.put("broken")
    path = Path(bench.outbox.folder, f"wake-{broken.id}.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "text": None}))
    bench.put("fine")

    bench.run()

    assert bench.outbox.ids() == [broken.id]
    assert "'text'" in bench.message(broken)["last_error"]
    assert bench.gateway.texts() == ["fine"]


def test_oldest_first_and_in_order_within_a_session(bench: Bench) -> None:
    for number in range(9):
        bench.put(str(number), session="abc"[number % 3])

    bench.run()

    assert bench.gateway.texts() == [str(number) for number in range(9)]


def test_a_failure_holds_up_its_own_session_only(bench: Bench) -> None:
    bench.gateway.answer = lambda wake: FAILED if wake.text == "a1" else SENT
    for text in ("a1", "b1", "a2", "b2"):
        bench.put(text, session=text[0])
    bench.put("a-by-h", session="a", gateway="h")

    bench.run()
    assert [message["text"] for message in bench.outbox.pending()] == ["a1", "a2"]

    bench.gateway.answer = lambda _wake: SENT
    bench.run()
    assert bench.gateway.texts()[-2:] == ["a1", "a2"]


def test_a_message_that_never_goes_through_stops_holding_up_its_session(bench: Bench) -> None:
    bench.gateway.answer = lambda wake: FAILED if wake.text == "poison" else SENT
    poison = bench.put("poison")
    bench.put("behind")

    for _ in range(BLOCKING_ATTEMPTS):
        bench.run()

    assert bench.outbox.ids() == [poison.id]


def test_a_dead_gateway_costs_few_tries_and_new_sessions_come_before_failed_ones(bench: Bench) -> None:
    bench.gateway.answer = lambda _wake: FAILED
    for number in range(20):
        bench.put(str(number), session=f"session-{number}")

    bench.run()
    assert bench.gateway.texts() == ["0", "0", "0", "1", "2"]
    [record] = bench.journal.records(None)
    assert record["messages"] == 17

    bench.run()
    assert bench.gateway.texts()[5:] == ["3", "3", "3", "4", "5"]

    bench.gateway.answer = lambda _wake: SENT
    bench.run()
    assert bench.outbox.count() == 0


def test_a_pause_that_the_other_side_asks_for_is_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.gateway.answer = lambda _wake: FAILED._replace(retry_after=120.0)
    wake = bench.put("first")
    bench.put("second")

    bench.run()
    bench.run()
    assert bench.gateway.texts() == ["first"]
    due = bench.message(wake)["next_attempt_at"]
    assert iso(now() + 100) < due <= iso(now() + 120)

    later = now() + 121
    monkeypatch.setattr("hookrouter.clock.now", lambda: later)
    bench.gateway.answer = lambda _wake: SENT
    bench.run()
    assert bench.gateway.texts() == ["first", "first", "second"]


def test_a_clock_set_back_does_not_prolong_a_pause(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.gateway.answer = lambda _wake: FAILED._replace(retry_after=120.0)
    bench.put("hello")
    bench.run()

    earlier = now() - 1e7
    monkeypatch.setattr("hookrouter.clock.now", lambda: earlier)
    bench.gateway.answer = lambda _wake: SENT
    bench.run()

    assert bench.outbox.count() == 0


def test_a_message_dropped_during_the_tries_is_not_tried_further(bench: Bench) -> None:
    def answer(wake: Wake) -> Woken:
        bench.outbox.remove(wake.id)
        return FAILED

    bench.gateway.answer = answer
    bench.put("hello")

    bench.run()

    assert len(bench.gateway.seen) == 1
    assert bench.outbox.count() == 0


def test_a_message_put_in_during_delivery_is_delivered_by_the_same_run(bench: Bench) -> None:
    def answer(wake: Wake) -> Woken:
        if wake.text == "first":
            bench.put("second")
        return SENT

    bench.gateway.answer = answer
    bench.put("first")

    bench.run()

    assert bench.gateway.texts() == ["first", "second"]


def test_a_new_message_gives_the_failed_ones_another_try(bench: Bench) -> None:
    answers: Iterator[Woken] = iter([FAILED, FAILED, FAILED])

    def answer(wake: Wake) -> Woken:
        woken = next(answers, SENT)
        if wake.text == "first" and len(bench.gateway.seen) == 3:
            bench.put("second")
        return woken

    bench.gateway.answer = answer
    bench.put("first")

    bench.run()

    assert bench.gateway.texts() == ["first", "first", "first", "first", "second"]


def test_a_message_put_in_while_the_deliverer_is_finishing_is_not_forgotten(bench: Bench) -> None:
    """The hook puts it in after the last look under the lock, and its own deliverer leaves because of the lock."""
    left = []

    class Finishing(Outbox):
        looks = 0

        def ids(self) -> list[str]:
            found = super().ids()
            self.looks += 1
            if self.looks == 2:
                bench.put("late")
                left.append(deliver_all(Outbox(bench.home, print), lambda: pytest.fail("two deliverers at once")))
            return found

    bench.outbox = Finishing(bench.home, print)
    bench.put("early")

    assert bench.run()

    assert left == [False]
    assert bench.gateway.texts() == ["early", "late"]
    assert bench.outbox.count() == 0


def test_many_messages(bench: Bench) -> None:
    for number in range(300):
        bench.put(str(number), session=f"session-{number % 7}")

    bench.run()

    assert bench.gateway.texts() == [str(number) for number in range(300)]
    assert bench.outbox.count() == 0


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    messages=st.lists(st.tuples(st.sampled_from("gh"), st.sampled_from("abc")), max_size=8),
    answers=st.lists(st.sampled_from([SENT, FAILED, REFUSED, None]), max_size=24),
)
def test_nothing_is_lost_and_order_is_kept_whatever_gateways_do(
    bench: Bench, messages: list[tuple[str, str]], answers: list[Woken | None]
) -> None:
    """Each message is in the outbox until it was delivered, which happens once, and in order in its session."""
    script = iter(answers)
    delivered: list[Wake] = []
    refused: set[str] = set()

    def answer(wake: Wake) -> Woken | None:
        woken = next(script, SENT)
        if woken is SENT:
            delivered.append(wake)
        elif woken is REFUSED or woken is None:
            # Given up, a wrong return type as well, and so no longer in the way of what comes behind.
            refused.add(wake.id)
        return woken

    bench.gateway.answer = answer
    kept = [bench.put(str(number), session, gateway) for number, (gateway, session) in enumerate(messages)]
    for turn in range(30):
        assert {wake.id for wake in kept} == {wake.id for wake in delivered} | set(bench.outbox.ids())
        # Changed settings, so that refused messages are tried again.
        bench.tables = {name: {"type": "recorder", "turn": turn} for name in "gh"}
        bench.run()

    assert bench.outbox.count() == 0
    assert sorted(wake.id for wake in delivered) == [wake.id for wake in kept], "each exactly once"
    for line in set(messages):
        order = [wake.id for wake in delivered if (wake.gateway, wake.session) == line and wake.id not in refused]
        if not refused:
            assert order == sorted(order)


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
def real(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealProcess:
    return RealProcess(bench, tmp_path, monkeypatch)


def finish(process: subprocess.Popen[str]) -> None:
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr) == (0, "", "")


def test_kill_9_during_delivery_loses_nothing(bench: Bench, real: RealProcess) -> None:
    (real.folder / "slow").touch()
    wakes = [bench.put("one"), bench.put("two")]
    with real.start() as process:
        real.wait_for_calls(1)
        os.kill(process.pid, signal.SIGKILL)
    assert bench.outbox.ids() == [wake.id for wake in wakes]
    assert "interrupted" in bench.message(wakes[0])["last_error"]

    (real.folder / "slow").unlink()
    with real.start() as process:
        finish(process)

    assert bench.outbox.count() == 0
    assert real.lines("calls") == [wakes[0].id, wakes[0].id, wakes[1].id], "the same id, so that the agent can tell"


def test_of_two_deliverers_one_leaves_at_once_and_nothing_is_sent_twice(bench: Bench, real: RealProcess) -> None:
    (real.folder / "slow").touch()
    bench.put("one")
    with real.start() as first:
        real.wait_for_calls(1)
        late = bench.put("two")
        with real.start() as second:
            finish(second)
        assert len(real.lines("calls")) == 1
        (real.folder / "slow").unlink()
        finish(first)

    assert real.lines("texts") == ["one", "two"]
    assert real.lines("calls")[1] == late.id
    assert bench.outbox.count() == 0


def test_deliver_refuses_other_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--now"]) == 2
    assert "--now" in capsys.readouterr().err


def test_an_outbox_that_cannot_be_used_is_said_in_one_line(
    bench: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("hello")
    Path(bench.outbox.folder, "locks").write_text("a file where the folder should be")
    monkeypatch.chdir("/")

    assert main([]) == 1

    assert "cannot lock" in capsys.readouterr().err


STUCK = """
import sys, time
from hookrouter import hookimpl
from hookrouter.answering import Woken

class Stuck:
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
from hookrouter import delivery
from hookrouter.delivery import Deliverer, main
delivery.ATTEMPT_SECONDS, delivery.GRACE_SECONDS = 0.2, 0.2
import hookrouter.registry
import stuck
real = hookrouter.registry.Plugins.gateways
hookrouter.registry.Plugins.gateways = lambda self: {**real(self), "stuck": stuck.gateway()}
sys.exit(main([]))
"""


def test_a_gateway_that_cannot_be_stopped_does_not_hold_the_lock_for_ever(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    Path(bench.home.config_file).write_text('[gateways.g]\ntype = "stuck"\n[gateways.h]\ntype = "inbox"\n')
    stuck = bench.put("stuck")
    bench.put("fine", gateway="h")
    command = [sys.executable, "-c", RUN_STUCK]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}

    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ)
        assert done.returncode == 1
        assert "Timeout" in done.stderr

    # The first one died on it; the next one took it last.
    assert bench.outbox.ids() == [stuck.id]
    with bench.outbox.delivering():
        pass


def test_plugins_that_cannot_be_asked_keep_the_messages(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, real: RealProcess
) -> None:
    def exits(_plugins: object) -> None:
        sys.exit(3)

    monkeypatch.setattr("hookrouter.registry.Plugins.gateways", exits)
    monkeypatch.chdir("/")
    wake = bench.put("hello")

    assert main([]) == 0

    assert "no active plugin brings a gateway 'command'" in bench.message(wake)["last_error"]
    assert "SystemExit: 3" in json.dumps(bench.journal.records(None))


def test_the_deliverer_clears_away_what_is_old(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    bench.journal.write({}, "silent")
    old = time.time() - 31 * 86400
    os.utime(Path(bench.home.logs, "silent.jsonl"), (old, old))
    for folder in (bench.home.state, bench.outbox.folder):
        Store(folder, print).write("wake", "x", {})
        locks = Path(folder, "locks")
        locks.mkdir()
        (locks / "a-left.lock").write_text("")
        os.utime(locks / "a-left.lock", (old, old))
    bench.outbox.remove("x")

    assert main([]) == 0

    assert not Path(bench.home.logs, "silent.jsonl").exists()
    assert os.listdir(Path(bench.home.state, "locks")) == os.listdir(Path(bench.outbox.folder, "locks")) == []


def test_a_home_that_cannot_be_told_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("HOOKROUTER_HOME", "relative")

    assert main([]) == 1

    assert "HOOKROUTER_HOME is 'relative'" in capsys.readouterr().err


def test_the_gateways_of_the_distribution_are_found_more_than_once() -> None:
    for _ in range(2):
        assert {"command", "inbox"} <= Application.from_environ().plugins.gateways().keys()
