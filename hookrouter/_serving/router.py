"""``hookrouter serve``: one warm process for a home, which forks a child for each hook call.

The router itself only accepts connections and hands each to a child (:mod:`hookrouter._serving.children`); what a call
says and does is the child's business, so nothing that a caller or a plugin does can hold the router up. It has one
thread and one loop. If code that it has loaded changes, it sends callers away, to run cold, until the change is over,
and then begins anew in the same process: its sockets stay open, and callers wait for it in their backlog.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookrouter import __version__
from hookrouter._config.cache import keep as keep_config
from hookrouter._plugins.index import keep_cache as keep_index
from hookrouter._routing.output import FAILED
from hookrouter._serving import protocol
from hookrouter._serving.children import SPARES, Children, reset_signals
from hookrouter._serving.facts import home_facts
from hookrouter._serving.kept_processes import KeptProcesses
from hookrouter._serving.staleness import LoadedCode
from hookrouter._serving.warming import Warming
from hookrouter.util import fastjson, unix_socket
from hookrouter.util.clock import iso
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookrouter._serving.child import Served
    from hookrouter._serving.children import Child
    from hookrouter._serving.learned import Learned
    from hookrouter._serving.sockets import RouterSockets
    from hookrouter.serving.resident import ResidentProcess

__all__ = ["Router"]

TICK = 5.0
"""Seconds after which the router sees to what nobody tells it of: its sockets' files, the outbox, idle time."""

QUIET = 1.0
"""Seconds without a further change after which changed code is loaded: an upgrade replaces many files."""

SETTLING = 0.02
"""Seconds after a call's begin in which no more than one child is kept waiting."""

IDLE = 60.0
"""Seconds after which a child ends that has served calls and gets no other one, if there are enough without it."""

_BACKLOG_BATCH = 64
_COMMAND_SECONDS = 0.5
_MAX_REASONS = 20


