"""Has the process that brings a machine's documents compare all of them with the engine's, and say what came of it.

Another process must not bring documents beside it: what it has read may be changed, brought and deleted before it
writes. The request and its answer are local documents.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookrouter_fleet.kinds import FLEET
from hookrouter_fleet.locks import SHARING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.interface import DocumentStore

__all__ = ["answer", "asked", "compared"]

_REQUEST, _ANSWER = "compare", "compared"

_LOOK_SECONDS = 1.0
"""Seconds between two looks at whether the process is still there; an answer is heard of at once."""


def asked(store: DocumentStore) -> str:
    """Return what is asked for, which :func:`answer` takes; empty if nothing is. ``store`` is the local one."""
    identifier = (store.read(FLEET, _REQUEST) or {}).get("id")
    return identifier if isinstance(identifier, str) else ""


def answer(store: DocumentStore, identifier: str, counts: Mapping[str, int]) -> None:
    """Say what a comparison that was begun after it was asked for has found. Raises StoreError."""
    store.write(FLEET, _ANSWER, {"version": 1, "id": identifier, **counts}, durable=False)
    store.delete(FLEET, _REQUEST)


def compared(store: DocumentStore, timeout: float) -> dict[str, int] | None:
    """Ask for a comparison, and return what it has found; None if no process that brings documents is there any more.

    ``store`` is the local one. Waits up to ``timeout`` seconds and then raises TimeoutError. Raises StoreError too,
    StoreBusy if somebody else has asked and waits.
    """
    end = time.monotonic() + timeout
    identifier = os.urandom(16).hex()
    with store.lock(FLEET, _REQUEST, timeout), store.watch(FLEET, _ANSWER) as watch:
        try:
            store.write(FLEET, _REQUEST, {"version": 1, "id": identifier}, durable=False)
            while True:
                # In this order, so that the last word of a process that ends is heard.
                is_there = store.lock_holder(*SHARING) is not None
                found = store.read(FLEET, _ANSWER) or {}
                if found.get("id") == identifier:
                    return {name: value for name, value in found.items() if type(value) is int and name != "version"}
                if not is_there:
                    return None
                if (left := end - time.monotonic()) <= 0:
                    raise TimeoutError
                watch.wait(min(left, _LOOK_SECONDS))
        finally:
            store.delete(FLEET, _REQUEST)
            store.delete(FLEET, _ANSWER)
