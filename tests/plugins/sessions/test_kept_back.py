"""An item has a budget: what keeps it back is left to the other channels, and is held or told within a minute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hookrouter.config import Agent, Config, SessionsConfig
from hookrouter.markers import hookimpl
from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptRequest, PromptStatus
from hookrouter.queue.items import FAILED, QUEUED
from hookrouter.storage.interface import StoreError
from hookrouter_sessions.channels.stop import StopChannel
from support.queue_world import World

MINUTE = 60.0
HOURS = 3 * 3600.0

WAITS = PromptOutcome(PromptStatus.NOT_NOW, "somebody's text is in the prompt box", is_person=True)
TRIES = PromptOutcome(
    PromptStatus.NOT_NOW, "the prompt box shows something else than what was typed", steps=("paste",), is_try=True
)
NOWHERE = PromptOutcome(PromptStatus.NOT_NOW, "there is no prompt box on the screen", is_try=True)
CANNOT = PromptOutcome(PromptStatus.UNAVAILABLE, "no hook takes it")
REFUSES = PromptOutcome(PromptStatus.REFUSED, "it holds a tab")


class Scripted(PromptChannel):
    """A channel that always says the same, and counts how often it was asked to submit something."""

    def __init__(self, world: World, name: str, says: PromptOutcome | None, seconds: float = 3.0) -> None:
        self.world, self.name, self.says, self.seconds = world, name, says, seconds
        self.asked: list[str] = []

    def refusal(self, request: PromptRequest) -> str:
        return ""

    def submit(self, request: PromptRequest) -> PromptOutcome:
        self.asked.append(request.item.id)
        self.world.time.sleep(self.seconds)
        if self.says is not None:
            return self.says
        request.save_phase("entered")
        self.world.box = request.item.text
        self.world.press_enter()
        self.world.run_hooks()
        return PromptOutcome(PromptStatus.SUBMITTED, "it was submitted")


class Bringing:
    """The plugin that brings a channel."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel

    @hookimpl
    def prompt_channel(self) -> Any:
        return self.channel


class Place(NamedTuple):
    world: World
    channels: Mapping[str, Any]

    @property
    def told(self) -> list[str]:
        """What the agent was told, the reasons alone."""
        return [str(one.data["reason"]) for one in self.world.messages()]


Make = Callable[..., Place]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    world = World(tmp_path)
    for module in ("records", "running_clients"):
        monkeypatch.setattr(f"hookrouter.sessions.{module}.is_gone", lambda pid: pid in world.dead)

    def make(**says: PromptOutcome | type | None) -> Place:
        channels = [StopChannel() if name == "stop" else Scripted(world, name, one) for name, one in says.items()]  # type: ignore[arg-type]
        world.contributions = {one.name: Bringing(one) for one in channels}
        agent = Agent(id="night", wake_on=("queue_held",))
        world.config = Config(agents=(agent,), sessions=SessionsConfig(channels=tuple(says), proof_wait=0.03))
        world.start_client()
        world.run_hooks()
        return Place(world, {one.name: one for one in channels})

    yield make
    world.close()


def test_a_channel_for_the_end_of_a_turn_leaves_an_idle_session_to_nobody(make: Make) -> None:
    one = make(keys=REFUSES, doorbell=CANNOT, stop=None)
    item = one.world.send("a\tb")
    one.world.deliver_for(MINUTE)
    queue = one.world.queue
    assert queue.hold is not None
    assert queue.hold.cause == "undelivered"
    for said in ("keys: it holds a tab", "doorbell: no hook takes it", "stop: "):
        assert said in queue.hold.reason
    kept = queue.item(item.id)
    assert kept is not None
    assert kept.state == QUEUED
    assert one.told == [queue.hold.reason]


def test_once_the_hold_is_ended_it_is_tried_again(make: Make) -> None:
    one = make(keys=REFUSES, doorbell=CANNOT, stop=None)
    one.world.send("a\tb")
    one.world.deliver_for(MINUTE)
    one.channels["doorbell"].says = None
    one.world.resume()
    one.world.deliver_for(1.0)
    assert one.world.submitted == ["a\tb"]


def test_a_channel_that_cannot_serve_the_state_is_asked_again_before_the_queue_is_held(make: Make) -> None:
    one = make(doorbell=CANNOT)
    item = one.world.send("go on")
    one.world.deliver_for(MINUTE)
    assert one.channels["doorbell"].asked.count(item.id) > 1
    assert one.world.queue.hold is not None


def test_what_a_channel_puts_in_in_vain_is_left_to_the_next_one(make: Make) -> None:
    one = make(keys=TRIES, doorbell=None)
    one.world.send("400 characters in 80x10")
    one.world.deliver_for(MINUTE)
    assert one.world.submitted == ["400 characters in 80x10"]
    assert len(one.channels["keys"].asked) > 1


def test_what_no_channel_can_put_in_fails_and_is_told(make: Make) -> None:
    one = make(keys=TRIES, stop=None)
    item = one.world.send("!!")
    one.world.deliver_for(MINUTE)
    failed = one.world.items()[item.id]
    assert failed.state == FAILED
    assert "shows something else than what was typed" in failed.reason
    assert one.world.queue.hold is None or one.world.queue.hold.cause == "failed"
    assert len(one.told) == 1


