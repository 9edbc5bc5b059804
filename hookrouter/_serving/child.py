"""A served call: a forked child of the router runs one hook on the descriptors of the process that asks.

The code that answers is that of ``hookrouter run``, in a process of its own as ever; only its start is saved. The child
has the stdin, stdout and stderr that the caller gives it, and its working folder, environment, file-creation mask and
arguments. It knows the router by a :class:`Channel` alone. It ends at once if the caller does, and goes on if the
router does.
"""

from __future__ import annotations

import gc
import os
import select
import socket
import sys
import time
from contextlib import suppress
from io import FileIO
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

from hookrouter._config.cache import keep as keep_config
from hookrouter._isolation.containment import encoded_variables
from hookrouter._plugins.index import keep_cache as keep_index
from hookrouter._routing import hook_process
from hookrouter._serving import protocol
from hookrouter._serving.copied_pages import Written, copy_runs
from hookrouter._serving.delivery import WarmDelivery, replace_environment
from hookrouter._serving.fitness import Fitness
from hookrouter.storage.home import Home
from hookrouter.util import fastjson, system, unix_socket
from hookrouter.util.claude_process import set_hook_parent
from hookrouter.util.forked import close_in_forked, stays_closed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter._serving.copied_pages import Runs
    from hookrouter._serving.protocol import Hello
    from hookrouter.context import Wiring

__all__ = ["Channel", "Served", "interpreter_of", "rehearse", "serve_calls"]

CALLER_LEFT = "the caller left"
"""Why a call never began, if nothing was wrong."""

HELLO_SECONDS = 5.0
"""Seconds that a caller has to say what it wants."""

STDIN_SECONDS = 600.0
"""Seconds that a caller may take to read its stdin: as long as Claude Code gives a hook."""

_UTF8 = ("utf-8", "utf8")
_exit = os._exit  # os._exit itself raises while plugins are contained


class Served:
    """What all children of one router have in common."""

    def __init__(
        self, home: Home, program: Sequence[str], wiring: Wiring, deliver: Callable[[Sequence[str]], int]
    ) -> None:
        """``program`` is how the cold run of this installation is started, ``deliver`` runs a deliverer."""
        self.home = home
        self.program = tuple(program)
        self.wiring = wiring
        self.deliver = deliver
        self.interpreter = interpreter_of(os.environ)
        self.view = _view("self")


class Channel:
    """The child's end of what it tells the router: one JSON object for each line."""

    def __init__(self, end: socket.socket) -> None:
        """Take the end."""
        self._end = end

    def tell(self, **facts: object) -> None:
        """Tell the router; if it is gone, nobody needs to know."""
        try:
            self._end.sendall(fastjson.dumps(facts).encode() + b"\n")
        except OSError:
            return

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._end.fileno()

    def receive(self) -> socket.socket | None:
        """Wait for a connection to serve; None once the router is gone or needs this child no more."""
        try:
            message, descriptors, _flags, _address = socket.recv_fds(self._end, 1, 1)
        except OSError:
            return None
        if not message or not descriptors:
            return None
        # A descriptor that another process gives is inherited by what plugins start, unless that is forbidden.
        os.set_inheritable(descriptors[0], False)
        return socket.socket(fileno=descriptors[0])

    def close(self) -> None:
        """Close it."""
        self._end.close()


def rehearse(served: Served, runs: Runs) -> None:
    """Do, in a child that waits for a call, what every call does and what leaves nothing behind.

    ``runs``: the pages of memory that calls write to.
    """
    # The router's own environment may be such that nothing can be said with it.
    with suppress(ValueError):
        hello = protocol.encode_hello(0, 0o022, [*served.program, "run", "stop"], os.environ)
        _why_cold(protocol.decode_hello(hello[protocol.HEAD_BYTES :]), served)
    copy_runs(runs)


