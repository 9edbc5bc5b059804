"""A child of a test, forked, which says how far it is and waits for what comes next."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from types import TracebackType

__all__ = ["Forked"]

_SECONDS = 30.0


class Forked:
    """Runs ``work`` in a forked child. It is killed, if it still runs, at the end of the ``with`` block."""

    def __init__(self, work: Callable[[Forked], None]) -> None:
        """``work`` gets this object; whatever it raises is said to the parent as its last word."""
        from_child, to_parent = os.pipe()
        from_parent, to_child = os.pipe()
        self.pid = os.fork()
        if self.pid:
            self._hears, self._speaks = from_child, to_child
            os.close(to_parent)
            os.close(from_parent)
            return
        self._hears, self._speaks = from_parent, to_parent
        os.close(from_child)
        os.close(to_child)
        try:
            work(self)
            self.say("end")
        except BaseException as error:  # noqa: BLE001 - the parent is told
            self.say(f"{type(error).__name__}: {error}")
        finally:
            os._exit(0)

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(signal.SIGKILL)
        os.close(self._hears)
        os.close(self._speaks)

    def say(self, word: str) -> None:
        """Say a line to the other side."""
        os.write(self._speaks, f"{word}\n".encode())

    def heard(self, seconds: float = _SECONDS) -> str:
        """Return the next line that the other side says; empty if it has ended."""
        line = b""
        while not line.endswith(b"\n"):
            assert select.select([self._hears], [], [], seconds)[0], "the other process says nothing"
            if not (byte := os.read(self._hears, 1)):
                break
            line += byte
        return line.decode().strip()

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send it a signal and wait until it has ended."""
        if self.pid > 0:
            os.kill(self.pid, number)
            os.waitpid(self.pid, 0)
            self.pid = -1

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)
