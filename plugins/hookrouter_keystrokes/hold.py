"""Keeps a person's keys out of the pane while an answer is entered, and ours in the client, as far as that can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.util.claude_process import is_in_background

if TYPE_CHECKING:
    from hookrouter.terminals import TerminalAddress, TerminalBackend
    from hookrouter_keystrokes.timing import Timing

__all__ = ["Hold"]

_ELSEWHERE = "Claude Code is in the background of its terminal: what is typed there goes to another program"


class Hold:
    """The hold of one delivery on its pane; it begins with the first key."""

    def __init__(
        self, terminal: TerminalBackend, address: TerminalAddress, timing: Timing, client_pid: int = 0
    ) -> None:
        """Hold nothing yet. ``client_pid`` is the client's process id; 0 if it is not known."""
        self._terminal = terminal
        self._address = address
        self._timing = timing
        self._client_pid = client_pid
        self._since: float | None = None
        self._until = 0.0

    @property
    def is_possible(self) -> bool:
        """Whether this terminal can keep others out."""
        return self._terminal.can_hold

    def guard(self) -> None:
        """See to it that keys reach only the program that is looked at from now on. Raises what the terminal raises."""
        self._terminal.guard_program(self._address, self._client_pid)

    def elsewhere(self) -> str:
        """Return why what is typed now would go to another program than the client; empty if nothing says so."""
        return _ELSEWHERE if is_in_background(self._client_pid) else ""

    def is_quiet(self, now: float) -> bool:
        """Take the pane if it is not held yet; return whether keys from before have had the time to show."""
        if self._terminal.can_hold and self._since is None:
            self._terminal.hold(self._address, self._timing.hold_seconds)
            self._since = now
            self._until = now + self._timing.hold_seconds
        return self._since is not None and now - self._since >= self._timing.others_seconds

    def has_gap(self, now: float) -> bool:
        """Prolong the hold if it is time to; return whether other keys may have come in since the last call."""
        if self._since is None:
            return False
        if self._until - now > self._timing.hold_seconds * 3 / 4:
            return False
        self._until = now + self._timing.hold_seconds
        if self._terminal.hold(self._address, self._timing.hold_seconds):
            return False
        self._since = now
        return True

    def release(self) -> None:
        """Let others in again; may be called at any time."""
        self._terminal.release(self._address)
