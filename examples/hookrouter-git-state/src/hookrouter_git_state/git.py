"""Asks git, which changes nothing by that and starts no program that a repository names."""

from __future__ import annotations

import os
import subprocess

GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false")
SECONDS = 2.0
LONGEST = 100_000
"""Bytes of an answer that are read."""


def ask(folder: str, *words: str) -> list[str]:
    """Return the lines of git's answer; none outside a repository. Raises OSError and subprocess.TimeoutExpired."""
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [*GIT, "-C", folder, *words],
        env={**os.environ, **quiet},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return [] if done.returncode else done.stdout[:LONGEST].decode("utf-8", "replace").splitlines()


def state(folder: str) -> tuple[str, list[str]] | None:
    """Return the branch, with its distance to what it follows, and the changed files; None outside a repository."""
    branch, *changed = ask(folder, "status", "--short", "--branch", "--ignore-submodules=all") or [""]
    return (branch.removeprefix("## "), changed) if branch else None


def commits(folder: str, count: int) -> list[list[str]]:
    """Return the last commits, newest first: short id, age, author and subject of each."""
    lines = ask(folder, "log", f"--max-count={count}", "--no-color", "--format=%h%x00%cr%x00%an%x00%s")
    return [parts for line in lines if len(parts := line.split("\0")) == 4]