def serve_calls(channel: Channel, served: Served, written: Written | None) -> NoReturn:
    """Serve the calls that come by the channel, as long as this process is fit for them; then end it.

    ``written`` looks what the first call writes to, if any.
    """
    os.setsid()
    close_in_forked(lambda: _close_quietly(channel))
    system.get_ready_to_end()
    fitness, place = Fitness(), _Place(served)
    gc.disable()
    while (connection := channel.receive()) is not None:
        gc.disable()
        call = _taken(connection, channel, place)
        _run(call, channel, served, written, fitness)
        written = None
        keep_config(served.home)
        keep_index(served.home)
    try:
        if fitness.calls:
            hook_process.call_exit_functions()
    finally:
        _exit(0)


class _Call:
    """A call that is this process's."""

    def __init__(self, connection: socket.socket, life: FileIO, event: str) -> None:
        self._connection = connection
        self._life = life
        self.event = event
        close_in_forked(self._close)

    def replied(self, exit_code: int, unwritten: int) -> None:
        """Say that all is written, and have nothing more to do with whoever made the call.

        ``unwritten``: the exit code of a front that cannot write it.
        """
        system.go_on_without(self._life.fileno())
        # Perhaps nobody waits for this hook any more.
        with suppress(OSError):
            self._connection.send(protocol.EXIT + bytes([exit_code, unwritten]))
        self._close()
        stays_closed(self._close)

    def _close(self) -> None:
        _close_quietly(self._connection, self._life)


