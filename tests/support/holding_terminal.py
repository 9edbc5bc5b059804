"""A terminal that can keep a person's keys out."""

from __future__ import annotations

from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.terminals import TerminalAddress

__all__ = ["HoldingFakeTerminal"]


class HoldingFakeTerminal(FakeTerminal):
    """One that can keep a person's keys out; a test that presses such a key asks :attr:`is_held` first."""

    can_hold = True
    _held_until = 0.0

    @property
    def is_held(self) -> bool:
        """Whether keys of others are kept out now."""
        return self.clock() < self._held_until

    def hold(self, address: TerminalAddress, seconds: float) -> bool:
        """Keep other keys out for ``seconds``; say whether they were until now."""
        was_held = self.is_held
        self._held_until = self.clock() + seconds
        return was_held

    def release(self, address: TerminalAddress) -> None:
        """Let other keys in."""
        self._held_until = 0.0
