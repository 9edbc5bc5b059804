"""Is anybody kept out by a pause?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import WARNING, Finding
from hookrouter.messaging.pauses import pauses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place

__all__ = ["PausesCheck"]


class PausesCheck:
    """The pauses that last."""

    name = "pauses"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found; nothing if nothing is paused."""
        for one in pauses(place.app.store):
            scope = "--all" if one.session is None else f"--session {one.session}"
            message = f"{one.described()}: no agent is woken, and nothing is delivered or answered"
            yield Finding(WARNING, self.name, message, f"hookrouter resume {scope}")
