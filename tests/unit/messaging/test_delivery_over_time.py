"""Delivery over hours and days of simulated time: outages, fallbacks, reminders, clock jumps, many messages."""

from __future__ import annotations

import os
import time
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.config import Agent, Config
from hookrouter.messaging.delivery.deliverer import Deliverer, deliver_all
from hookrouter.messaging.delivery.workers import Inline
from hookrouter.messaging.gateway import Gateway, Message, ScheduledMessage, SendResult
from hookrouter.messaging.message import LONGEST_WAIT
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.retry import KEEP_TRYING, RetryPolicy
from hookrouter.storage.documents import Store, StoreError
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SENT = SendResult(delivered=True, reason="taken")
FAILED = SendResult(delivered=False, reason="connection refused")
REFUSED = SendResult(delivered=False, reason="wrong token", retry=False)
HOUR = 3600.0
SLOW = partial(pytest.param, marks=pytest.mark.slow)


class World(Gateway):
    """A home, gateways and a clock that only moves while the deliverer waits."""

    type = "recorder"

    def __init__(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.outbox = Outbox(home, print)
        self.journal = Journal(home.logs)
        self.store = Store(home.state, print)
        self.even = 0.0
        """Seconds that nobody can set."""
        self.wall = 1_800_000_000.0
        self.answer: Callable[[Message], SendResult] = lambda _wake: SENT
        self.asked: list[tuple[float, str, str]] = []
        """When which gateway was asked to deliver which text."""
        self.delivered: list[tuple[float, str, Message]] = []
        self.plans: list[tuple[float, Callable[[], object]]] = []
        self.agents = (Agent("main", gateway="a", fallbacks=("b",), fallback_after=60.0),)
        self.jitter: Callable[[float], float] = lambda longest: longest
        monkeypatch.setattr(time, "time", lambda: self.wall)
        monkeypatch.setattr(time, "time_ns", lambda: int(self.wall * 1e9))

    def check(self, settings: Mapping[str, object]) -> list[str]:
        return []

    def deliver(self, wake: Message, settings: Mapping[str, object]) -> SendResult:
        self.asked.append((self.even, wake.gateway, wake.text))
        woken = self.answer(wake)
        if woken.delivered:
            self.delivered.append((self.even, wake.gateway, wake))
        return woken

    def put(self, text: str, session: str = "s", gateway: str = "a", **more: Any) -> Message:
        return self.outbox.put(Message("question", "main", gateway, session, "sid", "toolu_1", "subject", text), **more)

    def at(self, seconds: float, act: Callable[[], object]) -> None:
        """Let something happen after so many seconds of the simulation."""
        self.plans.append((seconds, act))
        self.plans.sort(key=lambda plan: plan[0])

    def pass_time(self, seconds: float) -> bool:
        """Let so much time pass, or up to the next thing that happens, which then does; return whether it did."""
        end = self.even + seconds
        happens = bool(self.plans) and self.plans[0][0] <= end
        if happens:
            end = max(self.even, self.plans[0][0])
        self.wall += end - self.even
        self.even = end
        if happens:
            self.plans.pop(0)[1]()
        return happens

    def deliverer(self, stale_after: float = 1e12) -> Deliverer:
        config = Config(agents=self.agents, gateways={name: {"type": "recorder"} for name in "abc"})
        end = self.even + stale_after
        return Deliverer(
            self.outbox,
            config,
            {"recorder": self},
            self.journal,
            workers=Waiting(self),
            retry=RetryPolicy(lambda longest: self.jitter(longest)),
            clock=lambda: self.even,
            is_stale=lambda: self.even >= end,
        )

    def stay(self, stale_after: float = 1e12) -> bool:
        """Run one deliverer until nothing is left, or so many seconds; return whether something is."""
        left = []
        deliverer = self.deliverer(stale_after)
        deliver_all(self.outbox, lambda: left.append(deliverer.stay()))
        return left[-1] if left else False

    def texts(self) -> list[str]:
        return [wake.text for _, _, wake in self.delivered]


class Waiting(Inline):
    """Lets the time of the simulation pass instead of waiting."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._changed = False

    def wait(self, timeout: float) -> list[Any]:
        ended = super().wait(timeout)
        if not ended:
            self._changed = self._world.pass_time(timeout)
        return ended

    def changed(self) -> bool:
        return self._changed


@pytest.fixture
def world(hookrouter_home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(Home.in_folder(str(hookrouter_home)), monkeypatch)


@pytest.mark.parametrize("killed_every", [1e9, 1000.0])
@pytest.mark.parametrize(
    "sessions",
    [*(pytest.param(count, marks=pytest.mark.slow) for count in (1, 2)), 5, pytest.param(50, marks=pytest.mark.slow)],
)
def test_a_gateway_that_is_dead_for_an_hour(world: World, sessions: int, killed_every: float) -> None:
    """50 questions over several sessions: all are delivered afterwards, none twice, in order in each session."""
    world.answer = lambda _wake: FAILED if world.even < HOUR else SENT
    for number in range(50):
        # Asked all through the outage.
        world.at(number * 70, lambda number=number: world.put(f"{number:02}", f"session-{number % sessions}"))  # type: ignore[misc]
    world.pass_time(0)

    while world.stay(killed_every) or world.plans:
        if not world.outbox.count():
            world.pass_time(HOUR)

    assert sorted(world.texts()) == [f"{number:02}" for number in range(50)]
    for session in range(sessions):
        texts = [wake.text for _, _, wake in world.delivered if wake.session == f"session-{session}"]
        assert texts == sorted(texts)
    assert world.outbox.count() == 0
    assert max(moment for moment, _, _ in world.delivered) <= HOUR + LONGEST_WAIT + 100, "soon after it is back"
    assert len([1 for moment, _, _ in world.asked if moment < HOUR]) < 50 * 15, "a dead gateway is not hammered"


@given(data=st.data())
def test_whatever_outages_there_are_each_is_delivered_once_and_in_order(world: World, data: st.DataObject) -> None:
    start, world.delivered, world.plans = world.even, [], []
    outages = data.draw(
        st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 20_000), st.floats(1, 20_000)), max_size=6)
    )
    messages = data.draw(st.lists(st.tuples(st.floats(0, 10_000), st.sampled_from("xyz")), min_size=1, max_size=12))
    jumps = data.draw(st.lists(st.tuples(st.floats(0, 20_000), st.floats(-1e6, 1e6)), max_size=3))
    # One after the other, as a random wait differs each time: waits that are all tiny would be tried for hours.
    jitters = cycle([*data.draw(st.lists(st.floats(0.001, 1), max_size=5)), 0.5])
    killed = data.draw(st.floats(100, 30_000))
    world.jitter = lambda longest: longest * next(jitters)

    def answer(wake: Message) -> SendResult:
        moment = world.even - start
        down = any(name == wake.gateway and begin <= moment < begin + length for name, begin, length in outages)
        return FAILED if down else SENT

    def jump(seconds: float) -> None:
        world.wall += seconds

    world.answer = answer
    put: list[str] = []

    def ask(number: int, session: str) -> None:
        world.put(str(number), session, fallbacks=["b"])
        put.append(str(number))

    for number, (moment, session) in enumerate(sorted(messages)):
        world.at(start + moment, lambda number=number, session=session: ask(number, session))  # type: ignore[misc]
    for moment, seconds in jumps:
        world.at(start + moment, lambda seconds=seconds: jump(seconds))  # type: ignore[misc]

    for _ in range(10_000):
        if not world.stay(killed) and not world.outbox.count():
            if not world.plans:
                break
            world.pass_time(1e6)

    assert sorted(world.texts()) == sorted(put)
    for session in "xyz":
        ids = [wake.id for _, _, wake in world.delivered if wake.session == session]
        if not jumps:
            assert ids == sorted(ids)


@pytest.mark.slow
def test_a_message_is_given_up_after_a_day_of_trying_and_stays_listed(world: World) -> None:
    world.answer = lambda _wake: FAILED
    wake = world.put("hello")

    assert not world.stay()

    [message] = world.outbox.pending()
    assert KEEP_TRYING <= world.even < KEEP_TRYING + 2 * LONGEST_WAIT
    assert message.given_up.reason == "tried for 24 hours; the last time: connection refused"
    waits = [later[0] - earlier[0] for earlier, later in zip(world.asked, world.asked[1:], strict=False)]
    assert waits[:5] == pytest.approx([1, 2, 4, 8, 16], abs=0.1)
    assert max(waits) <= LONGEST_WAIT + 1

    assert not world.stay(), "it is not tried again by itself"
    world.answer = lambda _wake: SENT
    assert world.outbox.retry(wake.id)
    world.stay()
    assert world.texts() == ["hello"]


@pytest.mark.slow
def test_a_message_that_a_person_retries_gets_a_whole_day_again(world: World) -> None:
    world.answer = lambda _wake: FAILED
    wake = world.put("hello")
    world.stay()
    world.outbox.retry(wake.id)
    begin = world.even
    world.stay()
    assert world.even - begin >= KEEP_TRYING


@pytest.mark.parametrize("jump", [-1e7, -3600.0, 3600.0, 1e7])
def test_a_clock_jump_neither_gives_a_message_up_nor_keeps_it(world: World, jump: float) -> None:
    world.answer = lambda _wake: FAILED if world.even < 1500 else SENT
    world.put("hello")

    def set_clock() -> None:
        world.wall += jump

    world.at(700, set_clock)
    world.stay(stale_after=900)
    world.stay()

    assert world.texts() == ["hello"]
    assert world.delivered[0][0] < 1500 + LONGEST_WAIT + 60


def test_a_sleep_of_the_machine_does_not_give_a_message_up(world: World) -> None:
    world.answer = lambda _wake: FAILED
    world.put("hello")
    world.stay(100)
    world.wall += 3 * 86400
    world.answer = lambda _wake: SENT if world.even > 200 else FAILED
    world.stay()
    assert world.texts() == ["hello"]


def test_the_next_gateway_takes_over_when_the_first_has_failed_for_a_time(world: World) -> None:
    world.answer = lambda wake: FAILED if wake.gateway == "a" else SENT
    world.put("one", fallbacks=["b"])

    world.stay()

    [(moment, gateway, _)] = world.delivered
    assert gateway == "b"
    assert 60 <= moment < 61
    assert world.outbox.count() == 0
    assert [gateway for _, gateway, _ in world.asked][-2:] == ["a", "b"], "the first is asked first"


def test_the_first_gateway_takes_it_where_it_is_back_in_time(world: World) -> None:
    world.answer = lambda wake: FAILED if wake.gateway == "a" and world.even < 30 else SENT
    world.put("one", fallbacks=["b"])
    world.stay()
    assert [gateway for _, gateway, _ in world.delivered] == ["a"]


def test_the_next_gateway_takes_over_at_once_where_the_first_refuses(world: World) -> None:
    world.answer = lambda wake: REFUSED if wake.gateway == "a" else SENT
    world.put("one", fallbacks=["b"])
    world.put("two", fallbacks=["b"])
    world.stay()
    assert [(moment, gateway, wake.text) for moment, gateway, wake in world.delivered] == [
        (0, "b", "one"),
        (0, "b", "two"),
    ]


def test_a_message_that_every_gateway_refuses_is_given_up(world: World) -> None:
    world.answer = lambda wake: REFUSED
    world.put("one", fallbacks=["b"])
    assert not world.stay()
    [message] = world.outbox.pending()
    assert message.given_up.reason == "a: wrong token; b: wrong token"


def test_with_the_first_gateway_known_to_be_dead_a_new_question_waits_no_time(world: World) -> None:
    world.answer = lambda wake: FAILED if wake.gateway == "a" else SENT
    world.put("old", fallbacks=["b"])
    world.at(0, lambda: world.put("stuck", "other"))
    world.at(100, lambda: world.put("new", fallbacks=["b"]))
    world.stay(200)
    assert [(round(moment), wake.text) for moment, _, wake in world.delivered] == [(60, "old"), (100, "new")]


def test_an_older_document_without_the_newer_fields_is_delivered(world: World) -> None:
    wake = world.put("old")
    store = Store(os.path.join(world.home.state, "outbox"), print)
    fields = {"attempts": 12, "last_attempt_at": None, "last_error": "x", "next_attempt_at": None, "given_up": None}
    store.write("wake", wake.id, {"version": 1, **wake._asdict(), **fields})
    world.stay()
    assert world.delivered[0][2] == wake


QUESTION = {"kind": "question", "names": ["s", "s:toolu_1"], "fields": {"session": "s", "tool_use_id": "toolu_1"}}


def wake_of_kind(kind: str, gateway: str = "a") -> Message:
    return Message(kind, "main", gateway, "s", "sid", "toolu_1", kind, kind)


def asked_with_reminders(world: World) -> None:
    world.store.write("question", "s", {"session": "s", "tool_use_id": "toolu_1"})
    second = ScheduledMessage(wake_of_kind("second"), 300)
    first = ScheduledMessage(wake_of_kind("first"), 600, then=(second,))
    person = ScheduledMessage(wake_of_kind("person", "c"), 3600, after_delivery=False)
    world.put("question", then=[first, person], while_open=QUESTION)


def times(world: World) -> list[tuple[int, str]]:
    return [(round(moment), wake.text) for moment, _, wake in world.delivered]


@pytest.mark.parametrize("killed_every", [1e9, 450.0, 31.0])
def test_what_follows_goes_out_in_its_time(world: World, killed_every: float) -> None:
    asked_with_reminders(world)
    while world.stay(killed_every):
        pass
    assert times(world) == [(0, "question"), (600, "first"), (900, "second"), (3600, "person")]
    assert world.outbox.count() == 0
    assert len({wake.id for _, _, wake in world.delivered}) == 4


def test_what_follows_is_dropped_unsent_when_the_question_is_over(world: World) -> None:
    asked_with_reminders(world)
    world.at(700, lambda: world.store.delete("question", "s"))
    world.stay()
    assert times(world) == [(0, "question"), (600, "first")]
    assert world.outbox.count() == 0
    assert world.even < 800, "the deliverer does not stay for it"


def test_another_question_of_the_session_does_not_keep_the_reminders_of_the_first(world: World) -> None:
    asked_with_reminders(world)
    world.at(100, lambda: world.store.write("question", "s", {"session": "s", "tool_use_id": "toolu_2"}))
    world.stay()
    assert times(world) == [(0, "question")]


def test_a_dead_gateway_gets_no_reminder_of_what_it_did_not_take_but_the_person_is_told(world: World) -> None:
    asked_with_reminders(world)
    world.answer = lambda wake: FAILED if wake.gateway == "a" and world.even < 2 * HOUR else SENT
    world.stay()
    kinds = [wake.text for _, _, wake in world.delivered]
    assert kinds == ["person", "question", "first", "second"]
    moments = [moment for moment, _, _ in world.delivered]
    assert moments[0] == pytest.approx(HOUR, abs=1)
    assert moments[2] - moments[1] == pytest.approx(600, abs=1)


@pytest.mark.parametrize("jump", [-1e6, 1e6])
def test_a_clock_jump_does_not_move_what_follows(world: World, jump: float) -> None:
    asked_with_reminders(world)

    def set_clock() -> None:
        world.wall += jump

    world.at(100, set_clock)
    world.stay()
    assert times(world) == [(0, "question"), (600, "first"), (900, "second"), (3600, "person")]


def test_dropping_a_message_drops_what_would_follow_its_delivery(world: World) -> None:
    asked_with_reminders(world)
    for name in world.outbox.ids():
        world.outbox.remove(name)
    world.stay()
    assert world.delivered == []


@pytest.mark.parametrize("step", range(1, 12))
def test_killed_between_any_two_changes_of_the_outbox(world: World, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever write or removal is the last one, each message goes out, and after it was noted never twice."""
    asked_with_reminders(world)
    count = 0

    class Killed(BaseException):
        pass

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == step:
                raise Killed
            return method(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", counting(Store.write))
        patch.setattr(Store, "delete", counting(Store.delete))
        try:
            world.stay()
        except Killed:
            world.outbox = Outbox(world.home, print)
    world.stay()

    texts = world.texts()
    assert list(dict.fromkeys(texts)) in (
        ["question", "first", "second", "person"],
        ["question", "person", "first", "second"],
    )
    assert len(texts) <= 5
    assert len({wake.id for _, _, wake in world.delivered}) == 4, "one that is sent again has the same id"
    assert world.outbox.count() == 0


def refuse(*_arguments: object, **_options: object) -> Any:
    raise StoreError("cannot write: No space left on device")


def test_a_full_disk_does_not_make_a_dead_gateway_be_asked_without_a_pause(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.answer = lambda _wake: FAILED if world.even < HOUR else SENT
    world.put("hello")
    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", refuse)
        world.stay()
    assert world.texts() == ["hello"]
    assert len(world.asked) < 30


def test_a_delivered_message_that_cannot_be_removed_is_not_sent_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put("one")
    world.put("two")
    with monkeypatch.context() as patch:
        patch.setattr(Store, "delete", refuse)
        world.at(300, patch.undo)
        world.stay()
    assert world.texts() == ["one", "two"]
    assert world.outbox.count() == 0


@pytest.mark.slow
def test_a_thousand_messages_are_read_a_few_times_each(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1000):
        world.put(str(number), f"session-{number % 40}")
    reads = 0
    real = Outbox.get

    def get(self: Outbox, name: str) -> Any:
        nonlocal reads
        reads += 1
        return real(self, name)

    monkeypatch.setattr(Outbox, "get", get)
    world.stay()

    assert len(world.delivered) == 1000
    assert reads <= 5000, "work that grows with the square of the messages"
