"""Panes in which a sandbox shows and drives a program: tmux's, or those of any terminal backend that can open one."""

from __future__ import annotations

import contextlib
import os
import uuid
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

from hookrouter._sandbox.processes import RUN_MARK, reap
from hookrouter._sandbox.waiting import wait_until
from hookrouter.terminals import TerminalError, TerminalGone
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.terminals import TerminalAddress, TerminalBackend

__all__ = ["BackendTerminal", "Pane", "Terminal", "TerminalUnavailableError"]


class TerminalUnavailableError(HookrouterError):
    """There is no such terminal here, or it cannot open a pane; the message says why."""


class Pane(ABC):
    """One pane with a program in it."""

    session = ""
    """The name of the pane's session, if the terminal has given it one of its own."""

    @abstractmethod
    def capture(self) -> str:
        """Return the visible rows, without trailing blanks."""

    @abstractmethod
    def press(self, *keys: str) -> None:
        """Press keys by tmux's names, one after the other."""

    @abstractmethod
    def type(self, text: str) -> None:
        """Put text in literally, without Enter."""

    @abstractmethod
    def dead(self) -> bool:
        """Whether the pane's program has ended, or the pane is gone."""

    def takes_keys(self) -> bool:
        """Whether keys reach the pane's program; while ``hookrouter answer`` types, no others may."""
        return True

    def state(self) -> str:
        """Return what else decides what becomes of a key, for an error."""
        return ""

    def wait_for(self, what: str | Callable[[str], object], timeout: float = 10.0) -> str:
        """Wait until the screen holds the text ``what`` (or ``what(screen)`` is true) and return the screen.

        ``timeout`` is in seconds. Raises WaitTimeoutError with the last screen.
        """
        screen = ""

        def probe() -> bool:
            nonlocal screen
            screen = self.capture()
            return what in screen if isinstance(what, str) else bool(what(screen))

        name = repr(what) if isinstance(what, str) else getattr(what, "__name__", "matching screen")
        wait_until(probe, timeout, f"{name} on screen", lambda: f"{screen}\n{self.state()}")
        return screen


class Terminal(Protocol):
    """What a program can be started in. Leaving its context ends all that was started in it."""

    def start(
        self,
        session: str,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        width: int = 120,
        height: int = 40,
    ) -> Pane:
        """Start ``command`` (an argument list) in a new session and return its pane.

        ``environ`` is added to the terminal's own.
        """

    def end(self, pane: Pane) -> None:
        """End a pane and its program as a person closes it. Raises nothing for one that is gone."""


class _BackendPane(Pane):
    """A pane that a terminal backend has opened."""

    def __init__(self, backend: TerminalBackend, address: TerminalAddress) -> None:
        self.address = address
        self.session = address.session
        self._backend = backend

    def capture(self) -> str:
        return "\n".join(self._backend.capture(self.address).lines)

    def press(self, *keys: str) -> None:
        for key in keys:
            self._backend.press(self.address, key)

    def type(self, text: str) -> None:
        self._backend.paste(self.address, text)

    def dead(self) -> bool:
        try:
            self._backend.capture(self.address)
        except TerminalGone:
            return True
        return False


class BackendTerminal:
    """The terminal of a backend; use it as a context manager. Satisfies :class:`Terminal`."""

    def __init__(self, name: str, backends: Mapping[str, TerminalBackend]) -> None:
        """Choose a backend by its name. Raises TerminalUnavailableError if there is none, or it opens no panes."""
        backend = backends.get(name)
        if backend is None:
            hint = did_you_mean(name, sorted(backends), f"there are: {', '.join(sorted(backends)) or 'none'}")
            raise TerminalUnavailableError(f"no active plugin offers the terminal {name!r}; {hint}")
        if not backend.can_open:
            fault = f"the terminal {name!r} cannot open a pane"
            raise TerminalUnavailableError(fault)
        self._backend = backend
        self._open_pane, self._close_pane = backend.open_pane, backend.close_pane
        self._panes: list[_BackendPane] = []
        self._mark = uuid.uuid4().hex

    def __enter__(self) -> BackendTerminal:
        """Return the terminal itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close every pane, and end what its program has left behind."""
        for pane in list(self._panes):
            self.end(pane)
        reap((), f"{RUN_MARK}={self._mark}")

    def start(
        self,
        session: str,  # noqa: ARG002 - a backend names its sessions itself
        command: Sequence[str],
        *,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        width: int = 120,
        height: int = 40,
    ) -> _BackendPane:
        """See :meth:`Terminal.start`. Raises TerminalError."""
        base = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        variables = {**base, **(environ or {}), RUN_MARK: self._mark}
        address = self._open_pane(list(command), variables, cwd or os.getcwd(), (width, height))
        pane = _BackendPane(self._backend, address)
        self._panes.append(pane)
        return pane

    def end(self, pane: Pane) -> None:
        """See :meth:`Terminal.end`."""
        if isinstance(pane, _BackendPane) and pane in self._panes:
            self._panes.remove(pane)
            with contextlib.suppress(TerminalError):
                self._close_pane(pane.address)
