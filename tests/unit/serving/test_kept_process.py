"""Pauses grow up to a limit, and a process is ended and forgotten once."""

from __future__ import annotations

import os
import signal

import pytest

from hookrouter._serving.kept_process import GrowingPause, KeptProcess


def test_each_pause_is_twice_as_long_up_to_a_limit() -> None:
    pause = GrowingPause(1.0, 5.0)
    assert not pause.has_grown
    assert [pause.take() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert pause.has_grown
    pause.reset()
    assert (pause.has_grown, pause.take()) == (False, 1.0)


def test_nobody_elses_end_is_taken_for_its_own() -> None:
    process = KeptProcess()
    assert not process.has_ended(0)
    process.pid = 12345
    assert [process.has_ended(pid) for pid in (0, 12344, 12345, 12345)] == [False, False, True, False]


def test_it_is_ended_once(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        killed.append((pid, number))
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", kill)
    process = KeptProcess()
    process.pid = 12345
    process.stop()
    process.stop()
    assert (killed, process.pid) == ([(12345, signal.SIGTERM)], 0)
