"""A time limit for calls of a plugin."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator
    from types import FrameType

else:
    try:
        # The module signal wraps every constant in an enum, which takes longer than all that hookrouter does here.
        import _signal as signal
    except ImportError:
        import signal

__all__ = ["PluginTimeout", "time_limit"]

_AGAIN = 0.5
"""Seconds after which a plugin that survived the first interruption is interrupted again."""

_AT_ONCE = 0.001
"""The shortest time that the timer takes; zero would switch it off."""


class PluginTimeout(BaseException):
    """A plugin took longer than its limit. Not an Exception, so that a plugin's own ``except`` does not keep it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise PluginTimeout in the block after ``seconds``, again and again until the block ends, and at its end.

    So a block that swallows the exception, or switches the timer off, still ends with it. Limits may be nested; the
    outer one goes on counting. Works by SIGALRM in the main thread; elsewhere, and for code that does not return to
    the interpreter, the limit only shows at the end of the block, and what interrupts is the limit that Claude Code
    sets on the hook.
    """
    started = time.monotonic()
    limit = max(seconds, _AT_ONCE)
    running = True
    # What is left of a plugin's timeout after its import is that timeout to a reader.
    late = PluginTimeout(f"took longer than its timeout of {round(seconds + 0.04, 1):g} s")

    def expired(_signal: int, _frame: FrameType | None) -> None:
        if running:
            raise PluginTimeout(*late.args)

    try:
        former = signal.signal(signal.SIGALRM, expired)
    except ValueError:
        # Only the main thread may set handlers.
        yield
        if time.monotonic() - started > limit:
            raise late from None
        return
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    outer, _ = signal.setitimer(signal.ITIMER_REAL, limit, _AGAIN)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
        elapsed = time.monotonic() - started
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - elapsed, _AT_ONCE), _AGAIN)
    if elapsed > limit:
        raise late