class Router:
    """The loop of the router, over its sockets and children."""

    def __init__(
        self,
        served: Served,
        sockets: RouterSockets,
        *,
        idle: float = 0.0,
        tick: Callable[[], None],
        learned: Learned,
        resident: Sequence[ResidentProcess],
    ) -> None:
        """``idle``: seconds without a call after which it ends; 0: never. ``tick`` is called every few seconds.

        ``learned`` keeps which modules calls needed, for the next router. ``resident`` are the resident processes that
        no plugin contributes.
        """
        self._served = served
        self._sockets = sockets
        self._idle = idle
        self._on_tick = tick
        self._children = Children(served, self._let_go)
        self._warming = Warming(self._let_go)
        self._learned = learned
        self._code = LoadedCode()
        self._changed_at = 0.0
        self._change = ""
        self._stopping = ""
        """``stop`` or ``restart`` once that was asked for."""
        self._boot = os.urandom(8).hex()
        self._began = time.time()
        self._last_call = time.monotonic()
        self._calls = self._died = 0
        self._cold: dict[str, int] = {}
        self._is_full = False
        """Whether this process has as many descriptors open as it may have."""
        self._woken, self._wake = os.pipe()
        self._process = os.getpid()
        self._kept = KeptProcesses(served.home, os.environ, resident)

    def run(self) -> str:
        """Serve until a signal, an idle time or ``hookrouter serve --stop`` ends it; return ``stop`` or ``restart``.

        Calls that are being served go on by themselves.
        """
        for descriptor in (self._woken, self._wake):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number, action in ((signal.SIGTERM, "stop"), (signal.SIGINT, "stop"), (signal.SIGHUP, "restart")):
            signal.signal(number, lambda *_, action=action: self._stop(action))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._keep()
        self._warm(self._learned.modules())
        gc.collect()
        gc.freeze()
        self._kept.start()
        next_tick = time.monotonic() + TICK
        while not self._stopping:
            self._refill()
            poll = self._poll()
            wait = QUIET if self._change else max(0.0, next_tick - time.monotonic())
            if self._is_settling():
                wait = min(wait, SETTLING)
            wait = min(wait, self._kept.next_due())
            ready = {descriptor for descriptor, _event in poll.poll(wait * 1000)}
            if self._woken in ready:
                self._reap()
            if not self._kept.next_due():
                self._kept.tend()
            self._hear(ready)
            if self._sockets.calls.fileno() in ready:
                self._accept()
            if self._sockets.control.fileno() in ready:
                self._answer_control()
            self._kept.begin(ready)
            if self._change and time.monotonic() - self._changed_at >= QUIET and not self._look_at_code():
                self._stopping = "restart"
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + TICK
                self._tick()
        self._children.dismiss()
        self._kept.stop()
        return self._stopping

    def remove(self) -> None:
        """Close what only this one holds, and remove what it has made for it. The sockets are another's to remove."""
        self._kept.remove()

    def hand_over(self) -> dict[str, str]:
        """Let the router that takes the place of this one have what only this one holds; return the variables."""
        return self._kept.hand_over()

    def status(self) -> dict[str, Any]:
        """Return what ``hookrouter serve --status`` shows, as JSON."""
        now = time.monotonic()
        waits = [child for child in self._children.busy.values() if now - child.since > 1.0]
        return {
            **self._kept.status(),
            "version": __version__,
            "home": self._served.home.root,
            "boot": self._boot,
            "pid": os.getpid(),
            "since": iso(self._began),
            "program": list(self._served.program),
            "calls": self._calls,
            "sent_away": self._cold,
            "died": self._died,
            "running": len(self._children.busy),
            "warm": self._children.warm,
            "waiting": [{"event": one.event, "seconds": round(now - one.since, 1)} for one in waits],
            "memory_kb": _resident_kb(),
            "modules": len(sys.modules),
            "copied_pages": len(self._children.pages),
            **home_facts(self._served.home, os.environ),
            "loading": self._warming.fileno() >= 0,
            "not_loaded": sorted(self._warming.refused),
            "changed": self._change,
        }

    def _let_go(self) -> None:
        """Close, in a child, what is the router's alone."""
        reset_signals()
        self._sockets.close()
        self._kept.let_go()
        for descriptor in (self._woken, self._wake):
            os.close(descriptor)

    def _stop(self, action: str) -> None:
        if os.getpid() == self._process:
            self._stopping = action

    def _poll(self) -> select.poll:
        poll = select.poll()
        listeners = [self._sockets.control] if self._is_full else [self._sockets.calls, self._sockets.control]
        for one in (*listeners, *self._listened_to()):
            poll.register(one.fileno(), select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        for descriptor in self._kept.awaited():
            poll.register(descriptor, select.POLLIN)
        if self._warming.fileno() >= 0:
            poll.register(self._warming.fileno(), select.POLLIN)
        return poll

    def _listened_to(self) -> list[socket.socket]:
        return [child.end for child in self._children.busy.values() if not child.is_silent]

    def _refill(self) -> None:
        if self._change:
            return
        # Without a spare child, a call has one forked for it, or runs cold.
        with suppress(OSError):
            self._children.refill(1 if self._is_settling() else SPARES)

    def _is_settling(self) -> bool:
        """Whether a call has just begun that could use the time which a fork takes."""
        return bool(self._children.busy) and time.monotonic() - self._last_call < SETTLING

    def _accept(self) -> None:
        """Hand each caller that waits to a child."""
        if not self._change:
            self._look_at_code()
        for _ in range(_BACKLOG_BATCH):
            try:
                connection, _address = self._sockets.calls.accept()
            except BlockingIOError:
                return
            except OSError:
                # No descriptor is left for a caller. It would be told of again and again, until a call ends.
                self._is_full = True
                return
            connection.setblocking(True)
            self._last_call = time.monotonic()
            if self._change or not unix_socket.is_own_peer(connection):
                self._send_away(connection, "changed code" if self._change else "another user")
                continue
            try:
                self._children.give(connection)
                self._calls += 1
            except OSError as error:
                self._send_away(connection, describe_error(error))

    def _send_away(self, connection: socket.socket, reason: str) -> None:
        self._note_cold(reason)
        with suppress(OSError):
            connection.send(protocol.COLD)
        connection.close()

    def _note_cold(self, reason: str) -> None:
        """Count a caller that was sent away, by the reason."""
        if reason not in self._cold and len(self._cold) >= _MAX_REASONS:
            reason = "other reasons"
        self._cold[reason] = self._cold.get(reason, 0) + 1

    def _hear(self, ready: set[int]) -> None:
        for child in list(self._children.busy.values()):
            if not child.is_silent and child.end.fileno() in ready:
                self._take(child)
        if self._warming.fileno() in ready:
            with suppress(OSError):
                if self._warming.hear():
                    self._code.extend()
                    # Those that wait do not have what was loaded.
                    self._children.dismiss()
                    self._children.pages.forget()
                    gc.freeze()
                    self._learned.add(self._warming.loaded)

    def _take(self, child: Child) -> None:
        """Take in what a child tells."""
        for message in child.messages():
            child.event = str(message.get("event", child.event))
            if "cold" in message:
                self._note_cold(str(message["cold"]))
            if "done" in message:
                # Calls write these, and read them.
                self._keep()
            if "done" in message or "cold" in message:
                # What becomes of it now is nobody's business.
                child.forget_connection()
            if isinstance(message.get("written"), list):
                self._children.pages.add(message["written"])
            if isinstance(message.get("modules"), list):
                self._warm(message["modules"])
            if message.get("free") is True:
                self._children.free(child)
                if self._change:
                    self._children.dismiss()

    def _keep(self) -> None:
        """Keep loaded what every call reads."""
        keep_config(self._served.home)
        keep_index(self._served.home)

    def _warm(self, modules: Iterable[object]) -> None:
        # Without a process for it, modules stay with the calls that need them.
        with suppress(OSError):
            self._warming.want(modules)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._woken, 1 << 12):
                pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            code = os.waitstatus_to_exitcode(status)
            if self._kept.ended(pid, code):
                continue
            child = self._children.ended(pid)
            self._is_full = False
            if child is not None:
                self._take(child)
                self._tell_of_death(child, code)
                child.close()

    def _tell_of_death(self, child: Child, code: int) -> None:
        """Tell the caller how the child of its call has died, so that it does the same."""
        if child.connection is None:
            return
        self._died += 1
        # Whatever ended it with 0 has not written the answer.
        sign = bytes([-code, FAILED]) if code < 0 else bytes([code or FAILED] * 2)
        sign = (protocol.KILLED if code < 0 else protocol.ENDED) + sign
        with suppress(OSError):
            child.connection.send(sign, socket.MSG_DONTWAIT)

    def _look_at_code(self) -> bool:
        """Look whether loaded code has changed again; return whether it has since the last look."""
        change = self._code.change()
        if not change:
            return False
        self._change, self._changed_at = change, time.monotonic()
        self._children.dismiss()
        return True

    def _answer_control(self) -> None:
        """Answer one command of a person or of doctor; whoever sends it is this user."""
        with suppress(OSError, ValueError):
            connection, _address = self._sockets.control.accept()
            with connection:
                if not unix_socket.is_own_peer(connection):
                    return
                connection.settimeout(_COMMAND_SECONDS)
                command = connection.recv(64).strip().decode("ascii", "replace")
                if command in ("stop", "restart"):
                    self._stopping = command
                connection.sendall(fastjson.dumps(self.status()).encode() + b"\n")

    def _tick(self) -> None:
        self._is_full = False
        if not self._sockets.restore():
            self._stopping = "stop"
        self._kept.tend()
        self._children.thin_out(IDLE)
        self._on_tick()
        is_used = bool(self._children.busy) or self._kept.are_used
        is_idle = time.monotonic() - self._last_call >= self._idle and not is_used
        if self._idle and is_idle:
            self._stopping = "stop"


def _resident_kb() -> int:
    """Return how much memory this process has in use, in kB; 0 if the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    except (OSError, ValueError, IndexError):
        return 0


def begin_anew(environ: Mapping[str, str], sockets: RouterSockets, router: Router) -> None:
    """Become a new router in this process, with the installed code and the same sockets. Raises OSError."""
    variables = {**environ, **sockets.hand_over(), **router.hand_over()}
    os.execve(sys.executable, [sys.executable, "-P", "-m", "hookrouter", *sys.argv[1:]], variables)  # noqa: S606
