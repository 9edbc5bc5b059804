"""Runs plugins in a child process, so that nothing that they do can take the answer away.

The hook process forks and waits. The child calls the plugins and tells at each step what it begins and what came of it
(:class:`hookrouter._isolation.progress.RunProgress`). If it dies (``os._exit``, a crash in C), or is in a call for
longer than even the interruption by its time limit takes (C code that does not return), the hook process ends it and
forks again: the next child knows what was told, calls nothing twice, leaves the plugin at fault out and goes on with
the others. What a wrapper does before the others are called is the exception: it does that again.

A child never outlives its hook process, which Claude Code may kill at any moment: it has one end of a pipe whose other
end only the hook process has, and the system ends it when that is closed
(:func:`hookrouter.util.system.end_with`).
"""

from __future__ import annotations

import os
import sys
import time

from hookrouter._isolation.progress import Call, RunProgress
from hookrouter.util import fastjson, system
from hookrouter.util.text import describe_error
from hookrouter.util.time_limit import signal

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from hookrouter._isolation.progress import StepTrace

__all__ = ["GRACE", "Supervisor"]

GRACE = 1.5
"""Seconds that a plugin has, after its time limit has interrupted it, before its process is killed."""

_ELSEWHERE = 30.0
"""Seconds that the child may take between two calls, for work of hookrouter's own."""

_STATUS = 2.0
"""Seconds after the end of what a child tells in which the system may still be about to say how it ended."""

_ENDING = 5.0
"""Seconds that functions registered with atexit may take once the answer is given."""

_UNEXPLAINED = 3
"""How many children may die outside every call, for example by a thread that a plugin has left behind."""

_CHUNK = 1 << 16
_exit = os._exit  # os._exit itself raises while plugins are contained


