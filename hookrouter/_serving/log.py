"""What the processes of ``hookrouter serve`` say: lines on stderr, for a terminal, a unit's log or ``serve.log``."""

from __future__ import annotations

import sys

from hookrouter.util.clock import iso
from hookrouter.util.text import printable

__all__ = ["say"]


def say(text: str) -> None:
    """Write one line, with the time; raises nothing."""
    try:
        sys.stderr.write(f"{iso()} hookrouter serve: {printable(text)}\n")
        sys.stderr.flush()
    except OSError:
        # Whoever read it is gone, and what is said is no reason to end.
        return
