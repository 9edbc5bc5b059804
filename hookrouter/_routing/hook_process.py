"""``hookrouter run EVENT``: one hook process, from stdin to stdout, and what becomes of its descriptors.

Whatever comes in, the process exits 0 (but for the few events that block only through exit code 2) and writes one
JSON document or nothing; what was wrong goes to the journal. The one exception is a plugin that is set to fail
closed: if it cannot be asked, because the payload cannot be read or the plugin cannot be imported, the call is
refused in its name.

The exit code is that of a failure until the answer is written (:data:`hookrouter._routing.output.FAILED`): without a
home, for example, or if nobody knows which plugins fail closed. If the answer cannot be written, and it refuses the
call or a plugin that fails closed was to be asked, the process exits 2, which refuses it.

What happens in between is :mod:`hookrouter._routing.hook_run`.
"""

from __future__ import annotations

import gc
import os
import sys

from hookrouter._routing.hook_call import MAX_PAYLOAD
from hookrouter._routing.hook_run import answer
from hookrouter._routing.output import FAILED
from hookrouter.storage.home import Home, ensure
from hookrouter.util.forked import close_in_forked, stays_closed
from hookrouter.util.text import describe_error

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter._routing.hook_run import Answered
    from hookrouter.context import Wiring

__all__ = ["HookProcess", "call_exit_functions", "main"]

MAX_OUTPUT = 1024 * 1024
"""Bytes after which what plugins have printed is thrown away."""

_CHUNK = 1024 * 1024
_exit = os._exit  # os._exit itself raises while plugins are contained
_ENDING = 5.0
"""Seconds that functions registered with atexit may take."""


def main(argv: list[str], wiring: Wiring) -> int:
    """Run one hook: ``argv`` is what follows ``hookrouter run``. Does not return if it ran to its end.

    The process leaves by ``os._exit`` once all is written, because tearing the interpreter down takes longer than
    most hook runs; functions registered with :mod:`atexit` are called, threads are not waited for.
    """
    # Nothing here lives long enough to be collected.
    gc.disable()
    if _is_terminal(0):
        sys.stderr.write("hookrouter run reads a hook payload from stdin; Claude Code starts it from settings.json.\n")
        return 2
    hook = HookProcess()
    try:
        hook.reply(argv[0] if argv else "", wiring)
        hook.finish()
        call_exit_functions()
    finally:
        _exit(hook.exit_code)


def call_exit_functions() -> None:
    """Call what was registered with :mod:`atexit`, for some seconds at most: this process ends."""
    if "atexit" in sys.modules:
        from hookrouter.util.time_limit import time_limit

        with time_limit(_ENDING):
            sys.modules["atexit"]._run_exitfuncs()


class HookProcess:
    """This process while it runs one hook: first :meth:`reply`, then :meth:`finish`.

    If it is to run another one, then :meth:`release`.
    """

    def __init__(self) -> None:
        """Touch nothing yet."""
        self.exit_code = FAILED
        """The exit code of this process: of a failure until the answer is written."""
        self.unwritten = FAILED
        """The exit code if whoever has this process's stdout cannot write it where it belongs."""
        self._answered: Answered | None = None
        self._log = -1

    def reply(self, word: str, wiring: Wiring) -> None:
        """Read the payload from stdin, and write the answer to stdout and stderr, which are closed then.

        Does not return in a process that a plugin has forked and that came back.
        """
        process = os.getpid()
        missing = _open_missing()
        pipes, payload, fault = _ClaudePipes(), None, ""
        try:
            payload = _read_stdin()
            # What a plugin, or a program that it starts, writes must not get into the reply.
            pipes.set_apart()
            self._log = _open_output()
            os.dup2(self._log, 1)
            os.dup2(self._log, 2)
        except (OSError, MemoryError) as error:
            # No plugin is called then, so nobody else writes.
            pipes.restore()
            fault = f"the hook's process has not what it needs: {describe_error(error)}"
        self._answered = answer(word, payload, os.environ, wiring, contained=True, stderr=pipes.stderr, fault=fault)
        if os.getpid() != process:
            # A plugin has forked, and this is the copy that came back.
            _exit(0)
        output = self._answered.output
        self.exit_code = self.unwritten = output.unwritten
        if not output.stdout or (1 not in missing and _write(pipes.stdout, output.stdout)):
            self.exit_code = output.exit_code
        # A reason that nobody reads makes the refusal none the less.
        _write(pipes.stderr, output.stderr)
        pipes.close()

    def finish(self) -> None:
        """Do what follows the reply. Raises nothing."""
        if self._answered is not None:
            self._answered.finish()

    @property
    def is_stateless(self) -> bool:
        """Whether all implementations that were called say that they leave nothing, and none failed."""
        return self._answered is not None and self._answered.is_stateless

    def release(self) -> bool:
        """Let go of all that the call had: stdin, stdout and stderr are the null device then, the folder is the root.

        Return whether that could be done. Raises nothing.
        """
        if self._answered is not None:
            self._answered.release()
            self._answered = None
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            os.close(nothing)
            os.close(self._log)
            os.chdir("/")
        except (OSError, ValueError):
            # A plugin has closed what is not its own.
            return False
        return True


