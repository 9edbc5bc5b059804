"""Which client the live tests run on: the one that ``HOOKROUTER_CLIENT_VERSION`` names, or the newest supported one."""

from __future__ import annotations

import os
import signal

import pytest

from hookrouter._mod.setup import MINIMUM_CLIENT
from hookrouter._sandbox.client import CLIENT_VERSION

__all__ = ["VERSION", "kill_client", "needs_mods"]

VERSION = tuple(map(int, (os.environ.get("HOOKROUTER_CLIENT_VERSION") or CLIENT_VERSION).split(".")))


def needs_mods() -> None:
    """Skip the test that runs if the client has no mods."""
    if VERSION < MINIMUM_CLIENT:
        pytest.skip(f"mods came with {'.'.join(map(str, MINIMUM_CLIENT))}")


def kill_client(pid: int) -> None:
    """Kill the client, as the crash of one; ``pid`` as a record has it. Skip the test if the client does not say it."""
    if not pid:
        pytest.skip("this client does not say its process id (CLAUDE_PID)")
    os.kill(pid, signal.SIGKILL)
