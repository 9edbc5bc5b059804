"""Opens the documents of a home: the one place that knows which engine keeps them.

Files are the engine (:mod:`hookrouter.storage.documents`), unless :func:`use_engine` has put another one in their
place. Hook runs import this module, so it imports next to nothing.
"""

from __future__ import annotations

import os

from hookrouter.util import fastjson

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager as ContextManager
    from typing import Protocol

    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentStore

    class Engine(Protocol):
        """Opens documents for :func:`open_store`, with the same arguments."""

        def __call__(self, home: Home, report: Callable[[str], None], area: str) -> DocumentStore:
            """Return one area of the documents of a home."""


__all__ = ["OUTBOX", "durable_together", "keeps_files", "look", "may_hold", "open_store", "use_engine"]

OUTBOX = "outbox"
"""The area of the messages that wait for delivery."""

_engine: Engine | None = None
_MAX_LOOK = 256 * 1024
"""Bytes of a document that :func:`look` reads; a longer one counts as none."""


def use_engine(engine: Engine | None) -> Engine | None:
    """Have this process keep its documents in another engine from now on, None for files; return the former one.

    Stores that were opened before stay what they are. All processes of one home must use the same engine.
    """
    global _engine
    former, _engine = _engine, engine
    return former


def open_store(home: Home, report: Callable[[str], None], area: str = "") -> DocumentStore:
    """Return the documents of a home. ``report`` hears of those that were corrupt and put aside.

    ``area`` is a set of documents and locks of its own: :data:`OUTBOX`, or empty for all else. Touches nothing yet.
    """
    if _engine is not None:
        return _engine(home, report, area)
    from hookrouter.storage.documents import Store

    return Store(os.path.join(home.state, area), report, base=home.state) if area else Store(home.state, report)


def durable_together() -> ContextManager[None]:
    """Return a block at whose end all that was saved durably in it is on the disk, which costs less than one by one."""
    # Files alone; another engine does what it does at each write.
    from hookrouter.storage.documents import durable_together

    return durable_together()


def keeps_files() -> bool:
    """Whether documents are files in the home's ``state`` folder, so that a copy of it is a copy of them."""
    return _engine is None


def may_hold(home: Home, area: str, kind: str = "") -> bool:
    """Whether an area may hold documents, of one kind or any; False only if there are certainly none. A quick look."""
    if _engine is not None:
        return True
    folder = os.path.join(home.state, area)
    if not kind:
        return os.path.isdir(folder)
    try:
        with os.scandir(folder) as files:
            return any(file.name.startswith(f"{kind}-") for file in files)
    except OSError:
        return False


def look(home: Home, kind: str, name: str) -> dict[str, object]:
    """Return a document that is worth nothing if it cannot be read; empty if there is none, or none that can be.

    For hook runs: reads without the import of the store, and puts nothing aside. ``name`` is a plain word. Raises
    nothing.
    """
    if _engine is None:
        return _read(os.path.join(home.state, f"{kind}-{name}.json"))
    from hookrouter.storage.interface import StoreError

    try:
        return open_store(home, lambda _text: None).read(kind, name) or {}
    except StoreError:
        return {}


def _read(path: str) -> dict[str, object]:
    try:
        # Neither a symbolic link is followed nor a pipe waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        document = fastjson.loads(os.read(descriptor, _MAX_LOOK))
    except (OSError, ValueError):
        return {}
    finally:
        os.close(descriptor)
    return document if isinstance(document, dict) else {}
