"""That a queue is done is told whatever its last item was, once for each queue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hookrouter.config import Agent, Config, SessionsConfig
from support.queue_world import World

LAST = ["a prompt", "/compact", "/compact keep the plan", "/context", "/rename it", "/clear"]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    def make(*wake_on: str) -> World:
        world = World(tmp_path)
        for module in ("records", "running_clients"):
            monkeypatch.setattr(f"hookrouter.sessions.{module}.is_gone", lambda pid: pid in world.dead)
        agent = Agent(id="night", wake_on=wake_on)
        world.config = Config(agents=(agent,), sessions=SessionsConfig(channels=("model",), proof_wait=0.03))
        world.start_client()
        world.run_hooks()
        return world

    return make


def run_queue(world: World) -> list[str]:
    """Deliver all that waits, let each turn end, and return the kinds of what was told meanwhile."""
    for message in world.messages():
        world.app.outbox.remove(message.id)
    for _ in range(20):
        world.deliver()
        world.run_hooks()
        world.end_turn()
        world.run_hooks()
        if not world.queue.items or world.queue.hold is not None:
            break
    assert world.queue.hold is None
    return [one.kind for one in world.messages() if world.app.outbox.tries.is_wanted(one)]


@pytest.mark.parametrize("wake_on", [("queue_done",), ("queue_done", "turn_ended")], ids="+".join)
@pytest.mark.parametrize("last", LAST)
def test_each_queue_is_told_to_be_done(make: Callable[..., World], last: str, wake_on: tuple[str, ...]) -> None:
    world = make(*wake_on)
    world.send("the first prompt")
    world.send(last)
    assert run_queue(world) == ["queue_done"]
    for _ in range(2):
        world.send(last)
        assert run_queue(world) == ["queue_done"], last
    world.close()
