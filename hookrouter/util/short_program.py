"""Runs a program that says a little and ends soon, at little cost.

:func:`subprocess.run` with a time limit reads pipes to their end, and then looks every half millisecond or more whether
the program has ended. Here the program writes into files in memory, and the system tells of its end. The module
:mod:`subprocess` itself takes as long to import as hookrouter's own part of a hook.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.detached import inheritable_descriptors
from hookrouter.util.system import memory_file
from hookrouter.util.time_limit import signal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["Finished", "run_short"]

_PAUSE = 0.0005
"""Seconds until the first look at a program of whose end the system does not tell; each pause doubles the next."""

_LONGEST_PAUSE = 0.05


class Finished(NamedTuple):
    """A program that has ended."""

    returncode: int
    """Its exit code; the number of the signal that ended it, below zero."""
    stdout: bytes
    """All that it wrote there."""
    stderr: bytes
    """All that it wrote there."""


def run_short(arguments: Sequence[str], *, environ: Mapping[str, str], stdin: bytes = b"", seconds: float) -> Finished:
    """Run a program, found on the PATH of ``environ``, for at most so long; return its exit code and output.

    Raises OSError if it cannot be run, and TimeoutError, which is one, after it took too long and was ended.
    """
    with memory_file() as given, memory_file() as stdout, memory_file() as stderr:
        given.write(stdin)
        given.seek(0)
        files = [given.fileno(), stdout.fileno(), stderr.fileno()]
        pid = _start(arguments, environ, files)
        try:
            status = _ended(pid, seconds)
        except BaseException:
            # Whatever ends the wait, such as a plugin's time limit.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            _reap(pid, 0)
            raise
        stdout.seek(0)
        stderr.seek(0)
        return Finished(os.waitstatus_to_exitcode(status), stdout.read(), stderr.read())


def _start(arguments: Sequence[str], environ: Mapping[str, str], files: Sequence[int]) -> int:
    """Start a program with these descriptors as its stdin, stdout and stderr, and no others; return its pid."""
    # Opened one after the other, so none of them has the number that another one gets before it.
    actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in enumerate(files)]
    actions += [(os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in inheritable_descriptors()]
    # Python ignores them, and its children would.
    signals = [getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name)]
    error: OSError = FileNotFoundError(2, "No such file or directory", arguments[0])
    # A name with a slash in it needs no PATH.
    folders = [""] if "/" in arguments[0] else os.get_exec_path(environ)
    for path in filter(os.path.exists, (os.path.join(folder, arguments[0]) for folder in folders)):
        try:
            return os.posix_spawn(path, list(arguments), environ, file_actions=actions, setsigdef=signals)
        except (FileNotFoundError, NotADirectoryError, PermissionError) as refused:
            # One further on may be meant.
            error = refused
    raise error


def _ended(pid: int, seconds: float) -> int:
    """Wait for a child's end; return its wait status. Raises TimeoutError."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return _asked(pid, seconds)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise TimeoutError(f"{seconds:g} s were not enough")
    finally:
        os.close(descriptor)
    return _reap(pid, 0)[1]


def _asked(pid: int, seconds: float) -> int:
    """Ask again and again whether a child has ended. Raises TimeoutError."""
    deadline, pause = time.monotonic() + seconds, _PAUSE
    while True:
        ended, status = _reap(pid, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > deadline:
            raise TimeoutError(f"{seconds:g} s were not enough")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _reap(pid: int, options: int) -> tuple[int, int]:
    try:
        return os.waitpid(pid, options)
    except ChildProcessError:
        # Whoever started this process ignores SIGCHLD: the system keeps no exit code.
        return pid, 0
