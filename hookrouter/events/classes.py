"""The classes of all events. Imports every module of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import events
from hookrouter._contract.tables import EVENTS

if TYPE_CHECKING:
    from hookrouter.events.event import Event

__all__ = ["EVENT_CLASSES"]

EVENT_CLASSES: dict[str, type[Event]] = {event.name: getattr(events, event.name) for event in EVENTS.values()}
"""Claude Code's event name -> its class."""
