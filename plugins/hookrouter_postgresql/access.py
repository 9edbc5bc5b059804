"""What the stores, locks and watches of a process share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from hookrouter_postgresql.connections import Connections
    from hookrouter_postgresql.listening import Listening
    from hookrouter_postgresql.markers import Markers
    from hookrouter_postgresql.schema import Schema

__all__ = ["Access"]


class Access:
    """What all stores of a process share: connections, the schema, and how news of documents travel."""

    def __init__(self, connections: Connections, schema: Schema, markers: Markers, listening: Listening) -> None:
        """Connects nothing."""
        self.connections = connections
        self.schema = schema
        self.markers = markers
        self.listening = listening

    def run(self, statement: str, parameters: Sequence[object], *, durable: bool = True) -> list[tuple[Any, ...]]:
        """Run one statement, in which ``{schema}`` stands for the schema; return its rows. Raises StoreError."""
        self.schema.expect()
        return self.connections.run(statement, parameters, durable=durable)