class _Place:
    """The place from which calls come: most come from the same one as the call before."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._environ: Mapping[str, str] | None = None
        self._program: tuple[str, ...] = ()
        self._variables: dict[bytes, bytes] | None = None

    def why_cold(self, hello: Hello, connection: socket.socket) -> str:
        """Return why a call is not for this router; empty if it is."""
        if self._served.view and _view(unix_socket.peer_process(connection)) != self._served.view:
            # A container, or a sandbox: the same paths may be other files there.
            return "another view of files or processes"
        if hello.environ == self._environ and hello.words[:-1] == self._program:
            return ""
        return _why_cold(hello, self._served)

    def take_over(self, hello: Hello) -> None:
        """Become what the caller is: its environment, mask and arguments."""
        # What the former call may have changed is looked at, not remembered.
        is_same = self._variables is not None and encoded_variables() == self._variables
        if hello.environ != self._environ or not is_same:
            zone = os.environ.get("TZ")
            replace_environment(hello.environ)
            if os.environ.get("TZ") != zone:
                time.tzset()
            self._environ, self._program = hello.environ, hello.words[:-1]
            self._variables = encoded_variables()
        if tempfile := sys.modules.get("tempfile"):
            # It remembers what the environment of a former caller said.
            vars(tempfile)["tempdir"] = None
        os.umask(hello.umask)
        sys.argv = list(hello.words)
        set_hook_parent(hello.parent)


def _taken(connection: socket.socket, channel: Channel, place: _Place) -> _Call:
    """Take the call of a connection over; end this process if there is none."""
    try:
        hello = _hello(connection)
        reason = CALLER_LEFT if hello is None else place.why_cold(hello, connection)
        if hello is None or reason:
            connection.send(protocol.COLD)
            channel.tell(cold=reason)
            _exit(0)
        connection.send(protocol.READY)
        place.take_over(hello)
        life = _take_descriptors(connection)
        if life is None:
            channel.tell(cold=CALLER_LEFT)
            _exit(0)
    except ConnectionError:
        channel.tell(cold=CALLER_LEFT)
        _exit(0)
    except OSError as error:
        # The system is out of something: the caller runs cold.
        channel.tell(cold=str(error))
        _exit(0)
    _end_with(life)
    channel.tell(event=hello.words[-1])
    return _Call(connection, life, hello.words[-1])


def _run(call: _Call, channel: Channel, served: Served, written: Written | None, fitness: Fitness) -> None:
    """Run a call. Returns if this process is fit for another one, and has said so."""
    loaded, is_free = len(sys.modules), False
    hook, delivery = hook_process.HookProcess(), WarmDelivery(served.wiring, served.deliver)
    try:
        hook.reply(call.event, delivery)
        call.replied(hook.exit_code, hook.unwritten)
        hook.finish()
        delivery.push()
        if hook.is_stateless and fitness.owes_nothing():
            is_free = hook.release() and fitness.holds()
            if is_free:
                # Else the next call would wait for each page that it writes to.
                copy_runs(delivery.shared)
        if not is_free:
            hook_process.call_exit_functions()
        channel.tell(done=True, free=is_free, modules=_loaded_since(loaded), written=written and written.runs())
    finally:
        if not is_free:
            # What counts if the router tells how this process ended: nothing was written.
            _exit(hook.exit_code)


def _loaded_since(count: int) -> list[str]:
    """Return the modules that were loaded since there were so many, without a look at the others."""
    fresh = islice(reversed(sys.modules), max(0, len(sys.modules) - count))
    return list(fresh)[::-1]


def _hello(connection: socket.socket) -> Hello | None:
    """Return what the caller says; None if it says nothing that can be used."""
    connection.settimeout(HELLO_SECONDS)
    try:
        return protocol.receive_hello(connection)
    except (OSError, ValueError):
        return None
    finally:
        connection.settimeout(None)


def _why_cold(hello: Hello, served: Served) -> str:
    """Return why a call is not for this router; empty if it is."""
    *program, command, _event = hello.words if len(hello.words) > 2 else ("", "", "")
    if command != "run" or tuple(program) != served.program:
        return "another installation"
    try:
        home = Home.from_environ(hello.environ)
    except (OSError, ValueError) as error:
        return str(error)
    if home != served.home:
        return "another home"
    if interpreter_of(hello.environ) != served.interpreter:
        return "another PYTHON* variable or character set"
    return ""


def _view(process: int | str) -> tuple[str, ...]:
    """Return what tells which files and processes a process sees; empty if the system does not say."""
    try:
        return tuple(os.readlink(f"/proc/{process}/{name}") for name in ("root", "ns/mnt", "ns/pid"))
    except OSError:
        return ()


def interpreter_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of an environment makes an interpreter another one: it cannot be changed once it runs."""
    found = {name: value for name, value in environ.items() if name.startswith("PYTHON")}
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "C"
    # Terminal.app sets LC_CTYPE=UTF-8: a locale of macOS that is a character set alone.
    charset = locale.lower().rpartition(".")[2] if "." in locale or locale.lower() in _UTF8 else ""
    # With the plain C locale Python speaks UTF-8 (PEP 538 and 540).
    if charset.partition("@")[0] not in _UTF8 and locale not in ("C", "POSIX"):
        found["charset"] = charset
    return found


def _take_descriptors(connection: socket.socket) -> FileIO | None:
    """Put the caller's stdin, stdout, stderr and folder in the place of this process's.

    Return the pipe that tells of the caller's end; None if nothing came.
    """
    connection.settimeout(STDIN_SECONDS)
    message, descriptors, _flags, _address = socket.recv_fds(connection, 1, protocol.GIVEN)
    connection.settimeout(None)
    if message != protocol.GO or len(descriptors) != protocol.GIVEN:
        return None
    *standard, folder, life = descriptors
    os.fchdir(folder)
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
    for descriptor in (*standard, folder):
        os.close(descriptor)
    os.set_inheritable(life, False)
    return FileIO(life)


def _end_with(life: FileIO) -> None:
    """See to it that this process ends when the caller does, whatever it is doing: as a hook that is killed."""
    system.end_with(life.fileno())
    poll = select.poll()
    # Nobody writes to it: what can be read is its end.
    poll.register(life.fileno(), select.POLLIN)
    if poll.poll(0):
        # It left before the system was told.
        os._exit(0)


def _close_quietly(*ends: socket.socket | Channel | FileIO) -> None:
    """Close, in a process that a plugin forks, what belongs to this one."""
    for one in ends:
        try:
            one.close()
        except OSError:
            continue