def test_an_item_that_could_not_even_be_begun_stays_the_next_one(make: Make) -> None:
    one = make(keys=NOWHERE)
    item = one.world.send("go on")
    one.world.deliver_for(MINUTE)
    queue = one.world.queue
    assert queue.hold is not None
    assert queue.hold.cause == "undelivered"
    assert [(kept.id, kept.state) for kept in queue.items] == [(item.id, QUEUED)]


def test_the_next_item_has_a_budget_of_its_own(make: Make) -> None:
    one = make(keys=TRIES)
    one.world.send("!!")
    one.world.deliver_for(MINUTE)
    second = one.world.send("go on")
    one.world.resume()
    one.world.deliver_for(MINUTE)
    assert one.channels["keys"].asked.count(second.id) > 1


def test_a_draft_is_told_once_and_waited_for(make: Make) -> None:
    one = make(keys=WAITS, doorbell=None)
    item = one.world.send("go on")
    one.world.deliver_for(MINUTE)
    assert one.told == ["somebody's text is in the prompt box"]
    assert "continues by itself" in one.world.messages()[0].text
    one.world.deliver_for(HOURS)
    queue = one.world.queue
    assert queue.hold is None
    assert [(kept.id, kept.state) for kept in queue.items] == [(item.id, QUEUED)]
    assert len(one.told) == 1
    assert one.world.submitted == []
    one.channels["keys"].says = None
    one.world.deliver_for(20.0)
    assert one.world.submitted == ["go on"]


@pytest.mark.parametrize("waiting_for", ["dialog open", "permission prompt"])
def test_a_dialog_of_which_no_hook_tells_is_told(make: Make, monkeypatch: pytest.MonkeyPatch, waiting_for: str) -> None:
    from hookrouter.queue.delivery import sight
    from hookrouter.sessions.running_clients import RunningClient

    one = make(keys=None)
    client = RunningClient(
        pid=one.world.pid, session_id=one.world.session_id, folder="", status="waiting", waiting_for=waiting_for
    )
    monkeypatch.setattr(sight, "running_client", lambda *_of: client)
    one.world.send("go on")
    one.world.deliver_for(MINUTE)
    assert one.told == [f"the session waits: {waiting_for}"]
    assert one.world.submitted == []


def test_a_client_that_is_suspended_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from hookrouter.queue.delivery import sight

    monkeypatch.setattr(sight, "is_client_suspended", lambda _record: True)
    one = make(keys=None)
    one.world.send("go on")
    one.world.deliver_for(MINUTE)
    assert one.told == ["Claude Code is suspended, such as after Ctrl-Z"]


def test_a_turn_that_takes_hours_is_no_news(make: Make) -> None:
    one = make(keys=None)
    one.world.box = "a person's prompt"
    one.world.press_enter()
    one.world.run_hooks()
    one.world.resume()
    one.world.send("go on")
    one.world.deliver_for(HOURS)
    assert one.told == []


def test_what_stays_in_the_session_of_an_attempt_that_was_killed_is_told(make: Make) -> None:
    one = make(keys=WAITS)
    item = one.world.send("go on")

    class Cut(BaseException):
        pass

    def cut(request: PromptRequest) -> PromptOutcome:
        request.save_phase("typing")
        raise Cut

    submit, one.channels["keys"].submit = one.channels["keys"].submit, cut
    with pytest.raises(Cut):
        one.world.deliver_for(1.0)
    one.world.store.held.clear()
    one.channels["keys"].submit = submit
    one.world.deliver_for(MINUTE + 10)
    assert one.told == ["somebody's text is in the prompt box"]
    kept = one.world.queue.item(item.id)
    assert kept is not None
    assert kept.phase == "typing"


def test_an_attempt_that_was_killed_is_counted_like_any_other(make: Make) -> None:
    one = make(keys=TRIES)
    item = one.world.send("go on")

    class Cut(BaseException):
        pass

    def cut(request: PromptRequest) -> PromptOutcome:
        request.save_phase("typing")
        raise Cut

    submit, one.channels["keys"].submit = one.channels["keys"].submit, cut
    with pytest.raises(Cut):
        one.world.deliver_for(1.0)
    one.world.store.held.clear()
    one.channels["keys"].submit = submit
    one.world.deliver_for(MINUTE)
    assert one.world.items()[item.id].state == FAILED


def test_a_channel_that_fails_in_the_store_is_asked_again(make: Make) -> None:
    one = make(keys=None)
    failing = [True]

    def submit(request: PromptRequest) -> PromptOutcome:
        if failing.pop() if failing else False:
            return PromptOutcome(PromptStatus.NOT_NOW, str(StoreError("no space")))
        return Scripted.submit(one.channels["keys"], request)

    one.channels["keys"].submit = submit
    one.world.send("go on")
    one.world.deliver_for(MINUTE)
    assert one.world.submitted == ["go on"]


def test_what_kept_an_item_back_is_not_said_once_the_session_does_something_else(make: Make) -> None:
    one = make(keys=WAITS)
    item = one.world.send("go on")
    one.world.deliver_for(5.0)
    kept = one.world.queue.item(item.id)
    assert kept is not None
    assert kept.reason == WAITS.reason
    one.world.box = "a person's prompt"
    one.world.press_enter()
    one.world.run_hooks()
    one.world.resume()
    one.world.deliver_for(5.0)
    kept = one.world.queue.item(item.id)
    assert kept is not None
    assert kept.reason == ""