class Supervisor:
    """The hook process over its children, for one run: :meth:`run`, then :meth:`finish`."""

    def __init__(self, trace: StepTrace | None = None) -> None:
        """``trace`` writes each step of the children down for a person."""
        self._progress = RunProgress(trace=trace)
        self._child = 0
        self._told = self._woken = self._replied = -1
        self._buffer = bytearray()
        self._call: tuple[str, str, str, float] | None = None
        """The call that has begun: plugin, hook, its limit in words, and when it began."""
        self._deadline = 0.0
        self._end = ""
        """How the child ended; empty while it runs."""
        self._is_late = False
        self._said: list[Any] = []
        """What the work came to, or what was wrong with hookrouter itself."""
        self._is_over = False
        """Whether the child has done all that it had to do after that."""

    def run(
        self,
        work: Callable[[RunProgress], object],
        record: dict[str, Any],
        *,
        meanwhile: Callable[[], None],
        after_reply: Callable[[], None],
    ) -> Any:
        """Return what ``work`` returned, which must be JSON, in the first child in which it came to its end.

        ``work`` is called in each child, with the progress so far; what it adds to ``record`` there, the next child
        has too. ``meanwhile`` is called in this process while the first child works. ``after_reply`` is called in the
        child that gave the result, once :meth:`finish` is called here. Raises OSError if no process can be made, and
        RuntimeError if ``work`` raises, or the children die again and again outside every call.
        """
        lifeline, alive = os.pipe()
        replied, self._replied = os.pipe()
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        # The end of a child must be seen even if a process that a plugin has forked keeps the pipe open.
        former = signal.signal(signal.SIGCHLD, _ignore)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        parent, unexplained = os.getpid(), 0
        while not self._said:
            told, pipe = os.pipe()
            self._child = system.fork()
            if not self._child:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, former)
                _close(told, alive, self._woken, wake, self._replied)
                begin, finish = (lambda: _die_with(lifeline, parent)), (lambda: _finish_child(replied, after_reply))
                _be_child(work, self._progress, record, pipe, begin, finish)
            os.close(pipe)
            os.set_blocking(told, False)
            self._told, self._call, self._end = told, None, ""
            self._buffer.clear()
            self._deadline = time.monotonic() + _ELSEWHERE
            meanwhile()
            meanwhile = _nothing
            self._follow(lambda: bool(self._said))
            if self._said:
                break
            os.close(told)
            if not self._blame():
                unexplained += 1
                if unexplained == _UNEXPLAINED:
                    raise RuntimeError(f"the process of the plugins {self._end}, outside every call")
        if self._said[0] != "result":
            raise RuntimeError(self._said[1])
        return self._said[1]

    def finish(self) -> None:
        """Tell the child that gave the result that the reply is written, and wait for it to end, or end it.

        It calls then what is to be called after the reply, and the functions registered with atexit.
        """
        if self._said:
            try:
                os.write(self._replied, b"1")
            except OSError:
                # The child has ended already.
                return
            self._deadline = time.monotonic() + _ENDING
            self._follow(lambda: self._is_over)

    def _follow(self, is_enough: Callable[[], bool]) -> None:
        """Take what the child tells until that is enough, or the child has ended; end it if it is late."""
        # The child works while this process imports.
        import select

        if is_enough():
            return
        poll = select.poll()
        poll.register(self._told, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while not self._end:
            poll.poll(max(0.0, self._deadline - time.monotonic()) * 1000)
            _drain(self._woken)
            gone, status = os.waitpid(self._child, os.WNOHANG)
            is_open = self._take()
            if is_enough():
                return
            if not gone and not is_open:
                gone, status = self._status()
            if gone:
                self._end = _how(status)
            elif not is_open or time.monotonic() >= self._deadline:
                if is_open:
                    # What it is in cannot be interrupted; nor can what that has started.
                    os.kill(self._child, signal.SIGSTOP)
                    system.end_descendants(self._child, float("inf"))
                os.kill(self._child, signal.SIGKILL)
                os.waitpid(self._child, 0)
                self._take()
                self._is_late = is_open
                self._end = "did not react" if is_open else "closed descriptors that are not its own"

    def _status(self) -> tuple[int, int]:
        """Return what waitpid says of a child that tells nothing any more: (0, 0) if it lives all the same.

        The system closes the descriptors of a process that ends before it says how that ended.
        """
        import select

        poll, deadline = select.poll(), time.monotonic() + _STATUS
        poll.register(self._woken, select.POLLIN)
        while True:
            gone, status = os.waitpid(self._child, os.WNOHANG)
            left = deadline - time.monotonic()
            if gone or left <= 0:
                return gone, status
            poll.poll(left * 1000)
            _drain(self._woken)

    def _take(self) -> bool:
        """Take what was told; return whether there can be more."""
        data, is_open = _drain(self._told)
        self._buffer += data
        if b"\n" in data:
            *lines, self._buffer = self._buffer.split(b"\n")
            for line in lines:
                message = fastjson.loads(bytes(line))
                if isinstance(message, list):
                    self._hear(*message)
        return is_open

    def _hear(self, what: str, *said: Any) -> None:
        now = time.monotonic()
        if what == "begins":
            plugin, hook, seconds, allowed = said
            self._call, self._deadline = (plugin, hook, allowed, now), now + seconds + GRACE
            return
        self._call, self._deadline = None, now + _ELSEWHERE
        if what == "ended":
            plugin, hook, entry, reply, failed, left, notes = said
            self._progress.calls[plugin, hook] = Call(entry, reply, failed, left)
            self._progress.notes = notes or self._progress.notes
        elif what == "bye":
            self._is_over = True
        elif what != "idle":
            self._said = [what, *said]

    def _blame(self) -> bool:
        """Note which plugin's call has ended the child; return whether it was in any."""
        if self._call is None:
            return False
        plugin, hook, allowed, began = self._call
        self._progress.dead[plugin] = {
            "plugin": plugin,
            "hook": hook,
            "ms": round((time.monotonic() - began) * 1000, 2),
            "outcome": "timed out" if self._is_late else "died",
            "error": f"took longer than {allowed}, and could not be interrupted"
            if self._is_late
            else f"it {self._end}",
            "killed": self._is_late,
        }
        return True


def _be_child(
    work: Callable[[RunProgress], object],
    progress: RunProgress,
    record: dict[str, Any],
    pipe: int,
    begin: Callable[[], None],
    finish: Callable[[], None],
) -> NoReturn:
    try:
        begin()
        record.update(progress.notes)
        progress.tell_to(pipe, record)
        try:
            result = work(progress)
        except BaseException as error:  # noqa: BLE001 - the hook process says what to make of a fault of hookrouter
            progress.tell("broken", describe_error(error))
        else:
            progress.tell("result", result)
            finish()
            progress.tell("bye")
    finally:
        _exit(0)


def _finish_child(replied: int, after_reply: Callable[[], None]) -> None:
    """Wait until the hook process has written the reply, then do what is to be done after it."""
    if os.read(replied, 1):
        after_reply()
    if "atexit" in sys.modules:
        sys.modules["atexit"]._run_exitfuncs()


def _die_with(lifeline: int, parent: int) -> None:
    """See to it that this process ends when the one that holds the other end of this pipe does."""
    system.get_ready_to_end()
    system.end_with(lifeline)
    if os.getppid() != parent:
        _exit(0)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"ended its process, with exit code {code}"
    return f"was ended by signal {-code} ({signal.strsignal(-code) or 'unknown'})"


def _drain(descriptor: int) -> tuple[bytes, bool]:
    """Return what can be read at once, and whether the other end is open."""
    chunks = []
    try:
        while chunk := os.read(descriptor, _CHUNK):
            chunks.append(chunk)
    except BlockingIOError:
        return b"".join(chunks), True
    return b"".join(chunks), False


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _ignore(*_signal: object) -> None:
    return


def _nothing() -> None:
    return
