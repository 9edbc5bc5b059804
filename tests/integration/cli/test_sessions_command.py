"""`hookrouter sessions --watch`, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hookrouter.util.clock import iso, now
from support.command_watch import command_watch
from support.sessions import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def machine(hookrouter_home: Path) -> Iterator[Machine]:
    found = Machine()
    yield found
    found.close()


@pytest.fixture
def client(machine: Machine) -> Iterator[int]:
    """The process id of a client that other processes find running too."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={})
    machine.enter(process.pid, "s-1", "idle")
    yield process.pid
    process.kill()
    process.communicate()


def test_watching(machine: Machine, client: int) -> None:
    pid = client
    machine.record("work", pid, since=iso(now() - 60))
    with command_watch("sessions", "--watch", "--json", environ=os.environ) as watch:
        first = watch.event(0)
        assert (first["event"], first["session"], first["state"]) == ("session", "work", "idle")
        machine.record("work", pid, "busy")
        assert watch.event(1)["state"] == "busy"
        # No hook tells of these.
        machine.put("work", "go on")
        assert watch.event(2)["queue"]["length"] == 1
        machine.record("work", pid, "busy", since=iso(now() - 60))
        watch.event(3)
        machine.enter(pid, "s-1", "waiting", waitingFor="dialog open")
        assert watch.event(4)["waiting_for"] == "dialog open"
        assert len(watch.lines) == 5
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(20) == 130


def test_watching_for_people_and_what_leaves(machine: Machine) -> None:
    machine.record("work", state="gone")
    with command_watch("sessions", "--watch", "--session", "work", environ=os.environ) as watch:
        assert "  work  gone, for " in watch.line(0)
        machine.record("other")
        machine.record("work", state="gone", since=iso(now() - 7200))
        assert watch.line(1).endswith("  work is not listed any more")
