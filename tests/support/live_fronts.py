"""Live tests through a front: ``HOOKROUTER_TEST_FRONT=python`` or ``native`` has their stages use one beside a router.

Whatever :meth:`Stage.install` registers is then started by that front, and a router runs for the stage's home until
the session ends. What the routers have to say is part of pytest's report: how many calls came, and why some ran cold.
"""

from __future__ import annotations

import json
import os
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hookrouter._contract.tables import EVENT_NAMES
from hookrouter._sandbox.stage import Stage
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv
from support.fronts import FRONTS, front_words
from support.resident import CALLER_LEFT, Resident

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

__all__ = ["CALLS", "VARIABLE", "LiveRouters", "chosen_front"]

VARIABLE = "HOOKROUTER_TEST_FRONT"

CALLS = "calls that a router took"
"""Name of the property of a test's report that says how many."""


def chosen_front() -> str:
    """Return the front of this session's stages. Raises ValueError for one that there is not."""
    name = os.environ.get(VARIABLE) or "cold"
    if name not in FRONTS:
        raise ValueError(f"{VARIABLE}: found {name!r}; allowed: {', '.join(FRONTS)}")
    return name


class LiveRouters:
    """The routers of stages whose hooks a front starts."""

    def __init__(self, name: str, folder: Path) -> None:
        """``name`` is one of FRONTS, not ``cold``; ``folder`` is where a native one is compiled."""
        self._words = front_words(name, folder)
        self._routers: dict[str, Resident] = {}

    @contextmanager
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveRouters]:
        """Have every stage register the front; end the routers afterwards."""
        install = Stage.install

        def install_front(stage: Stage, *options: str) -> None:
            install(stage, *options)
            if not options:
                self.register(stage)

        monkeypatch.setattr(Stage, "install", install_front)
        try:
            yield self
        finally:
            for router in self._routers.values():
                router.kill()

    def register(self, stage: Stage) -> None:
        """Put the front before the program in a stage's settings, and see to it that a router serves its home."""
        # The front that install chooses depends on what was built.
        done = stage.run("install", "--settings", stage.client_home.settings_file, "--front", "cold")
        assert done.returncode == 0, done.stderr
        settings = stage.client_home.read_settings()
        cold = f"{shlex.join(script_argv())} run "
        front = f"{shlex.join([*self._words, stage.home.router])} {cold}"
        commands = 0
        for groups in settings["hooks"].values():
            for hook in (hook for group in groups for hook in group["hooks"]):
                if cold in hook["command"] and front not in hook["command"]:
                    hook["command"] = hook["command"].replace(cold, front)
                    commands += 1
        assert commands, settings["hooks"]
        stage.client_home.write_settings(settings)
        if stage.home.root not in self._routers:
            self._routers[stage.home.root] = router = Resident(stage.environ)
            router.start()

    def calls(self) -> int:
        """Return how many calls the routers took so far."""
        return sum(router.status()["calls"] for router in self._routers.values())

    def assert_served(self) -> None:
        """Make sure that every hook run that is in the journals was a router's."""
        for router in self._routers.values():
            status = router.status()
            served = status["calls"] - sum(status["sent_away"].values())
            runs = _runs(Home.from_environ(router.environ))
            assert served >= runs, f"{runs} hook runs, {served} of them the router's: {status['sent_away']}"
            # A hook that was killed before its call had begun was not sent away.
            assert set(status["sent_away"]) <= {CALLER_LEFT}, status["sent_away"]


def _runs(home: Home) -> int:
    """Return how many hook runs wrote a record."""
    lines = (line for path in Path(home.logs).glob("*.jsonl") for line in path.read_bytes().splitlines())
    return sum(record.get("event") in EVENT_NAMES for record in map(json.loads, lines))
