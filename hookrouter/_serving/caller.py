"""Brings one hook call to the router as a front does, and runs it cold where no router takes it.

For processes with one thread and an asyncio loop: the working folder, which is the process's, is another one for a
moment while a connection is made.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import socket
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from hookrouter._serving import address, protocol
from hookrouter.util import unix_socket
from hookrouter.util.claude_process import client_pid
from hookrouter.util.errors import HookrouterError
from hookrouter.util.program import script_argv
from hookrouter.util.system import PATH_ONLY, memory_file
from hookrouter.util.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

__all__ = ["BroughtCall", "CallError", "Outcome", "bring"]

READY_SECONDS = 2.0
"""Seconds within which a router that is well takes a call."""

ATTEMPTS = 2
"""How often a call goes to the router: one whose router ended meanwhile is taken by the next one."""

UMASK = 0o077

MAX_OUTPUT = 1 << 24
"""Bytes of a call's stdout, and of its stderr, that are taken: as much as a payload may have."""


_MOST_SAID = 1 + protocol.END_BYTES
_FULL_SECONDS = 0.005


class CallError(HookrouterError):
    """A call that cannot be made, with or without a router; the text says why."""


class BroughtCall(Value):
    """One call, with all that a hook's process is given."""

    event: str
    """The event's word, as in ``hookrouter run WORD``."""
    payload: bytes
    """What the hook reads from stdin."""
    cwd: str
    environ: Mapping[str, str]


class Outcome(Value):
    """What became of a call, as of a program that ran."""

    exit_code: int
    """128 and the signal's number, if a signal has ended it."""
    stdout: bytes
    stderr: bytes


async def bring(folder: str, call: BroughtCall) -> Outcome:
    """Make a call, by the router whose folder this is, else by a process of its own; wait for its end, however long.

    Cancelled, it ends the call as Claude Code ends a hook. Raises CallError, also for more output than MAX_OUTPUT.
    """
    words = [*_program(), "run", call.event]
    try:
        hello = _hello(words, call.environ)
        for _ in range(ATTEMPTS):
            outcome, is_cold = await _by_router(folder, hello, call)
            if outcome is not None:
                return outcome
            if is_cold:
                break
        return await _cold(words, call)
    except (OSError, ValueError) as error:
        raise CallError(str(error)) from None


@functools.cache
def _program() -> tuple[str, ...]:
    """The words that start hookrouter: the same as long as this process runs, which ends with its router."""
    return tuple(script_argv())


_last: tuple[list[str], Mapping[str, str], bytes] = [], {}, b""
"""The last hello, with what it says: most calls come from the same place as the one before."""


def _hello(words: list[str], environ: Mapping[str, str]) -> bytes:
    """Return the hello of a call. Raises ValueError."""
    global _last
    if _last[0] != words or _last[1] != environ:
        _last = words, environ, protocol.encode_hello(client_pid(environ), UMASK, words, environ)
    return _last[2]


async def _by_router(folder: str, hello: bytes, call: BroughtCall) -> tuple[Outcome | None, bool]:
    """Return what became of a call at the router, or None, and then whether it must run cold."""
    with ExitStack() as held:
        cwd = os.open(call.cwd, PATH_ONLY | os.O_DIRECTORY)
        held.callback(os.close, cwd)
        stdin, stdout, stderr = (held.enter_context(memory_file()) for _ in range(3))
        _fill(stdin, call.payload)
        reading, writing = os.pipe()
        held.callback(os.close, reading)
        held.callback(os.close, writing)
        connection = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        connection.setblocking(False)
        given = [stdin.fileno(), stdout.fileno(), stderr.fileno(), cwd, reading]
        said = await _brought(connection, folder, hello, given)
        if said[:1] != protocol.READY:
            return None, True
        code = _exit_code(said)
        return (None, False) if code is None else (Outcome(code, _content(stdout), _content(stderr)), False)


class _Said:
    """What the router says on a connection: a few bytes, read as they come."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._hangs = False
        self._data = b""

    async def end(self) -> bytes:
        """Return all of it, once it is whole or the connection has ended. Raises TimeoutError if nothing comes."""
        late = self._loop.call_later(READY_SECONDS, self._look)
        self._loop.add_reader(self._connection.fileno(), self._read)
        try:
            await self._over
        finally:
            late.cancel()
            self._loop.remove_reader(self._connection.fileno())
        if self._hangs:
            raise TimeoutError
        return self._data

    def _look(self) -> None:
        if not self._data and not self._over.done():
            self._hangs = True
            self._over.set_result(None)

    def _read(self) -> None:
        try:
            data = self._connection.recv(_MOST_SAID)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._data += data
        if (not data or len(self._data) >= _MOST_SAID) and not self._over.done():
            self._over.set_result(None)


async def _brought(connection: socket.socket, folder: str, hello: bytes, given: list[int]) -> bytes:
    """Have the router make a call; return what it has said: empty if it has not taken the call.

    The descriptors go with the hello, before the router has said that it takes the call: whoever must run cold has
    others of its own. A router that hangs loses its address, so that the next calls do not wait, and the call is ended:
    the pipe that comes with it does that.
    """
    try:
        with unix_socket.in_folder(folder):
            # It is made at once, or not at all if too many wait already.
            connection.connect(address.CALLS)
        unix_socket.check_listener(connection)
        async with asyncio.timeout(READY_SECONDS):
            await _say(connection, hello)
            await _give(connection, given)
        return await _Said(connection).end()
    except TimeoutError:
        with suppress(OSError):
            os.unlink(os.path.join(folder, address.CALLS))
    except OSError:
        # It may have said why, and closed the connection before it had read all.
        pass
    return b""


async def _say(connection: socket.socket, hello: bytes) -> None:
    """Say a hello, waiting only if the connection does not take it at once. Raises OSError."""
    try:
        sent = connection.send(hello)
    except BlockingIOError:
        sent = 0
    if sent < len(hello):
        await asyncio.get_running_loop().sock_sendall(connection, hello[sent:])


async def _give(connection: socket.socket, given: list[int]) -> None:
    """Give the descriptors, once the connection takes more. Raises OSError."""
    while True:
        try:
            socket.send_fds(connection, [protocol.GO], given)
            return
        except BlockingIOError:
            # A large hello that is not read yet.
            await asyncio.sleep(_FULL_SECONDS)


def _exit_code(said: bytes) -> int | None:
    """Return the exit code that the end of a call says; None if what came is no end, or the router has ended before."""
    sign, number = said[1:2], said[2:3]
    if len(said) < _MOST_SAID or sign not in (protocol.EXIT, protocol.KILLED, protocol.ENDED):
        return None
    return 128 + number[0] if sign == protocol.KILLED else number[0]


async def _cold(words: list[str], call: BroughtCall) -> Outcome:
    """Run a call in a process of its own. Raises OSError."""
    with ExitStack() as held:
        # Files, not pipes: a background process may keep a pipe open.
        stdin, stdout, stderr = (held.enter_context(memory_file()) for _ in range(3))
        _fill(stdin, call.payload)
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=call.cwd,
            env=dict(call.environ),
            start_new_session=True,
        )
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                # With what it has started and waits for.
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        return Outcome(code if code >= 0 else 128 - code, _content(stdout), _content(stderr))


def _fill(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
    file.seek(0)


def _content(file: IO[bytes]) -> bytes:
    """Return what was written into a file. Raises CallError for too much, which is no reply that could be used."""
    size = os.fstat(file.fileno()).st_size
    if size > MAX_OUTPUT:
        raise CallError(f"the call has said {size} bytes; allowed are {MAX_OUTPUT}")
    file.seek(0)
    return file.read()
