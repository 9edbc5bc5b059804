"""What happens meanwhile: one thing after the other to the database, and one after the other to the machines."""

from __future__ import annotations

import collections
import random
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from live.fleet_chaos.database import Database
    from live.fleet_chaos.machine import Machine

    _Thing = Callable[[Callable[[], object]], None]
    """Does it, and undoes it once what it is given has returned."""

__all__ = ["Trouble"]

_REST = (0.5, 5.0)
"""Seconds between two things."""


class Trouble:
    """Two threads, for one ``with`` block. The seed decides what happens, but not when: that is up to the machine."""

    def __init__(self, database: Database, machines: Sequence[Machine], seed: int, *, can_fill: bool) -> None:
        self.done: collections.Counter[str] = collections.Counter()
        """How often each thing was done."""
        self.failed: list[str] = []
        """What could not be done, or undone: the run is worth nothing then."""
        self._is_over = threading.Event()
        chances = random.Random(f"machines {seed}")
        of_database: dict[str, tuple[_Thing, float]] = {
            "database restarted": (database.restart, 3),
            "database paused": (database.pause, 7),
            "connections ended": (database.end_connections, 1),
            "network cut": (database.cut, 5),
            "network silent": (database.swallow, 8),
        }
        if can_fill:
            of_database["disk full"] = (database.fill, 6)
        of_machines: dict[str, tuple[_Thing, float]] = {
            "router killed": (lambda rest: chances.choice(machines).kill_router(rest), 3),
            "sharing killed": (lambda rest: chances.choice(machines).kill_sharing(rest), 1),
            "sharing stopped": (lambda rest: chances.choice(machines).stop_sharing(rest), 25),
        }
        self._threads = [
            threading.Thread(target=self._go_on, args=(random.Random(f"{name} {seed}"), things))
            for name, things in (("database", of_database), ("machine", of_machines))
        ]

    def __enter__(self) -> Trouble:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _go_on(self, chances: random.Random, things: Mapping[str, tuple[_Thing, float]]) -> None:
        while not self._is_over.wait(chances.uniform(*_REST)):
            name = chances.choice(sorted(things))
            do, longest = things[name]
            try:
                seconds = chances.uniform(0, longest)
                do(lambda seconds=seconds: self._is_over.wait(seconds))  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001 - whatever it is, the run must be told of it
                self.failed.append(f"{name}: {type(error).__name__}: {error}")
                return
            self.done[name] += 1