class _ClaudePipes:
    """The stdout and stderr that Claude Code reads, in the end under other numbers, in this process alone.

    A process that a plugin forks, and that lives on, must not keep them open: some clients read to the end.
    """

    def __init__(self) -> None:
        self.stdout, self.stderr = 1, 2
        self._apart: list[int] = []

    def set_apart(self) -> None:
        """Give them other numbers. Raises OSError."""
        close_in_forked(self.close)
        for number in (1, 2):
            self._apart.append(os.dup(number))
        self.stdout, self.stderr = self._apart

    def restore(self) -> None:
        """Give them their own numbers again, as far as they had others. Raises nothing."""
        for descriptor, number in zip(self._apart, (1, 2), strict=False):
            os.dup2(descriptor, number)
        self.close()
        self.stdout, self.stderr = 1, 2

    def close(self) -> None:
        """Close what was set apart, once."""
        if self._apart:
            apart, self._apart = self._apart, []
            stays_closed(self.close)
            for descriptor in apart:
                try:
                    os.close(descriptor)
                except OSError:
                    # A plugin has closed what is not its own.
                    continue


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _open_missing() -> list[int]:
    """Open the standard descriptors that are closed, so that no other file gets their numbers; return which."""
    missing = []
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is the one that is given.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            missing.append(number)
    return missing


def _open_output() -> int:
    """Open the file that gets what plugins print, ``plugin-output.log`` beside the journal; else nothing gets it."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        folder = Home.from_environ(os.environ).logs
        path = os.path.join(folder, "plugin-output.log")
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            ensure(folder)
            descriptor = os.open(path, flags, 0o600)
    except (OSError, ValueError):
        return os.open(os.devnull, os.O_WRONLY)
    if os.fstat(descriptor).st_size > MAX_OUTPUT:
        os.ftruncate(descriptor, 0)
    return descriptor


def _read_stdin() -> bytes | None:
    """Read stdin to its end, so that the writer never blocks; None if there is more than MAX_PAYLOAD."""
    chunks, size = [], 0
    while chunk := _read(0):
        size += len(chunk)
        if size <= MAX_PAYLOAD:
            chunks.append(chunk)
    return b"".join(chunks) if size <= MAX_PAYLOAD else None


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        _wait(descriptor)
        return _read(descriptor)


def _wait(descriptor: int) -> None:
    """Wait until a descriptor that somebody has set to non-blocking can be used again."""
    os.set_blocking(descriptor, True)


def _write(descriptor: int, text: str) -> bool:
    """Write a text; return whether all of it could be written."""
    data = text.encode("utf-8", "backslashreplace")
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            _wait(descriptor)
        except OSError:
            # A full disk, or Claude Code has stopped listening: then nobody reads the exit code either.
            return False
    return True
