"""Delivery: tries, order, faults of gateways, and deliverers that meet, die or overlap."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.cli.application import Application
from hookrouter.cli.deliver_process import main
from hookrouter.config import Agent
from hookrouter.messaging import pauses
from hookrouter.messaging.delivery.deliverer import deliver_all
from hookrouter.messaging.gateway import Message, SendResult, gateways
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.retry import BLOCKING_FAILURES, RetryPolicy, longest_wait
from hookrouter.messaging.tries import Tries
from hookrouter.storage import documents
from hookrouter.storage.documents import Store, StoreError
from hookrouter.storage.home import Home
from hookrouter.util.clock import iso, now
from support.delivery_bench import FAILED, SENT, Bench, Recorder
from support.stepped_time import SteppedTime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
REFUSED = SendResult(delivered=False, reason="wrong token", retry=False)


def hang() -> None:
    """Wait for what never comes."""
    threading.Event().wait(60)


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
    reason = (
        f"a fault of the plugin that provides the gateway type 'recorder': deliver() of pigeon.Loft returned {fault}"
    )
    assert bench.message(wake).last_error == reason
    assert bench.records() == [("error", "given_up", reason)]

    (tmp_path / "pigeon.py").write_text("# mended\n")
    bench.gateway.answer = lambda _wake: SENT
    bench.run()
    assert bench.outbox.count() == 0


def test_a_gateway_that_hangs_holds_up_the_others_for_a_bounded_time(bench: Bench) -> None:
    bench.attempt_seconds = 0.2
    bench.gateway.answer = lambda wake: hang() if wake.gateway == "g" else SENT
    stuck = bench.put("stuck")
    bench.put("fine", gateway="h")

    bench.run()

    assert "timeout" in bench.message(stuck).last_error
    assert bench.outbox.ids() == [stuck.id]
    assert bench.message(stuck).attempts == 1, "one that hangs is not asked again in the same pass"


def test_a_gateway_that_hangs_is_left_alone_for_a_time(bench: Bench) -> None:
    bench.attempt_seconds = 0.1
    bench.gateway.answer = lambda _wake: hang()
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
            "gateways.g.type: no active plugin provides a gateway 'recrder'; there are: rec",
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
        (lambda: hang(), "check() raised PluginTimeout: took longer than its timeout of 0.2 s"),
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


def test_a_message_put_in_while_the_deliverer_is_finishing_is_not_forgotten(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook puts it in after the last look under the lock, and its own deliverer leaves because of the lock."""
    monkeypatch.setattr(documents, "time", SteppedTime())
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
        assert {"command", "inbox"} <= gateways(Application.from_environ().plugins).keys()
