"""The local lock by which one process of a home brings its documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.engine import open_store

if TYPE_CHECKING:
    from hookrouter.storage.home import Home

__all__ = ["SHARING", "is_sharing"]

SHARING = "fleet", "sharing"
"""Kind and name of the local lock that a process holds while it brings documents."""


def is_sharing(home: Home) -> bool:
    """Whether a process brings this home's documents to the engine. Raises StoreError."""
    return open_store(home, lambda _text: None).lock_holder(*SHARING) is not None
