"""Whether a client still runs: processes that are killed, and one with an odd name."""

from __future__ import annotations

import signal
import subprocess

from hookrouter._sandbox.waiting import wait_until
from hookrouter.util.claude_process import is_gone


def test_one_that_was_killed_is_gone_although_nobody_has_asked_for_its_end() -> None:
    """tmux leaves a killed client so, at times."""
    process = subprocess.Popen(["sleep", "60"])
    process.send_signal(signal.SIGKILL)
    try:
        wait_until(lambda: is_gone(process.pid), 10, "the end")
    finally:
        process.wait()
    assert is_gone(process.pid)


def test_a_name_that_looks_like_a_state_says_nothing() -> None:
    process = subprocess.Popen(["bash", "-c", "exec -a ') Z 1' sleep 60"])
    try:
        assert not is_gone(process.pid)
    finally:
        process.kill()
        process.wait()
