"""What every resident process must do, tried with real sockets and a process of its own, as the router keeps it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.waiting import wait_until
from hookrouter._serving.kept_process import KeptProcess
from hookrouter._serving.kept_processes import checked
from hookrouter.serving.resident import Place, Plan, ResidentProcess, State
from hookrouter.storage.home import ensure
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ResidentProcessContract"]

SECONDS = 20.0
"""How long a process may take to begin and to end."""

QUICK = 0.1
"""Seconds that a plan may take: the router takes no call meanwhile."""

HEAVY = ("typer", "uvicorn", "starlette", "asyncio", "requests")
"""What the router must not load for the sake of a plan."""


class ResidentProcessContract:
    """Subclass it, and give two fixtures, in the class or its module: ``process``, and ``place``.

    ``process`` is the ResidentProcess, a new one for each test; ``place`` a Place with which it has a plan whose
    sockets are free, in the home of the fixture ``hookrouter_home``. The fixture ``started`` starts the process.
    """

    @pytest.fixture
    def kept(self, process: ResidentProcess, place: Place) -> Iterator[KeptProcess]:
        """The process as the router keeps it, with its sockets; it is ended after the test."""
        ensure(place.home.router)
        one = KeptProcess(process, place.home.router, {})
        one.tend(place)
        yield one
        if one.pid:
            pid = one.pid
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        one.remove()

    @pytest.fixture
    def started(self, kept: KeptProcess) -> Callable[[], int]:
        """Start the process whatever its plan waits for, and return its id."""

        def start() -> int:
            if not kept.pid:
                kept.begin()
            assert kept.pid, kept.status()
            return kept.pid

        return start

    def test_it_has_a_name_and_a_function_that_is_there(self, process: ResidentProcess) -> None:
        assert checked(process) == ""
        module, _, function = process.target.partition(":")
        assert callable(getattr(import_module(module), function))

    def test_its_plan_is_quick_and_the_same_while_nothing_changes(self, process: ResidentProcess, place: Place) -> None:
        first = process.plan(place)
        began = time.monotonic()
        second = process.plan(place)
        assert time.monotonic() - began < QUICK, "the router takes no call while it asks for a plan"
        assert isinstance(first, Plan), "the place is to be one with which it has a plan"
        assert first.problem == ""
        assert second == first, "a plan that differs from the one before restarts the process"

    def test_the_router_loads_no_server_for_it(self, process: ResidentProcess) -> None:
        module = type(process).__module__
        asked = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
        path = os.pathsep.join(filter(None, sys.path))
        environ = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, env=environ)
        loaded = [name for name in json.loads(done.stdout) if name in HEAVY]
        assert not loaded, f"put what it runs in another module than {module}"

    def test_it_is_told_of_in_json_and_in_one_line(self, process: ResidentProcess, place: Place) -> None:
        plan = process.plan(place)
        assert plan is not None
        for state in (State(name=process.name), State(name=process.name, problem="the disk is full")):
            status = process.status(plan, state)
            assert json.loads(json.dumps(status)) == status
            assert ("the disk is full" in str(status.get("problem"))) == bool(state.problem)
            line = process.line(status)
            assert line == printable(line) != ""

    def test_it_has_its_sockets_and_ends_by_a_signal(self, kept: KeptProcess, started: Callable[[], int]) -> None:
        pid = started()
        status = kept.status()
        assert status is not None
        assert not status.get("problem")
        os.kill(pid, signal.SIGTERM)
        # It may not have come so far that it takes the signal itself.
        assert self._end_of(kept, pid) in (0, -signal.SIGTERM)

    def test_it_ends_when_its_parent_is_not_the_router(
        self, process: ResidentProcess, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ensure(place.home.router)
        kept = KeptProcess(process, place.home.router, {})
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: 1)
            kept.tend(place)
            if not kept.pid:
                kept.begin()
        assert self._end_of(kept, kept.pid) == 0
        kept.remove()

    def _end_of(self, kept: KeptProcess, pid: int) -> int:
        """Return the exit code of a process that is about to end."""
        ended: list[int] = []

        def has_ended() -> bool:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                ended.append(os.waitstatus_to_exitcode(status))
            return bool(found)

        wait_until(has_ended, SECONDS, "the end of the process")
        kept.ended(pid, 0)
        return ended[0]
