"""What the processes of ``hookrouter serve`` say: lines on stderr, for a terminal, a unit's log or ``serve.log``."""

from __future__ import annotations

from hookrouter.util.process_log import tell

__all__ = ["say"]


def say(text: str, *, event: str, level: str = "warning") -> None:
    """Write one line, with the time; raises nothing. ``event`` is a word for what it is about."""
    tell(text, event=event, level=level, name="hookrouter serve")
