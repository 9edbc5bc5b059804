"""Where a lane's messages are delivered: in this process, or in one that is forked from it."""

from __future__ import annotations

import os
import select
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import attrs

from hookrouter.util import fastjson
from hookrouter.util.system import fork

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from hookrouter.messaging.delivery.scheduler import Lane
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.interface import DocumentWatch

    Tell = Callable[[list[str]], None]
    """Takes one event of a worker: what happened, the gateway, the message's id."""

__all__ = ["Inline", "Processes", "Workers"]

_POLL_SECONDS = 1.0


class Workers(Protocol):
    """Where the messages of a lane are delivered."""

    @property
    def running(self) -> int:
        """How many lanes are being worked on."""

    def start(self, lane: Lane, work: Callable[[Tell], None]) -> None:
        """Let ``work`` run; what it tells is handed over by :meth:`wait`. Raises OSError."""

    def wait(self, timeout: float) -> list[tuple[Lane, list[list[str]]]]:
        """Wait up to so many seconds for a lane to end or the outbox to change; return the lanes that ended."""

    def changed(self) -> bool:
        """Return whether the outbox is known to have changed since the last call."""


class Inline:
    """Works in this process, one lane after the other."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._ended: list[tuple[Lane, list[list[str]]]] = []

    @property
    def running(self) -> int:
        """How many lanes have ended and were not yet asked for."""
        return len(self._ended)

    def start(self, lane: Lane, work: Callable[[Tell], None]) -> None:
        """Do the work at once."""
        events: list[list[str]] = []
        work(events.append)
        self._ended.append((lane, events))

    def wait(self, timeout: float) -> list[tuple[Lane, list[list[str]]]]:  # noqa: ARG002 - there is nothing to wait for
        """Return what has ended."""
        ended, self._ended = self._ended, []
        return ended

    def changed(self) -> bool:
        """Whether the outbox may have changed: always, as nobody watches it."""
        return False


class Processes:
    """Works in processes that are forked from this one, and watches the outbox meanwhile."""

    def __init__(self, outbox: Outbox, watches: Sequence[DocumentWatch] = ()) -> None:
        """``watches`` have been entered."""
        self._outbox = outbox
        self._watches = watches
        self._changed = False
        self._workers: dict[int, _Worker] = {}

    @property
    def running(self) -> int:
        """How many processes there are."""
        return len(self._workers)

    def start(self, lane: Lane, work: Callable[[Tell], None]) -> None:
        """Start a process for the work. Raises OSError."""
        reading, writing = os.pipe()
        try:
            pid = fork()
        except OSError:
            os.close(reading)
            os.close(writing)
            raise
        if pid == 0:
            self._work(work, writing)
        os.close(writing)
        self._workers[reading] = _Worker(lane, pid)

    def _work(self, work: Callable[[Tell], None], writing: int) -> NoReturn:
        code = 1
        try:
            self._outbox.locks.leave()
            work(lambda event: _tell(writing, event))
            code = 0
        except BaseException:  # noqa: BLE001 - the child ends here in any case
            traceback.print_exc()
        finally:
            os._exit(code)

    def wait(self, timeout: float) -> list[tuple[Lane, list[list[str]]]]:
        """Wait up to ``timeout`` seconds for processes or the outbox; return the lanes whose process has ended."""
        descriptors = list(self._workers)
        for watch in self._watches:
            if watch.fileno() >= 0:
                descriptors.append(watch.fileno())
            else:
                timeout = min(timeout, _POLL_SECONDS)
        if self._workers:
            timeout = min(timeout, _POLL_SECONDS)
        ready = select.select(descriptors, [], [], timeout)[0]
        for watch in self._watches:
            self._changed = watch.wait(0) or self._changed
        ended = []
        for reading, worker in list(self._workers.items()):
            at_end = False
            if reading in ready:
                data = os.read(reading, 1 << 16)
                worker.said += data
                at_end = not data
            # A program that the worker started may keep its pipe open.
            if os.waitpid(worker.pid, 0 if at_end else os.WNOHANG)[0]:
                worker.said += _rest(reading)
                os.close(reading)
                del self._workers[reading]
                ended.append((worker.lane, worker.events()))
        return ended

    def changed(self) -> bool:
        """Whether the outbox has changed since the last call."""
        changed, self._changed = self._changed, False
        return changed


@attrs.define
class _Worker:
    lane: Lane
    pid: int
    said: bytes = b""

    def events(self) -> list[list[str]]:
        """Return what it said; the last line may be cut short by its death."""
        found = []
        for text in self.said.split(b"\n"):
            with suppress(ValueError):
                event = fastjson.loads(text)
                if isinstance(event, list):
                    found.append(event)
        return found


def _tell(descriptor: int, event: list[str]) -> None:
    # The deliverer may be gone; what matters is in the documents.
    with suppress(OSError):
        os.write(descriptor, fastjson.dumps(event).encode("ascii") + b"\n")


def _rest(descriptor: int) -> bytes:
    os.set_blocking(descriptor, False)
    said = b""
    with suppress(BlockingIOError):
        while data := os.read(descriptor, 1 << 16):
            said += data
    return said
