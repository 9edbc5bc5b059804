"""Delivery: tries, order, faults of gateways, and deliverers that meet, die or overlap."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter._sandbox.waiting import wait_until
from hookrouter.cli.application import Application
from hookrouter.cli.deliver_process import main
from hookrouter.config import Agent, Config
from hookrouter.messaging import pauses
from hookrouter.messaging.delivery.attempt import Limits
from hookrouter.messaging.delivery.deliverer import Deliverer, deliver_all
from hookrouter.messaging.delivery.workers import Processes
from hookrouter.messaging.gateway import Message, SendResult
from hookrouter.messaging.message import QueuedMessage
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.retry import BLOCKING_FAILURES, RetryPolicy, longest_wait
from hookrouter.messaging.spawn import spawn_delivery
from hookrouter.messaging.tries import Tries
from hookrouter.storage.documents import Store, StoreBusy, StoreError
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SENT = SendResult(delivered=True, reason="taken")
FAILED = SendResult(delivered=False, reason="connection refused")
REFUSED = SendResult(delivered=False, reason="wrong token", retry=False)


class Recorder:
    """A gateway that notes what it is asked to deliver and answers as told."""

    type = "recorder"

    def __init__(self, answer: Callable[[Message], object] = lambda _wake: SENT) -> None:
        self.answer = answer
        self.seen: list[Message] = []
        self.problems: list[str] = []

    def check(self, settings: Mapping[str, object]) -> list[str]:
        return self.problems

    def deliver(self, wake: Message, settings: Mapping[str, object]) -> Any:
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
        self.agents: tuple[Agent, ...] = ()
        self.attempt_seconds = 900.0

    def put(self, text: str, session: str = "s", gateway: str = "g", fallbacks: Sequence[str] = ()) -> Message:
        wake = Message("question", "a", gateway, session, "sid", "toolu_1", "subject", text)
        return self.outbox.put(wake, fallbacks=fallbacks)

    def deliverer(self, **fields: Any) -> Deliverer:
        config = Config(agents=self.agents, gateways=self.tables, problems=self.problems)
        fields = {"limits": Limits(self.attempt_seconds), "retry": RetryPolicy(lambda longest: longest), **fields}
        return Deliverer(self.outbox, config, {"recorder": self.gateway}, self.journal, **fields)

    def run(self) -> bool:
        """Deliver what is due, and let those wait that have failed."""
        return deliver_all(self.outbox, self.deliverer().deliver_due)

    def again(self) -> bool:
        """Deliver what is there, as ``hookrouter deliver`` by hand does."""
        for name in self.outbox.ids():
            self.outbox.hurry(name)
        return self.run()

    def message(self, wake: Message) -> QueuedMessage:
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


def test_messages_of_a_paused_session_wait(bench: Bench) -> None:
    state = Store(bench.home.state, print)
    bench.put("held", session="paused")
    bench.put("sent", session="other")
    pauses.begin(state, "paused")

    bench.run()
    assert bench.gateway.texts() == ["sent"]
    assert bench.outbox.pending()[0].attempts == 0

    pauses.end(state, "paused")
    bench.run()
    assert bench.gateway.texts() == ["sent", "held"]


def test_a_pause_stops_a_line_between_two_messages(bench: Bench) -> None:
    state = Store(bench.home.state, print)

    def pausing(_wake: Message) -> SendResult:
        pauses.begin(state, "s")
        return SENT

    bench.gateway.answer = pausing
    bench.put("one")
    bench.put("two")
    bench.run()
    assert bench.gateway.texts() == ["one"]


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


def test_a_failed_message_is_kept_and_waits_for_its_next_attempt(bench: Bench) -> None:
    bench.gateway.answer = lambda _wake: FAILED
    wake = bench.put("hello")

    bench.run()
    assert len(bench.gateway.seen) == 1
    message = bench.message(wake)
    assert (message.attempts, message.failures, message.last_error) == (1, 1, "connection refused")
    assert bench.records() == [("warning", "kept", "connection refused")]

    bench.gateway.answer = lambda _wake: SENT
    bench.run()
    assert len(bench.gateway.seen) == 1

    bench.again()
    assert bench.outbox.count() == 0
    assert {seen.id for seen in bench.gateway.seen} == {wake.id}


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (8, 128), (11, 600), (1000, 600)])
def test_waits_double_up_to_ten_minutes(failures: int, seconds: float) -> None:
    assert longest_wait(failures) == seconds


def test_the_jitter_is_full() -> None:
    drawn = [RetryPolicy().jitter(100.0) for _ in range(1000)]

    assert 0 <= min(drawn) < 20
    assert 80 < max(drawn) <= 100


def raising(error: BaseException) -> Callable[[Message], object]:
    def answer(_wake: Message) -> object:
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
    bench: Bench, answer: Callable[[Message], object], reason: str
) -> None:
    bench.gateway.answer = answer
    wake = bench.put("hello")

    bench.run()

    assert len(bench.gateway.seen) == 1
    assert bench.message(wake).last_error == reason


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (SendResult(delivered=True, reason=None), "a SendResult whose reason is None"),  # type: ignore[arg-type]
        (SendResult(delivered="yes", reason=""), "a SendResult whose delivered is 'yes'"),  # type: ignore[arg-type]
        (FAILED._replace(retry_after="1"), "a SendResult whose retry_after is '1'"),  # type: ignore[arg-type]
        (True, "True, not a SendResult"),
        (None, "None, not a SendResult"),
        ((True, "looks like one"), "(True, 'looks like one'), not a SendResult"),
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
    assert bench.message(wake).last_error == reason
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

    assert "timeout" in bench.message(stuck).last_error
    assert bench.outbox.ids() == [stuck.id]
    assert bench.message(stuck).attempts == 1, "one that hangs is not asked again in the same pass"


def test_a_gateway_that_hangs_is_left_alone_for_a_time(bench: Bench) -> None:
    bench.attempt_seconds = 0.1
    bench.gateway.answer = lambda wake: time.sleep(60)
    for number in range(5):
        bench.put(str(number), session=f"session-{number}")

    bench.run()

    assert bench.gateway.texts() == ["0", "1", "2", "3"]


def test_a_refusal_is_kept_and_tried_again_only_after_a_change_of_config(bench: Bench) -> None:
    bench.gateway.answer = lambda _wake: REFUSED
    wake = bench.put("hello")

    bench.run()
    bench.run()
    assert len(bench.gateway.seen) == 1
    assert bench.message(wake).given_up.reason == "wrong token"
    assert bench.records() == [("error", "given_up", "wrong token")]

    bench.gateway.answer = lambda _wake: SENT
    bench.tables["g"] = {"type": "recorder", "token_env": "OTHER"}
    bench.run()
    assert bench.outbox.count() == 0


def test_a_refusal_is_tried_again_after_a_change_of_a_secret(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("wrong")
    monkeypatch.setenv("OTHER_TOKEN", "wrong")
    bench.gateway.answer = lambda _wake: REFUSED
    headers = {"Authorization_env": "OTHER_TOKEN"}
    bench.tables["g"] = {"type": "recorder", "token_file": str(token), "headers": headers}
    bench.put("hello")

    bench.run()
    os.utime(token, (1, 1))
    bench.run()
    assert len(bench.gateway.seen) == 2, "the file has changed"
    monkeypatch.setenv("OTHER_TOKEN", "right")
    bench.run()
    assert len(bench.gateway.seen) == 3, "the variable has changed"
    bench.run()
    assert len(bench.gateway.seen) == 3, "nothing has changed"


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
    assert bench.gateway.seen == []
    assert reason in bench.message(first).last_error
    assert bench.message(first).attempts == 0
    assert bench.records()[0][:2] == ("warning", "kept")
    assert reason in str(bench.records()[0][2])

    bench.tables, bench.problems, bench.gateway.problems = {"g": {"type": "recorder"}}, (), []
    bench.again()
    assert bench.gateway.texts() == ["one", "two"]
    assert bench.outbox.count() == 0


def test_a_message_that_waits_for_a_gateways_table_is_due_when_the_table_changes(bench: Bench) -> None:
    bench.gateway.problems = ["argv: missing"]
    wake = bench.put("one")
    bench.run()
    bench.again()
    waiting = bench.message(wake)
    assert waiting.next_attempt_at is not None
    bench.gateway.problems = []
    bench.run()
    assert bench.message(wake) == waiting, "not before its time: nothing has changed"
    bench.tables["g"] = {"type": "recorder", "argv": ["true"]}
    bench.run()
    assert bench.gateway.texts() == ["one"]
    assert bench.outbox.count() == 0


def test_a_message_whose_gateway_failed_waits_although_its_table_changes(bench: Bench) -> None:
    bench.gateway.problems = ["argv: missing"]
    wake = bench.put("one")
    bench.run()
    bench.gateway.problems, bench.gateway.answer = [], lambda _wake: FAILED
    bench.again()
    assert bench.message(wake).unusable == ""
    bench.tables["g"] = {"type": "recorder", "argv": ["true"]}
    bench.run()
    assert bench.gateway.texts() == ["one"]


def test_a_gateway_whose_table_has_mistakes_is_passed_at_once(bench: Bench) -> None:
    bench.agents = (Agent("a", gateway="g", fallbacks=("h",), fallback_after=60.0),)
    bench.tables["g"] = {"type": "recrder"}
    bench.put("one", fallbacks=["h"])
    bench.run()
    assert [(wake.gateway, wake.text) for wake in bench.gateway.seen] == [("h", "one")]
    assert bench.outbox.count() == 0


def test_a_check_that_raises_is_reported(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_settings: Mapping[str, object]) -> list[str]:
        raise KeyError("oops")

    monkeypatch.setattr(bench.gateway, "check", check)
    wake = bench.put("hello")

    bench.run()

    assert bench.message(wake).last_error == "gateway 'g': check() raised KeyError: 'oops'"


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
    monkeypatch.setattr("hookrouter.messaging.delivery.attempt.CHECK_SECONDS", 0.2)
    monkeypatch.setattr(bench.gateway, "check", lambda settings: fault() if settings else [])
    bench.tables["g"] = {"type": "recorder", "bad": True}
    bad = [bench.put("bad", session=str(number)) for number in range(3)]
    bench.put("fine", gateway="h")

    bench.run()

    assert bench.outbox.ids() == [wake.id for wake in bad]
    assert bench.gateway.texts() == ["fine"]
    assert bench.message(bad[0]).last_error == f"gateway 'g': {reason}"
    assert [outcome for _level, outcome, _reason in bench.records()].count("kept") == 3


class FullDisk(Outbox):
    """An outbox whose documents can no longer be changed."""

    def change(self, name: str, change: Any) -> Any:
        raise StoreError("cannot write: No space left on device")


@pytest.mark.parametrize("answer", [FAILED, REFUSED, None])
def test_a_full_disk_does_not_keep_the_other_messages(bench: Bench, answer: SendResult | None) -> None:
    bench.gateway.answer = lambda wake: answer if wake.gateway == "g" else SENT
    bench.tables["odd"] = {"type": "nobody's"}
    stuck = [bench.put("bad", session=str(number), gateway="g" if number else "odd") for number in range(4)]
    bench.put("fine", gateway="h")
    bench.outbox = FullDisk(bench.home, print)

    assert bench.run()

    assert bench.outbox.ids() == [wake.id for wake in stuck]
    assert "fine" in bench.gateway.texts()
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
    real = Tries.begin

    def attempt(self: Tries, name: str, *arguments: Any, **options: Any) -> dict[str, Any] | None:
        if name == broken.id:
            raise RuntimeError("unforeseen")
        return real(self, name, *arguments, **options)

    monkeypatch.setattr(Tries, "begin", attempt)

    bench.run()

    assert bench.outbox.ids() == [broken.id]
    assert bench.records()[0] == ("error", "kept", "RuntimeError: unforeseen")


def test_what_is_left_decides_when_it_is_pushed_again(bench: Bench) -> None:
    def due() -> float:
        document = json.loads(Path(bench.home.state, "outbox", "push-next.json").read_text())
        return round(document["due_at"] - time.time(), -1)

    bench.gateway.answer = lambda wake: REFUSED if wake.text == "bad" else FAILED
    bench.put("bad")
    bench.run()
    assert due() == 600

    bench.put("new", session="t")
    bench.run()
    assert due() == 30


def test_a_message_that_is_not_one_is_kept_and_reported(bench: Bench) -> None:
    broken = bench.put("broken")
    path = Path(bench.home.state, "outbox", f"wake-{broken.id}.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "text": None}))
    bench.put("fine")

    bench.run()

    assert bench.outbox.ids() == [broken.id]
    assert "'text'" in bench.message(broken).last_error
    assert bench.gateway.texts() == ["fine"]


def test_oldest_first_and_in_order_within_a_session(bench: Bench) -> None:
    for number in range(9):
        bench.put(str(number), session="abc"[number % 3])

    bench.run()

    assert bench.gateway.texts() == ["0", "3", "6", "1", "4", "7", "2", "5", "8"]


def test_a_failure_holds_up_its_own_session_only(bench: Bench) -> None:
    bench.gateway.answer = lambda wake: FAILED if wake.text == "a1" else SENT
    for text in ("a1", "b1", "a2", "b2"):
        bench.put(text, session=text[0])
    bench.put("a-by-h", session="a", gateway="h")

    bench.run()
    assert [message.text for message in bench.outbox.pending()] == ["a1", "a2"]

    bench.gateway.answer = lambda _wake: SENT
    bench.again()
    assert bench.gateway.texts()[-2:] == ["a1", "a2"]


def test_a_message_that_never_goes_through_stops_holding_up_its_session(bench: Bench) -> None:
    bench.gateway.answer = lambda wake: FAILED if wake.text == "poison" else SENT
    poison = bench.put("poison")
    bench.put("behind")

    for _ in range(BLOCKING_FAILURES - 1):
        bench.again()
        assert "behind" not in bench.gateway.texts()
    bench.again()

    assert bench.outbox.ids() == [poison.id]
    bench.put("at once")
    bench.run()
    assert bench.gateway.texts()[-2:] == ["poison", "at once"], "it is tried before it is passed"


def test_a_dead_gateway_costs_few_tries_and_new_sessions_come_before_failed_ones(bench: Bench) -> None:
    bench.gateway.answer = lambda _wake: FAILED
    for number in range(20):
        bench.put(str(number), session=f"session-{number}")

    bench.run()
    assert bench.gateway.texts() == ["0", "1", "2", "3"]

    bench.again()
    assert bench.gateway.texts()[4:] == ["4", "5", "6", "7"]

    bench.gateway.answer = lambda _wake: SENT
    bench.again()
    assert bench.outbox.count() == 0


def test_a_pause_that_the_other_side_asks_for_is_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.gateway.answer = lambda _wake: FAILED._replace(retry_after=120.0)
    wake = bench.put("first")
    bench.put("second")

    bench.run()
    bench.run()
    assert bench.gateway.texts() == ["first"]
    due = bench.message(wake).next_attempt_at
    assert iso(now() + 100) < due <= iso(now() + 120)

    later = now() + 121
    monkeypatch.setattr(time, "time", lambda: later)
    bench.gateway.answer = lambda _wake: SENT
    bench.run()
    assert bench.gateway.texts() == ["first", "first", "second"]


def test_a_clock_set_back_does_not_prolong_a_pause(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.gateway.answer = lambda _wake: FAILED._replace(retry_after=120.0)
    bench.put("hello")
    bench.run()

    earlier = now() - 1e7
    monkeypatch.setattr(time, "time", lambda: earlier)
    bench.gateway.answer = lambda _wake: SENT
    bench.run()

    assert bench.outbox.count() == 0


def test_a_message_dropped_during_the_tries_is_not_tried_further(bench: Bench) -> None:
    def answer(wake: Message) -> SendResult:
        bench.outbox.remove(wake.id)
        return FAILED

    bench.gateway.answer = answer
    bench.put("hello")

    bench.run()

    assert len(bench.gateway.seen) == 1
    assert bench.outbox.count() == 0


def test_a_message_put_in_during_delivery_is_delivered_by_the_same_run(bench: Bench) -> None:
    def answer(wake: Message) -> SendResult:
        if wake.text == "first":
            bench.put("second")
        return SENT

    bench.gateway.answer = answer
    bench.put("first")

    bench.run()

    assert bench.gateway.texts() == ["first", "second"]


def test_a_message_put_in_while_the_deliverer_is_finishing_is_not_forgotten(bench: Bench) -> None:
    """The hook puts it in after the last look under the lock, and its own deliverer leaves because of the lock."""
    left = []

    class Finishing(Outbox):
        released = False

        def ids(self) -> list[str]:
            found = super().ids()
            if not found and not self.released:
                self.released = True
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

    assert bench.outbox.count() == 0
    assert len(bench.gateway.seen) == 300
    for session in range(7):
        texts = [wake.text for wake in bench.gateway.seen if wake.session == f"session-{session}"]
        assert texts == [str(number) for number in range(session, 300, 7)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    messages=st.lists(st.tuples(st.sampled_from("gh"), st.sampled_from("abc")), max_size=8),
    answers=st.lists(st.sampled_from([SENT, FAILED, REFUSED, None]), max_size=24),
)
def test_nothing_is_lost_and_order_is_kept_whatever_gateways_do(
    bench: Bench, messages: list[tuple[str, str]], answers: list[SendResult | None]
) -> None:
    """Each message is in the outbox until it was delivered, which happens once, and in order in its session."""
    script = iter(answers)
    delivered: list[Message] = []
    refused: set[str] = set()

    def answer(wake: Message) -> SendResult | None:
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
        bench.again()

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


def test_deliver_refuses_other_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--now"]) == 2
    assert "--now" in capsys.readouterr().err


def test_an_outbox_that_cannot_be_used_is_said_in_one_line(
    bench: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("hello")
    Path(bench.home.state, "outbox", "locks").write_text("a file where the folder should be")
    monkeypatch.chdir("/")

    assert main([]) == 1

    assert "cannot lock" in capsys.readouterr().err


STUCK = """
import sys, time
from hookrouter import hookimpl
from hookrouter.messaging.gateway import SendResult

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
from hookrouter.cli.deliver_process import main
from hookrouter.messaging.delivery import attempt
attempt.ATTEMPT_SECONDS, attempt.GRACE_SECONDS = 0.2, 0.2
import hookrouter._plugins.registry
import stuck
real = hookrouter._plugins.registry.Plugins.gateways
hookrouter._plugins.registry.Plugins.gateways = lambda self: {**real(self), "stuck": stuck.gateway()}
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

    monkeypatch.setattr("hookrouter._plugins.registry.Plugins.gateways", exits)
    monkeypatch.chdir("/")
    wake = bench.put("hello")

    assert main([]) == 0

    assert "no active plugin brings a gateway 'command'" in bench.message(wake).last_error
    assert "SystemExit: 3" in json.dumps(bench.journal.records(None))


def test_the_deliverer_clears_away_what_is_old(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    bench.journal.write({}, "silent")
    old = time.time() - 31 * 86400
    os.utime(Path(bench.home.logs, "silent.jsonl"), (old, old))
    for folder in (bench.home.state, os.path.join(bench.home.state, "outbox")):
        Store(folder, print).write("wake", "x", {})
        locks = Path(folder, "locks")
        locks.mkdir()
        (locks / "a-left.lock").write_text("")
        os.utime(locks / "a-left.lock", (old, old))
    bench.outbox.remove("x")

    assert main([]) == 0

    assert not Path(bench.home.logs, "silent.jsonl").exists()
    assert os.listdir(Path(bench.home.state, "locks")) == os.listdir(Path(bench.home.state, "outbox", "locks")) == []


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
