"""A time limit for calls of a plugin."""

from __future__ import annotations

import time

from hookrouter.util.text import describe_error, describe_value

TYPE_CHECKING = False

if TYPE_CHECKING:
    import signal as signal
    from collections.abc import Callable
    from types import FrameType
else:
    try:
        # The module signal wraps every constant in an enum, which takes longer than all that a hook does.
        import _signal as signal
    except ImportError:
        import signal

__all__ = ["PluginTimeout", "describe_in_time", "signal", "time_limit"]

_AGAIN = 0.5
"""Seconds after which a plugin that survived the first interruption is interrupted again."""

_AT_ONCE = 0.001
"""The shortest time that the timer takes; zero would switch it off."""

_DESCRIBING = 1.0
"""Seconds that an exception may take to tell its text."""


class PluginTimeout(BaseException):
    """A plugin took longer than its limit. Not an Exception, so that a plugin's own ``except`` does not keep it."""


class time_limit:  # noqa: N801 - used as a function; contextlib takes longer to import than all of this
    """Raise PluginTimeout in the block after ``seconds``, again and again until the block ends, and at its end.

    So a block that swallows the exception, or switches the timer off, still ends with it. Limits may be nested; the
    outer one goes on counting. Works by SIGALRM in the main thread; elsewhere, and for code that does not return to
    the interpreter, the limit only shows at the end of the block, and what interrupts is the limit that Claude Code
    sets on the hook.
    """

    def __init__(self, seconds: float, allowed: str = "", interrupts: Callable[[float], object] | None = None) -> None:
        """Limit a block to ``seconds``, which count from its beginning; the exception calls them ``allowed``.

        ``interrupts`` is called at each interruption before it is raised, with the seconds since the beginning.
        """
        self._interrupts = interrupts
        self._limit = max(seconds, _AT_ONCE)
        self._late = PluginTimeout(f"took longer than {allowed or f'its timeout of {round(seconds + 0.04, 1):g} s'}")
        self._running = False
        self._is_armed = False

    def __enter__(self) -> None:
        """Begin to count."""
        self._started = time.monotonic()
        self._running = True
        try:
            self._former = signal.signal(signal.SIGALRM, self._expired)
        except ValueError:
            # Only the main thread may set handlers.
            return
        self._is_armed = True
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        self._outer, _ = signal.setitimer(signal.ITIMER_REAL, self._limit, _AGAIN)

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """Stop counting, and say that it took too long if it did."""
        self._running = False
        if self._is_armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._former)
        elapsed = time.monotonic() - self._started
        if self._is_armed and self._outer:
            signal.setitimer(signal.ITIMER_REAL, max(self._outer - elapsed, _AT_ONCE), _AGAIN)
        if kind is None and elapsed > self._limit:
            raise self._late from None

    def _expired(self, _signal: int, _frame: FrameType | None) -> None:
        if self._running:
            if self._interrupts is not None:
                self._interrupts(time.monotonic() - self._started)
            raise PluginTimeout(*self._late.args)


def describe_in_time(error: BaseException) -> str:
    """Return an error's class and text, even if the text raises or takes for ever."""
    try:
        with time_limit(_DESCRIBING):
            return describe_error(error)
    except PluginTimeout:
        return f"{describe_value(type(error))}: its text takes too long"
