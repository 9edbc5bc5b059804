"""What a dead client has left in a queue goes into no other client by itself."""

from __future__ import annotations

import pytest

from hookrouter.messaging.pauses import begin, end
from hookrouter.queue.documents import change_queue
from hookrouter.queue.items import new_item
from support.queue_world import World


def put(world: World, *texts: str) -> None:
    """Put items in that no deliverer looks at."""
    items = tuple(new_item(text, by="agent") for text in texts)
    change_queue(world.store, world.session, lambda queue: queue._replace(items=(*queue.items, *items)))


def next_client(world: World) -> None:
    """The client is gone without a word, and another one goes on with the session under its name."""
    world.dead.add(world.pid)
    world.pid += 1
    world.hook("SessionStart", source="resume", model="m")
    world.run_hooks()


@pytest.mark.parametrize("before", [(), ("done before",)], ids=["first", "later"])
@pytest.mark.parametrize("how", ["paused", "deliverer killed", "no deliverer"])
def test_a_queue_that_a_dead_client_left_is_held(world: World, how: str, before: tuple[str, ...]) -> None:
    for text in before:
        world.send(text)
        world.deliver()
        world.run_hooks()
        world.end_turn()
        world.run_hooks()
    assert world.submitted == list(before)
    if how == "paused":
        begin(world.store, None)
    put(world, "one", "two")
    if how == "paused":
        world.deliver()
        end(world.store, None)
    elif how == "deliverer killed":
        world.deliver(killed_after=0)
    next_client(world)
    world.deliver()
    assert world.submitted == list(before)
    assert world.queue.hold is not None
    assert world.queue.hold.cause in ("earlier_client", "client_ended")
    assert [item.text for item in world.queue.items] == ["one", "two"]


def test_what_is_put_in_before_any_client_was_there_is_its_own(world: World) -> None:
    world.hook("SessionEnd", reason="other")
    world.run_hooks()
    put(world, "for the next client")
    next_client(world)
    world.deliver()
    assert world.submitted == ["for the next client"]
