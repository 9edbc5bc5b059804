"""The client's prompt box in one pane: looked at, waited for, and acted on while others are kept out.

It knows a terminal and how long things take. What is typed, and what a look means for it, it does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.terminals import TerminalError
from hookrouter_keystrokes.prompting.area import read_area

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.terminals import TerminalAddress, TerminalBackend
    from hookrouter_keystrokes.hold import Hold
    from hookrouter_keystrokes.prompting.area import PromptArea
    from hookrouter_keystrokes.timing import Timing

__all__ = ["Box", "BoxInUse"]


class BoxInUse(Exception):
    """Somebody else types into the box now; the argument says so in one clause."""


class Box:
    """The prompt box of one client during one attempt. Its methods raise TerminalError."""

    def __init__(self, terminal: TerminalBackend, address: TerminalAddress, hold: Hold, timing: Timing) -> None:
        """``hold`` keeps the keys of others out of the pane."""
        self._terminal = terminal
        self._address = address
        self._timing = timing
        self.hold = hold
        self.size = 0, 0
        """Columns and rows of the pane at the last look."""
        self.is_alone = False
        """Whether nobody else can have typed anything since the box was seen to be empty: whatever stands there is
        this attempt's, whatever it looks like."""
        self.steps: list[str] = []
        """What was done, in words."""

    def look(self) -> PromptArea:
        """Return what the pane shows now."""
        if self._terminal.can_style:
            styled = self._terminal.capture_styled(self._address)
            self.size = styled.screen.width, styled.screen.height
            return read_area(styled.screen, styled.rows)
        screen = self._terminal.capture(self._address)
        self.size = screen.width, screen.height
        return read_area(screen)

    def wait_for(self, is_there: Callable[[PromptArea], object], seconds: float) -> PromptArea:
        """Look until what is looked for is there, or the time is up; return the last look."""
        end = self._timing.clock() + seconds
        while True:
            area = self.look()
            now = self._timing.clock()
            if is_there(area) or now >= end:
                return area
            # What keys did that came in before the hold was prolonged is seen at the next look.
            self.has_gap(now)
            self._timing.sleep(self._timing.poll_seconds)

    def has_gap(self, now: float) -> bool:
        """Prolong the hold on the pane; return whether others may have typed since the last call."""
        has_gap = self.hold.has_gap(now)
        self.is_alone = self.is_alone and not has_gap
        return has_gap

    def stable(self) -> PromptArea:
        """Return a look that is the same as the one before, so that it is not a half-drawn screen's."""
        last: list[PromptArea] = []

        def is_same(area: PromptArea) -> bool:
            same = last == [area]
            last[:] = [area]
            return same

        return self.wait_for(is_same, self._timing.stuck_seconds)

    def keep_others_out(self) -> None:
        """Wait until nobody else's keys can come in. Raises BoxInUse where the box changes meanwhile."""
        if self.hold.is_possible:
            while not self.hold.is_quiet(self._timing.clock()):
                self._timing.sleep(self._timing.poll_seconds)
            return
        # All that is possible here: nobody's key has shown an effect for as long as effects are late.
        seen = self.look()
        end = self._timing.clock() + self._timing.stable_seconds
        while self._timing.clock() < end:
            self._timing.sleep(self._timing.poll_seconds)
            if self.look() != seen:
                raise BoxInUse("something else changes the prompt box now")

    def _check_place(self) -> None:
        if why := self.hold.elsewhere():
            raise TerminalError(why)

    def press(self, key: str, why: str) -> None:
        """Press a key; ``why`` is noted."""
        self._check_place()
        self._terminal.press(self._address, key)
        self.steps.append(f"{key}: {why}")

    def paste(self, text: str, why: str) -> None:
        """Paste a text; ``why`` is noted."""
        self._check_place()
        self._terminal.paste(self._address, text)
        self.steps.append(f"paste {len(text)} characters: {why}")
