"""Can the terminal be driven in which answers are typed?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter.terminals import terminal_backends
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place
    from hookrouter.config import AnswerConfig

__all__ = ["TerminalCheck"]

_KEYS = "keys"
"""The answer channel that types in a terminal; the others need none."""

_FIX = "fix that, or choose another [answer] terminal"


class TerminalCheck:
    """The terminal backend that ``[answer] terminal`` names, if it can tell."""

    name = "terminal"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found, under the backend's own name.

        A terminal that cannot be used is as bad as the configuration makes it: an error only if no answer can come
        without it.
        """
        answer = place.app.config.answer
        if place.app.config.guards_alone:
            return
        backend = terminal_backends(place.app.plugins).get(answer.terminal)
        if backend is None:
            return
        try:
            probed = backend.probe()
            if probed is None:
                return
            usable, message, fix = probed
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a finding about that plugin
            usable, message, fix = False, f"the plugin's probe failed: {describe_error(error)}", ""
        if usable:
            yield Finding(OK, answer.terminal, message)
        else:
            level, consequence = _weight(answer)
            yield Finding(level, answer.terminal, f"{message}; {consequence}", "" if level == OK else fix or _FIX)


def _weight(answer: AnswerConfig) -> tuple[str, str]:
    """Return the level of a terminal that cannot be used, and what follows from it."""
    others = [channel for channel in answer.channels if channel != _KEYS]
    if len(others) == len(answer.channels):
        return OK, f"the channels of [answer] ({', '.join(others)}) need none"
    if others:
        return WARNING, f"answers go by {', '.join(others)} alone, and sessions are named by their id"
    return ERROR, "no answer can be typed, and [answer] channels has no other way"
