"""Scripts as processes: started in a session of their own, waited for together, ended with all that they started.

By ``posix_spawn``, which copies nothing of this process, and without the module subprocess, whose import takes longer
than most scripts.
"""

from __future__ import annotations

import os
import time

from hookrouter.util import fastjson
from hookrouter.util.time_limit import signal

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Process", "end_all", "start", "wait"]

_MOST = 16 * 1024 * 1024
"""Bytes that a script may print on stdout or stderr."""

_CHUNK = 1 << 16

_LOOK = 0.02
"""Seconds between looks at a process of whose end nothing tells: what it has started may keep its output open."""

_DEFAULTS = [number for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", None)) if number is not None]
"""The signals that Python ignores; what it starts would ignore them too."""


class Process:
    """One script that runs, or ran."""

    def __init__(self, given: bytes, seconds: float, kept: str, variables: str) -> None:
        """Take what it is to get on stdin, its time limit, and where it writes variables instead of ``kept``."""
        self.given = memoryview(given)
        self.limit = seconds
        self.kept = kept
        self.variables = variables
        self.pid = 0
        self.code = 0
        """Its exit code; below 0 the signal that has ended it."""
        self.fault = ""
        """Why it has not said anything; empty if it has."""
        self.is_left = False
        """Whether it goes on by itself, because it said so."""
        self.out = bytearray()
        self.err = bytearray()
        self.seconds = 0.0
        """How long it took."""
        self.began = time.monotonic()
        self.stdin = self.stdout = self.stderr = -1
        self.end = -1
        """Readable once it has ended; -1 where there is no such descriptor."""
        self.is_over = False

    @property
    def outcome(self) -> str:
        """What became of it, for the journal."""
        if self.fault:
            return "failed"
        return "left running" if self.is_left else f"exit code {self.code}"

    @staticmethod
    def text(data: bytearray) -> str:
        """Return what it printed as text."""
        return data.decode("utf-8", "replace")

    def close(self, *names: str) -> None:
        """Close descriptors that are open."""
        for name in names:
            descriptor = getattr(self, name)
            if descriptor >= 0:
                os.close(descriptor)
                setattr(self, name, -1)

    def ended(self, status: int) -> None:
        """Note how it ended."""
        self.is_over = True
        self.code = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - self.began
        self.close("stdin", "stdout", "stderr", "end")

    def kill(self) -> None:
        """End it with all that it has started, as far as that has not left its session."""
        if self.is_over or not self.pid:
            return
        # Imported if it is needed: it takes longer than many a script.
        from contextlib import suppress

        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.ended(os.waitpid(self.pid, 0)[1])


def start(
    argv: list[str], environ: Mapping[str, str], given: bytes, seconds: float, kept: str, variables: str
) -> Process:
    """Start a script in this working folder. One that cannot be started has a fault."""
    process = Process(given, seconds, kept, variables)
    pairs = [os.pipe() for _ in range(3)]
    (inner_in, process.stdin), (process.stdout, inner_out), (process.stderr, inner_err) = pairs
    inner = (inner_in, inner_out, inner_err)
    actions = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(inner)]
    try:
        process.pid = _spawn(argv, environ, actions)
    except (OSError, ValueError) as error:
        process.fault = f"cannot be started: {getattr(error, 'strerror', None) or error}"
        process.is_over = True
        process.close("stdin", "stdout", "stderr")
    finally:
        for descriptor in inner:
            os.close(descriptor)
    if not process.is_over:
        for descriptor in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(descriptor, False)
        process.end = _end_of(process.pid)
    return process


def _end_of(pid: int) -> int:
    """Return a descriptor that is readable once a process has ended; -1 where there is none, as on macOS."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def _spawn(argv: list[str], environ: Mapping[str, str], actions: list[tuple[int, int, int]]) -> int:
    """Start a program in a session of its own, as Claude Code does; where that cannot be, in a group of its own."""
    try:
        return os.posix_spawnp(
            argv[0], argv, environ, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_DEFAULTS
        )
    except NotImplementedError:
        return os.posix_spawnp(
            argv[0], argv, environ, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=_DEFAULTS
        )


def wait(processes: Sequence[Process]) -> None:
    """Wait until all have ended; end those that take longer than they may."""
    import select

    while running := [one for one in processes if not one.is_over]:
        poll = select.poll()
        for one in running:
            if one.stdin >= 0:
                poll.register(one.stdin, select.POLLOUT)
            for descriptor in (one.stdout, one.stderr, one.end):
                if descriptor >= 0:
                    poll.register(descriptor, select.POLLIN)
        now = time.monotonic()
        left = [one.began + one.limit - now for one in running]
        # One whose output has come to its end is about to end itself.
        left += [0.001 if one.stdout < 0 and one.stderr < 0 else _LOOK for one in running if one.end < 0]
        poll.poll(max(0.0, min(left)) * 1000)
        for one in running:
            _follow(one)


def _follow(one: Process) -> None:
    """Bring one process further: write, read, and see whether it has ended or is late."""
    if one.stdin >= 0:
        _feed(one)
    gone, status = os.waitpid(one.pid, os.WNOHANG)
    for name, taken in (("stdout", one.out), ("stderr", one.err)):
        _take(one, name, taken)
    if gone:
        one.ended(status)
    elif len(one.out) > _MOST or len(one.err) > _MOST:
        one.kill()
        one.fault = f"printed more than {_MOST} bytes"
    elif time.monotonic() - one.began >= one.limit:
        one.kill()
        one.fault = f"took longer than its timeout of {one.limit:g} s"
    elif _goes_on(one):
        _leave(one)


def _feed(one: Process) -> None:
    try:
        while one.given:
            one.given = one.given[os.write(one.stdin, one.given) :]
    except BlockingIOError:
        return
    except BrokenPipeError:
        # It does not read, as many do not.
        pass
    one.close("stdin")


def _take(one: Process, name: str, taken: bytearray) -> None:
    """Take what one has printed until now; close what has come to its end."""
    descriptor = getattr(one, name)
    try:
        while descriptor >= 0:
            data = os.read(descriptor, _CHUNK)
            if not data:
                one.close(name)
                return
            taken += data
            if len(taken) > _MOST:
                return
    except BlockingIOError:
        return


def _goes_on(one: Process) -> bool:
    """Whether a script has said in its first line that it goes on by itself: ``{"async": true}``."""
    line, end, _ = one.out.partition(b"\n")
    if not end or b'"async"' not in line:
        return False
    try:
        said = fastjson.loads(bytes(line))
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("async") is True


def _leave(one: Process) -> None:
    """Let a script go on: what it prints is read by a program that throws it away, or it would be ended by that."""
    from contextlib import suppress

    for name in ("stdout", "stderr"):
        descriptor = getattr(one, name)
        if descriptor >= 0:
            os.set_blocking(descriptor, True)
            with suppress(OSError):
                _spawn(
                    ["/bin/sh", "-c", "exec cat >/dev/null 2>&1"],
                    os.environ,
                    [(os.POSIX_SPAWN_DUP2, descriptor, 0)],
                )
    one.is_left = one.is_over = True
    one.seconds = time.monotonic() - one.began
    one.close("stdin", "stdout", "stderr", "end")


def end_all(processes: Sequence[Process]) -> None:
    """End those that run still, and all that they have started."""
    for one in processes:
        one.kill()
