"""Which version of Claude Code ``hookrouter install`` writes for, and which events it knows.

A client that meets an event it does not know in its settings stops at its start to say so (2.1.150), or leaves out the
whole file (2.0.76). So what not every client knows is registered only for one that is there and knows it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from hookrouter._contract.document import contract
from hookrouter.util.text import version_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["found_version", "knows"]

_SECONDS = 20.0
_FIRST_CONTRACT = (2, 1, 330)
"""The version that the first contract was measured on. It had every event of which nobody knows when it came; a later
contract says of each new one. So a new pin takes no hook from older clients."""


def found_version(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the version of the ``claude`` on this PATH; None if there is none, or it does not say."""
    path = shutil.which("claude", path=environ.get("PATH"))
    return None if path is None else _version(path)


def knows(client: tuple[int, ...] | None, event: str) -> bool:
    """Whether a client of this version knows an event; False if the version is not known (None)."""
    if client is None:
        return False
    return client >= (_since().get(event) or _FIRST_CONTRACT)


@cache
def _version(path: str) -> tuple[int, ...] | None:
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+\.\d+\.\d+", done.stdout) if "Claude Code" in done.stdout else None
    return None if found is None else version_numbers(found.group())


@cache
def _since() -> dict[str, tuple[int, ...] | None]:
    return {name: version_numbers(record.get("since")) for name, record in contract()["events"].items()}
