"""``hookrouter logs --follow``, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path / "home"))
    return Journal(Home.in_folder(str(tmp_path / "home")).logs)


class Follower:
    """``hookrouter logs --follow --json`` in a process of its own."""

    def __init__(self, home: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hookrouter", "logs", "--follow", "--json", "--event", "Stop"],
            env={**os.environ, "HOOKROUTER_HOME": home},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def next(self) -> dict[str, object]:
        assert self.process.stdout is not None
        document: dict[str, object] = json.loads(self.process.stdout.readline())
        return document


@pytest.fixture
def follower(tmp_path: Path, journal: Journal) -> Iterator[Follower]:
    journal.write({"event": "Stop", "n": 0}, "s-1")
    started = Follower(str(tmp_path / "home"))
    yield started
    started.process.kill()
    started.process.communicate()


def test_following_shows_the_past_and_then_what_comes(journal: Journal, follower: Follower) -> None:
    assert follower.next()["n"] == 0
    journal.write({"event": "Start", "n": 1}, "s-1")
    journal.write({"event": "Stop", "n": 2}, "new session")
    assert follower.next()["n"] == 2
    journal.write({"event": "Stop", "n": 3}, "s-1")
    assert follower.next()["n"] == 3

    follower.process.send_signal(signal.SIGINT)

    assert follower.process.wait(10) == 130
    assert follower.process.stderr is not None
    assert follower.process.stderr.read() == ""


def test_following_ends_quietly_when_nobody_reads_any_more(journal: Journal, follower: Follower) -> None:
    follower.next()
    assert follower.process.stdout is not None
    assert follower.process.stderr is not None

    follower.process.stdout.close()

    assert follower.process.wait(10) == 0
    assert follower.process.stderr.read() == ""
    follower.process.stdout = None
