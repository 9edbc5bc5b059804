"""Runs a program that says a little and ends soon, without a pause at its end.

:func:`subprocess.run` with a time limit reads pipes to their end, and then looks every half millisecond or more whether
the program has ended. Here the program writes into files in memory, and the system tells of its end.
"""

from __future__ import annotations

import os
import select
import subprocess
from typing import TYPE_CHECKING

from hookrouter.util.system import memory_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["run_short"]


def run_short(
    arguments: Sequence[str], *, environ: Mapping[str, str], stdin: bytes = b"", seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run a program for at most so long; return its exit code and output.

    Raises what :func:`subprocess.run` raises: OSError, and subprocess.TimeoutExpired after the program was ended.
    """
    with memory_file() as given, memory_file() as stdout, memory_file() as stderr:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(arguments, env=environ, stdin=given, stdout=stdout, stderr=stderr)
        try:
            _wait(process, seconds)
        except BaseException:
            # Whatever ends the wait, such as a plugin's time limit.
            process.kill()
            process.wait()
            raise
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess(arguments, process.wait(), stdout.read(), stderr.read())


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for the end. Raises subprocess.TimeoutExpired."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        process.wait(seconds)
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise subprocess.TimeoutExpired(process.args, seconds)
    finally:
        os.close(descriptor)
