"""A time limit for one call of a plugin."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["PluginTimeout", "time_limit"]


class PluginTimeout(BaseException):
    """A plugin took longer than its limit. Not an Exception, so that a plugin's own ``except`` does not keep it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise PluginTimeout in the block after ``seconds``.

    Works by SIGALRM in the main thread; elsewhere, and for code that does not return to the interpreter, there is no
    limit but the one that Claude Code sets on the hook.
    """

    def expired(_signal: int, _frame: FrameType | None) -> None:
        raise PluginTimeout(f"took longer than its timeout of {seconds:g} s")

    try:
        previous = signal.signal(signal.SIGALRM, expired)
    except ValueError:
        # Only the main thread may set handlers.
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
