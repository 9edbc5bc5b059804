"""Whatever is cut off, and whoever acts meanwhile: no item is submitted twice or lost, and they keep their order."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hookrouter.queue.items import DELIVERING, DONE, QUEUED, STARTED
from support.queue_world import World

STEPS = st.one_of(st.none(), st.integers(0, 12))
"""After how many writes and acts a process is killed; None for not at all."""


def check(world: World, sent: Sequence[tuple[str, str]], others: Collection[str] = ()) -> None:
    """See that what was sent, as ids and texts in order, was submitted at most once, in order, and is accounted for."""
    ours = {text for _id, text in sent}
    order = [text for text in world.submitted if text in ours]
    assert len(order) == len(set(order)), order
    assert order == [text for _id, text in sent if text in order]
    assert set(world.submitted) - ours <= set(others)
    items = world.items()
    assert set(items) == {name for name, _text in sent}
    for name, text in sent:
        item, count = items[name], order.count(text)
        if item.state == QUEUED:
            assert count == 0, item
        elif item.state in (STARTED, DONE):
            assert count == 1, item
        else:
            assert item.state == DELIVERING or item.reason, item


@pytest.mark.parametrize("text", ["a prompt", "/rename it", "/compact keep it", "/clear"])
@pytest.mark.parametrize("hooks_between", [False, True])
@given(first=st.integers(0, 9), second=st.sampled_from([None, 1, 3, 5]))
def test_two_deliverers_that_are_killed_at_any_step_are_followed_by_one_that_goes_on(
    tmp_path: Path, text: str, hooks_between: bool, first: int, second: int | None
) -> None:
    world = World(Path(tempfile.mkdtemp(dir=tmp_path)))
    patches = pytest.MonkeyPatch()
    for module in ("records", "running_clients"):
        patches.setattr(f"hookrouter.sessions.{module}.is_gone", lambda pid: pid in world.dead)
    try:
        world.start_client()
        world.run_hooks()
        sent = [(item.id, item.text) for item in (world.send(text), world.send("the next one"))]
        for killed_after in (first, second, None):
            world.deliver(killed_after)
            check(world, sent)
            if hooks_between:
                world.run_hooks()
                check(world, sent)
        world.run_hooks()
        world.end_turn()
        world.run_hooks()
        for _ in range(2):
            world.resume()
            world.deliver()
            world.end_turn()
            world.run_hooks()
        check(world, sent)
        assert "the next one" in world.submitted, world.queue
    finally:
        world.close()
        patches.undo()


class QueueMachine(RuleBasedStateMachine):
    """A session with a queue, to which everything happens that can."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp())
        self._patch = pytest.MonkeyPatch()
        self.world = World(self._folder)
        for module in ("records", "running_clients"):
            self._patch.setattr(f"hookrouter.sessions.{module}.is_gone", lambda pid: pid in self.world.dead)
        self.sent: list[tuple[str, str]] = []
        self.typed_by_person: set[str] = set()

    def teardown(self) -> None:
        self.world.close()
        self._patch.undo()
        shutil.rmtree(self._folder, ignore_errors=True)

    @initialize()
    def begin(self) -> None:
        self.world.start_client()
        self.world.run_hooks()

    @rule(
        form=st.sampled_from(["prompt {}", "two\nlines {}", "/rename {}", "/compact keep {}", "/clear {}", "refuse {}"])
    )
    def send(self, form: str) -> None:
        item = self.world.send(form.format(len(self.sent)))
        self.sent.append((item.id, item.text))

    @rule(killed_after=STEPS)
    def deliver(self, killed_after: int | None) -> None:
        self.world.deliver(killed_after)

    @rule(killed_after=STEPS)
    def hooks(self, killed_after: int | None) -> None:
        self.world.run_hooks(killed_after=killed_after)

    @rule(killed_after=STEPS)
    def turn_ends(self, killed_after: int | None) -> None:
        self.world.end_turn()
        self.world.run_hooks(killed_after=killed_after)

    @rule()
    def hook_is_lost(self) -> None:
        self.world.lose_hook()

    @rule()
    def person_types(self) -> None:
        self.world.box += "x"

    @precondition(lambda self: set(self.world.box) <= {"x"} and self.world.box)
    @rule()
    def person_submits(self) -> None:
        self.typed_by_person.add(self.world.box)
        self.world.press_enter()

    @precondition(lambda self: "x" in self.world.box)
    @rule()
    def person_clears_the_box(self) -> None:
        self.world.box = ""

    @rule()
    def escape(self) -> None:
        self.world.press_escape()

    @rule()
    def resume(self) -> None:
        self.world.resume()

    @rule(killed_after=STEPS)
    def client_is_replaced(self, killed_after: int | None) -> None:
        self.world.start_client()
        self.world.run_hooks(killed_after=killed_after)

    @invariant()
    def nothing_is_submitted_twice_lost_or_out_of_order(self) -> None:
        check(self.world, self.sent, self.typed_by_person)


QueueMachine.TestCase.settings = settings(stateful_step_count=25)
TestQueueMachine = QueueMachine.TestCase
