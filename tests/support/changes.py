"""Waiting for what another thread of the test saves, woken by the change itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

from hookrouter._sandbox.waiting import PATIENCE_VARIABLE
from hookrouter.storage.interface import DocumentStore

__all__ = ["once_saved"]

_SECONDS = 20.0
_LOOK = 0.1
"""How often to look although no document of the kind has changed: the rest may be saved after it."""

T = TypeVar("T")


def once_saved(store: DocumentStore, kind: str, probe: Callable[[], T | None], what: str) -> T:
    """Return what ``probe`` returns once that is true: asked now, and whenever a document of the kind changes."""
    deadline = time.monotonic() + _SECONDS * float(os.environ.get(PATIENCE_VARIABLE) or 1)
    with store.watch(kind) as watch:
        while not (found := probe()):
            assert time.monotonic() < deadline, f"no {what}"
            watch.wait(_LOOK)
    return found
