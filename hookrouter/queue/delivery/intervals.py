"""How long a deliverer waits between two looks, if nothing tells it of a change. In seconds."""

from __future__ import annotations

__all__ = ["IDLE_LOOK", "LOOK", "QUICK_LOOK", "RECORD_LOOK"]

LOOK = 1.0
"""Between two looks at what tells of no change: the registry, the client's process, dialogs."""

QUICK_LOOK = 0.05
"""The same just after a turn's end, when the registry is about to follow."""

RECORD_LOOK = 0.1
"""Between two looks at the transcript while a record of it has to prove an item."""

IDLE_LOOK = 5.0
"""Between two looks while nothing is expected but a document's change."""
