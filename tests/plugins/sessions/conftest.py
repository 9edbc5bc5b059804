"""A session with a queue in this process, and which of its clients run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.queue_world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World(tmp_path)
    for module in ("records", "running_clients"):
        monkeypatch.setattr(f"hookrouter.sessions.{module}.is_gone", lambda pid: pid in world.dead)
    world.start_client()
    world.run_hooks()
    yield world
    world.close()
