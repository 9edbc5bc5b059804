"""The machine that something was measured on, in words: a figure without them says nothing."""

from __future__ import annotations

import os
import platform
import subprocess

from hookrouter._sandbox.client import find_client

__all__ = ["machine", "with_client"]


def machine() -> str:
    """Return cores, system and Python: ``2 cores, Linux x86_64, Python 3.11``."""
    cores = os.cpu_count() or 1
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{cores} core{'s' * (cores != 1)}, {platform.system()} {platform.machine()}, Python {python}"


def with_client() -> str:
    """Return the machine with the client and tmux that live benchmarks use."""
    return f"{_said(find_client(), '--version')}, {_said('tmux', '-V')}, {machine()}"


def _said(program: str | None, option: str) -> str:
    """Return what a program says its version is. Raises OSError without one."""
    if program is None:
        raise FileNotFoundError("no Claude Code client: install one, or name it in HOOKROUTER_CLAUDE")
    done = subprocess.run([program, option], capture_output=True, text=True, check=True)
    number = done.stdout.split()[0]
    return f"Claude Code {number}" if "Claude Code" in done.stdout else done.stdout.strip()
