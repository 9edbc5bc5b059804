"""The commands of queues as programs: several at once."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrouter.util.program import script_argv
from support.sessions import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def machine(hookrouter_home: Path) -> Iterator[Machine]:
    found = Machine()
    found.record("work")
    yield found
    found.close()


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*script_argv(), *words], env=dict(os.environ), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )


def test_all_that_is_sent_at_once_is_queued_and_each_call_stays_together(machine: Machine) -> None:
    calls = [start("send", "--session", "work", f"{number} a", f"{number} b", "--json") for number in range(6)]
    sent = []
    for call in calls:
        out, _ = call.communicate(timeout=120)
        assert call.returncode == 0
        sent.append([item["id"] for item in json.loads(out)["items"]])
    items = machine.queue("work").items
    assert sorted(item.id for item in items) == sorted(name for names in sent for name in names)
    pairs = [tuple(item.text for item in items[at : at + 2]) for at in range(0, 12, 2)]
    assert sorted(pairs) == [(f"{number} a", f"{number} b") for number in range(6)]


def test_an_agent_is_who_sends_without_a_terminal(machine: Machine) -> None:
    call = start("send", "--session", "work", "go on")
    out, _ = call.communicate(timeout=60)
    (item,) = machine.queue("work").items
    assert (call.returncode, item.by, out) == (0, "agent", f"{item.id}  queued\n")
