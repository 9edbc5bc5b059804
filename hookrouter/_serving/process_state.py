"""What code can leave behind in the process that it ran in, as far as that can be seen cheaply."""

from __future__ import annotations

import os
import sys

from hookrouter.util.system import thread_count
from hookrouter.util.time_limit import signal

__all__ = ["exit_functions", "has_children", "interpreter_state", "process_state"]

_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_SIGNALS = tuple(sorted(signal.valid_signals()))


def process_state() -> tuple[object, ...]:
    """Return what the system has of this process: threads, open descriptors, signal handlers, blocked ones, timers."""
    return (
        thread_count(),
        frozenset(os.listdir("/dev/fd")),
        tuple(map(signal.getsignal, _SIGNALS)),
        tuple(signal.getitimer(timer)[0] > 0 for timer in _TIMERS),
        frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    )


def interpreter_state() -> tuple[object, ...]:
    """Return what this interpreter has: loaded modules, where they come from, and its hooks."""
    return (
        len(sys.modules),
        tuple(sys.path),
        tuple(map(id, sys.meta_path)),
        tuple(map(id, sys.path_hooks)),
        (sys.excepthook, sys.unraisablehook, sys.gettrace(), sys.getprofile()),
    )


def exit_functions() -> int:
    """Return how many functions are registered with :mod:`atexit`."""
    module = sys.modules.get("atexit")
    return 0 if module is None else int(module._ncallbacks())


def has_children() -> bool:
    """Whether this process has started another one that has not ended, or has ended without being asked for."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True
