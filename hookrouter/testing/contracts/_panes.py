"""The panes of the terminal contract: a program that records what it reads, and what is said about it."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar

from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.terminals import Screen, TerminalAddress, TerminalBackend, TerminalError, TerminalGone
from hookrouter.testing.contracts import _pane_program
from hookrouter.util.claude_process import is_gone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pytest

T = TypeVar("T")

_PATIENCE = (10.0, 2.0, 2.0, 0.5)
"""Seconds to wait for something to show; the next value after each time that it did not, so that a backend which does
nothing right fails soon, and one that is only slow on a busy machine does not."""


class TerminalHost(Protocol):
    """The real terminal that an author gives to the contract: private, with nothing of the user's in it."""

    def start(self, session: str, command: Sequence[str], width: int, height: int) -> None:
        """Start a program, given as an argument list, in a new pane of this many columns and rows.

        ``session`` is a name for it. Programs started one after the other share a server, if the terminal has one.
        """

    def resize(self, address: TerminalAddress, width: int, height: int) -> None:
        """Give the pane another size."""

    def enter_mode(self, address: TerminalAddress, mode: str) -> None:
        """Put the pane into one of the contract's ``modes``, as a person would."""

    def close(self, address: TerminalAddress) -> None:
        """Close the pane, whatever runs in it, and wait until it is closed."""

    def type_text(self, address: TerminalAddress, text: str) -> None:
        """Type letters in the pane, as a person would; asked only for a backend that ``can_hold``.

        What has been typed must be in the pane, or kept out of it, when it returns.
        """

    def stop(self) -> None:
        """End the terminal with all its panes, and wait until it has ended."""


class Patience:
    """How long to wait for a backend; less and less each time in vain."""

    _in_vain: ClassVar[Counter[type]] = Counter()

    def __init__(self, backend: TerminalBackend) -> None:
        self._kind = type(backend)

    def wait(self, probe: Callable[[], T | None], what: str, last: Callable[[], str] | None = None) -> T:
        times = min(self._in_vain[self._kind], len(_PATIENCE) - 1)
        try:
            return wait_until(probe, _PATIENCE[times], what, last)
        except WaitTimeoutError:
            self._in_vain[self._kind] += 1
            raise


class Pane(NamedTuple):
    """A pane with the contract's program in it."""

    address: TerminalAddress
    environ: Mapping[str, str]
    received_file: Path
    patience: Patience

    def received(self) -> bytes:
        return self.received_file.read_bytes() if self.received_file.exists() else b""

    def wait_received(self, *expected: bytes, case: str = "") -> None:
        """Wait until exactly one of ``expected`` has arrived; ``case`` is what was done, for the failure."""
        of = f", after {case}" if case else ""
        longest = max(map(len, expected))
        self.patience.wait(
            lambda: self.received() in expected or len(self.received()) > longest,
            f"{expected[0][:200]!r} in the pane{of}",
            lambda: repr(self.received()[:400]),
        )
        assert self.received() in expected, f"the program read something else than {expected[0][:200]!r}{of}"


def starter(
    backend: TerminalBackend, host: TerminalHost, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Pane]:
    """Return a function that starts the contract's program, showing a text, and locates it.

    ``session`` is the session's name, a new one by default; ``plain`` keeps it from asking for bracketed paste; with
    ``behind`` another program has started it, which shows what it reads once it has ended: as a shell does, whose
    foreground the program was (``"jobs"``), or as one without job control (``"script"``).
    """
    numbers = count(1)
    patience = Patience(backend)

    def start(
        text: str = "ready",
        width: int = 80,
        height: int = 24,
        session: str = "",
        *,
        plain: bool = False,
        behind: str = "",
    ) -> Pane:
        folder = tmp_path_factory.mktemp("pane")
        if plain:
            (folder / "plain").touch()
        (folder / "text").write_bytes(text.replace("\n", "\r\n").encode())
        command = [sys.executable, _pane_program.__file__, str(folder), *[behind] * bool(behind)]
        host.start(session or f"contract-{next(numbers)}", command, width, height)
        (folder / "sized").touch()
        environ_file = folder / "environ.json"
        patience.wait(environ_file.exists, "the program in its pane")
        environ = json.loads(environ_file.read_text(encoding="utf-8"))
        address = backend.locate(environ)
        assert address is not None, f"the backend does not know its own pane: {environ}"
        return Pane(address, environ, folder / "received", patience)

    return start


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended; one that nobody has waited for yet has."""
    return not is_gone(pid)


def pasted(text: str) -> bytes:
    return b"\x1b[200~" + text.encode() + b"\x1b[201~"


def shown(backend: TerminalBackend, pane: Pane, line: str) -> Screen:
    """Wait until the pane shows a line, and return its screen."""
    seen: list[Screen] = []

    def probe() -> Screen | None:
        seen[:] = [backend.capture(pane.address)]
        return seen[0] if line in seen[0].lines else None

    return pane.patience.wait(probe, f"the line {line!r}", lambda: "\n".join(seen[0].lines))


def assert_refused(act: Callable[[], None], case: str, reason: str = "") -> None:
    """Check that ``act``, which is called ``case`` in failures, raises TerminalError with a reason that matches."""
    error = raised(act)
    said = f"{type(error).__name__}: {error}"
    assert isinstance(error, TerminalError), f"{case} must raise TerminalError: {said}"
    assert not isinstance(error, TerminalGone), f"{case} must raise TerminalError, and the pane is there: {said}"
    assert re.search(reason, str(error)), f"{case}: the reason does not match {reason!r}: {said}"


def assert_gone(backend: TerminalBackend, address: TerminalAddress) -> None:
    acts: dict[str, Callable[[], object]] = {
        "capture()": lambda: backend.capture(address),
        "press('Enter')": lambda: backend.press(address, "Enter"),
        "paste('text')": lambda: backend.paste(address, "text"),
    }
    for case, act in acts.items():
        error = raised(act)
        said = f"{type(error).__name__}: {error}"
        assert isinstance(error, TerminalGone), f"{case} of what is gone must raise TerminalGone: {said}"
        assert re.search(r"\w", str(error)), f"{case} of what is gone must say why"


def raised(act: Callable[[], object]) -> TerminalError | None:
    try:
        act()
    except TerminalError as error:
        return error
    return None
