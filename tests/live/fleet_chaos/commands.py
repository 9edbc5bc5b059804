"""Commands in processes that are forked with hookrouter imported, not started anew.

A run starts tens of thousands of commands, and two thirds of the processor's time went into importing the same modules
again. Each command is still a process of its own, with its own variables, folder, output and exit code; only what it
imports is there already. Which modules that are, the server learns from the commands that have ended.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

__all__ = ["Command", "Commands"]

_MOST = 1 << 17
"""Bytes of one message, at most."""
_STATUS = 4
"""Bytes of an exit status."""


class Command:
    """A running command: as much of ``subprocess.Popen`` as a client needs."""

    def __init__(self, output: int, errors: int, status: int) -> None:
        self._said: dict[int, bytes] = {output: b"", errors: b"", status: b""}
        self._output, self._errors, self._status = output, errors, status
        self._open = {output, errors, status}
        self.returncode: int = 0
        """Once it has ended: its exit code, or the number of the signal that ended it, negative."""

    def poll(self) -> int | None:
        """Return the exit code, None as long as it runs."""
        self._read(0)
        return self.returncode if self._is_over() else None

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Wait for its end, so many seconds at most; return what it said and what it complained of."""
        end = time.monotonic() + timeout
        while self._open:
            if (left := end - time.monotonic()) <= 0:
                raise subprocess.TimeoutExpired("hookrouter", timeout)
            self._read(left)
        assert self._is_over(), "the server of commands is gone"
        return self._said[self._output].decode(), self._said[self._errors].decode()

    def _is_over(self) -> bool:
        status = self._said[self._status]
        if len(status) == _STATUS:
            self.returncode = int.from_bytes(status, "big", signed=True)
        return len(status) == _STATUS

    def _read(self, timeout: float) -> None:
        """Take what is there; wait so many seconds for the first of it."""
        with selectors.DefaultSelector() as selector:
            for descriptor in self._open:
                selector.register(descriptor, selectors.EVENT_READ)
            ready = selector.select(timeout) if self._open else []
        for key, _ in ready:
            data = os.read(key.fd, _MOST)
            self._said[key.fd] += data
            if not data:
                os.close(key.fd)
                self._open.remove(key.fd)


class Commands:
    """The server that forks commands, for one ``with`` block."""

    def __enter__(self) -> Self:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()
        with theirs:
            # -P as the launcher has it: this file's folder is not imported from.
            argv = [sys.executable, "-P", os.path.abspath(__file__), str(theirs.fileno())]
            self._server = subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.close()
        self._server.wait()

    def start(self, argv: Sequence[str], variables: Mapping[str, str], folder: str) -> Command:
        """Start hookrouter with these words: the launcher's path first."""
        pipes = [os.pipe() for _ in range(3)]
        message = json.dumps({"argv": list(argv), "variables": dict(variables), "folder": folder}).encode()
        try:
            with self._one_at_a_time:
                socket.send_fds(self._line, [message], [write for _, write in pipes])
        finally:
            for _, write in pipes:
                os.close(write)
        return Command(*(read for read, _ in pipes))


def _serve(line: socket.socket) -> None:
    """Fork what is asked for, until nobody can ask any more and the last command has ended."""
    learning, teaching = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        for source in (line, learning, wake):
            selector.register(source, selectors.EVENT_READ)
        is_asked = True
        while is_asked or running:
            for key, _ in selector.select():
                if key.fileobj is line:
                    message, descriptors, _, _ = socket.recv_fds(line, _MOST, 3)
                    if not message:
                        selector.unregister(line)
                        is_asked = False
                        continue
                    pid = os.fork()
                    if pid == 0:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        for descriptor in (line.detach(), learning.detach(), wake, woken, *running.values()):
                            os.close(descriptor)
                        _end(_run(json.loads(message), descriptors, teaching))
                    os.close(descriptors[0])
                    os.close(descriptors[1])
                    running[pid] = descriptors[2]
                elif key.fileobj is learning:
                    _learn(learning.recv(_MOST).decode().split())
                else:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake, _MOST)
            _reap(running)


def _reap(running: dict[int, int]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        told = running.pop(pid)
        with contextlib.suppress(BrokenPipeError):
            os.write(told, os.waitstatus_to_exitcode(status).to_bytes(_STATUS, "big", signed=True))
        os.close(told)


def _learn(names: Sequence[str]) -> None:
    for name in names:
        # A module that another one has put there under a name of its own cannot be imported, and need not be.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _run(asked: dict[str, object], descriptors: Sequence[int], teaching: socket.socket) -> int:
    """Be the command; return its exit code."""
    output, errors, status = descriptors
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for descriptor in (output, errors, status):
        os.close(descriptor)
    argv, variables, folder = asked["argv"], asked["variables"], asked["folder"]
    assert isinstance(argv, list)
    assert isinstance(variables, dict)
    assert isinstance(folder, str)
    # As an interpreter opens them at its start: whether they are pipes is asked only then.
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(  # type: ignore[misc]
        io.FileIO(2, "w", closefd=False), "utf-8", line_buffering=True
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = argv
    known = set(sys.modules)
    from hookrouter.__main__ import main

    code = main()
    if new := sorted(set(sys.modules) - known):
        teaching.send(" ".join(new).encode()[:_MOST])
    return code


def _end(code: int) -> NoReturn:
    """End as an interpreter does, but leave the memory as it is: to take it apart would cost more than the command."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _line:
        _serve(_line)
