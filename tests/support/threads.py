"""Threads that code under test begins and does not wait for."""

from __future__ import annotations

import threading

from support.resident import PATIENCE

__all__ = ["join_threads"]


def join_threads(name: str) -> None:
    """Wait until each thread of this name has ended."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(PATIENCE)
            assert not thread.is_alive(), f"the thread {name} still runs after {PATIENCE:g} s"
