"""Can questions be answered as ``[answer]`` says?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import OK, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place

__all__ = ["AnsweringCheck"]


class AnsweringCheck:
    """Channels, planner and terminal: does a plugin offer each?"""

    name = "answering"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        if place.app.config.guards_alone:
            yield Finding(OK, self.name, "guards alone: nobody answers from outside the terminal")
            return
        found = list(place.problems(self.name, "answer"))
        yield from found
        if not found:
            answer = place.app.config.answer
            channels = ", ".join(answer.channels)
            message = f"channels {channels}; planner {answer.planner}; terminal {answer.terminal}"
            yield Finding(OK, self.name, message)
