"""A router of a home, as a test needs it: started, asked, killed, and called as a front calls it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from hookrouter._serving import address, protocol
from hookrouter.serving import control
from hookrouter.storage.home import Home
from hookrouter.util import unix_socket
from hookrouter.util.program import script_argv

__all__ = ["CALLER_LEFT", "PATIENCE", "Called", "Caller", "Resident", "eventually"]

PATIENCE = 20.0 * float(os.environ.get("HOOKROUTER_TEST_PATIENCE", "1"))


CALLER_LEFT = "the caller left"
"""The router's reason for a call that never began, because whoever made it was gone."""


class Caller(NamedTuple):
    """A caller whose call is the router's."""

    connection: socket.socket
    life: FileIO
    """The end of the pipe that a caller holds as long as it lives."""

    def leave(self) -> None:
        """Be gone."""
        self.life.close()
        self.connection.shutdown(socket.SHUT_RDWR)


class Called(NamedTuple):
    """What became of a call."""

    end: bytes
    """What the router said last: its end, or ``C`` for a call that must run cold, or nothing."""
    stdout: str
    stderr: str

    @property
    def exit_code(self) -> int:
        """The exit code of a call that was served to its end."""
        assert self.end[:1] == protocol.EXIT, self
        return self.end[1]

    @property
    def reply(self) -> Any:
        """The reply as JSON; None for none."""
        assert self.exit_code == 0, self
        return json.loads(self.stdout) if self.stdout else None


class Resident:
    """The router of one home, with its environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """``environ`` names the home."""
        self.environ = dict(environ)
        self.folder = Home.from_environ(self.environ).router
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Resident:
        """Start it, and wait until it answers."""
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """End it, whatever state it is in."""
        self.kill()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def lives(self) -> bool:
        """Whether its process has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self, idle: float = 0) -> None:
        """Start it, and wait until it answers. Raises RuntimeError if it ends, and no other one serves the home."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hookrouter", "serve", "--resident", str(idle)],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stderr=None,
        )
        eventually(lambda: self.is_there() or not self.lives)
        if not self.is_there():
            raise RuntimeError(f"the router has ended with {self._process.returncode}")

    def is_there(self) -> bool:
        """Whether it answers."""
        try:
            return bool(control.ask(self.folder))
        except control.NotServedError:
            return False

    def status(self) -> dict[str, Any]:
        """Return what it says of itself, though the machine has so much to do that commands would not wait for it.

        Raises NotServedError if it serves nobody, and TimeoutError.
        """
        found: dict[str, Any] = {}

        def answers() -> bool:
            try:
                found.update(control.ask(self.folder))
            except control.NotServedError as error:
                if not error.is_hung:
                    raise
            return bool(found)

        eventually(answers)
        return found

    def boot(self) -> str:
        """Return the id of its present boot; empty while it does not answer."""
        try:
            return str(control.ask(self.folder)["boot"])
        except control.NotServedError:
            return ""

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End it by a signal, and wait for its end."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGCONT)
                self._process.send_signal(number)
            self._process.wait(PATIENCE)

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def connect(self, event: str, environ: Mapping[str, str] | None = None) -> socket.socket:
        """Say hello for a call; return the connection."""
        connection = unix_socket.connect(self.folder, address.CALLS, PATIENCE)
        words = [*script_argv(), "run", event]
        variables = self.environ if environ is None else environ
        try:
            connection.sendall(protocol.encode_hello(os.getpid(), 0o022, words, variables))
        except OSError:
            connection.close()
            raise
        return connection

    def call(
        self,
        event: str,
        payload: object,
        *,
        cwd: str | Path = "/",
        environ: Mapping[str, str] | None = None,
        meanwhile: Callable[[Caller], None] | None = None,
    ) -> Called:
        """Make a call as a front does. ``meanwhile`` is called once the call is the router's."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        try:
            greeted = self.connect(event, environ)
        except ConnectionError:
            # It says that this call must run cold, and reads no more.
            return Called(protocol.COLD, "", "")
        with (
            greeted as connection,
            tempfile.TemporaryFile() as stdin,
            tempfile.TemporaryFile() as stdout,
            tempfile.TemporaryFile() as stderr,
            ExitStack() as held,
        ):
            try:
                ready = connection.recv(1)
            except ConnectionError:
                ready = b""
            if ready != protocol.READY:
                return Called(ready, "", "")
            stdin.write(data)
            stdin.seek(0)
            folder = os.open(cwd, os.O_RDONLY)
            files = [one.fileno() for one in (stdin, stdout, stderr)]
            reading, writing = os.pipe()
            life = held.enter_context(FileIO(writing, "w"))
            socket.send_fds(connection, [protocol.GO], [*files, folder, reading])
            for given in (folder, reading):
                os.close(given)
            if meanwhile is not None:
                meanwhile(Caller(connection, life))
            end = b""
            try:
                while len(end) < protocol.END_BYTES and (part := connection.recv(protocol.END_BYTES - len(end))):
                    end += part
            except ConnectionError:
                pass
            stdout.seek(0)
            stderr.seek(0)
            return Called(end, stdout.read().decode(), stderr.read().decode())


def eventually(is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something is so. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {is_so}")
        time.sleep(0.01)
