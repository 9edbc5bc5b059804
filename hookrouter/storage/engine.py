"""Opens the documents of a home, which are files (:mod:`hookrouter.storage.documents`), also on a machine of a fleet.

Hook runs import this module, so it imports next to nothing.
"""

from __future__ import annotations

import os

from hookrouter.util import fastjson

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager as ContextManager

    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentStore

__all__ = ["ALONE_VARIABLE", "OUTBOX", "durable_together", "look", "may_hold", "open_store"]

ALONE_VARIABLE = "HOOKROUTER_THIS_MACHINE"
"""Set for what is about this machine alone, as a command is that another machine asked for: it asks no others, and
starts no process that brings documents."""

OUTBOX = "outbox"
"""The area of the messages that wait for delivery."""

_MAX_LOOK = 256 * 1024
"""Bytes of a document that :func:`look` reads; a longer one counts as none."""


def open_store(home: Home, report: Callable[[str], None], area: str = "") -> DocumentStore:
    """Return the documents of a home. ``report`` hears of those that were corrupt and put aside.

    ``area`` is a set of documents and locks of its own: :data:`OUTBOX`, or empty for all else. Touches nothing yet.
    """
    from hookrouter.storage.documents import Store

    return Store(os.path.join(home.state, area), report, base=home.state) if area else Store(home.state, report)


def durable_together() -> ContextManager[None]:
    """Return a block at whose end all that was saved durably in it is on the disk, which costs less than one by one."""
    from hookrouter.storage.documents import durable_together

    return durable_together()


def may_hold(home: Home, area: str, kind: str = "") -> bool:
    """Whether an area may hold documents, of one kind or any; False only if there are certainly none. A quick look."""
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
    path = os.path.join(home.state, f"{kind}-{name}.json")
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
