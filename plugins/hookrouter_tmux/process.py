"""Runs a short-lived program and collects its output, without ``subprocess``.

``subprocess`` costs about as much to import as the rest of a hook run together. A hook process needs one tmux call,
so this is ``posix_spawn``, three pipes and a deadline, and nothing more.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Finished", "ProcessTimeoutError", "run"]

_CHUNK = 1 << 16


class ProcessTimeoutError(Exception):
    """The program did not end in time and was killed."""


class Finished(NamedTuple):
    """How a program ended."""

    status: int
    """Its exit status; negative the number of the signal that killed it."""
    output: bytes
    errors: bytes


def run(arguments: Sequence[str], *, environ: Mapping[str, str], timeout: float, stdin: bytes = b"") -> Finished:
    """Run a program found on this process's PATH and wait for its end.

    ``timeout`` is in seconds. Raises ProcessTimeoutError after killing the program, and OSError where it cannot be
    started (FileNotFoundError where there is no such program).
    """
    deadline = time.monotonic() + timeout
    opened: set[int] = set()

    def close(descriptor: int) -> None:
        if descriptor in opened:
            opened.discard(descriptor)
            os.close(descriptor)

    def pipe() -> tuple[int, int]:
        ends = os.pipe()
        opened.update(ends)
        return ends

    try:
        (child_in, feed), (output, child_out), (errors, child_err) = pipe(), pipe(), pipe()
        pid = os.posix_spawnp(
            arguments[0],
            list(arguments),
            dict(environ),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, child_in, 0),
                (os.POSIX_SPAWN_DUP2, child_out, 1),
                (os.POSIX_SPAWN_DUP2, child_err, 2),
            ],
            setsigdef=[signal.SIGPIPE],
        )
        for descriptor in (child_in, child_out, child_err):
            close(descriptor)
        try:
            collected = _exchange(feed, stdin, (output, errors), close, deadline)
            status = _wait(pid, deadline)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        return Finished(status, collected[output], collected[errors])
    finally:
        for descriptor in list(opened):
            close(descriptor)


def _exchange(
    feed: int, stdin: bytes, sources: tuple[int, int], close: Callable[[int], None], deadline: float
) -> dict[int, bytes]:
    """Feed ``stdin`` and read both outputs to their ends, so that neither side can block the other."""
    collected = dict.fromkeys(sources, b"")
    reading = set(sources)
    poll = select.poll()
    for source in sources:
        poll.register(source, select.POLLIN)
    rest = memoryview(stdin)
    if rest:
        os.set_blocking(feed, False)
        poll.register(feed, select.POLLOUT)
    else:
        close(feed)
    while reading:
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        if not ready:
            raise ProcessTimeoutError
        for descriptor, _ in ready:
            if descriptor == feed:
                try:
                    rest = rest[os.write(feed, rest) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    rest = rest[:0]
                if not rest:
                    poll.unregister(feed)
                    close(feed)
            elif chunk := os.read(descriptor, _CHUNK):
                collected[descriptor] += chunk
            else:
                poll.unregister(descriptor)
                reading.discard(descriptor)
    return collected


def _wait(pid: int, deadline: float) -> int:
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            raise ProcessTimeoutError
        time.sleep(0.0005)
