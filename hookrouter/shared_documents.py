"""Which documents of a home other machines may see: the core's kinds, and those that plugins declare.

Each is a :class:`hookrouter.storage.home.DocumentKind` with ``shared``, beside the code that writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents, verdicts
from hookrouter.messaging import advice, notices, pauses, spawn
from hookrouter.queue import documents as queues
from hookrouter.queue.messages import composer, outgoing
from hookrouter.sessions import records
from hookrouter.storage.home import DocumentKind

if TYPE_CHECKING:
    from hookrouter._plugins.registry import Plugins

__all__ = ["shared_kinds"]

_DECLARED = (documents, verdicts, advice, notices, pauses, spawn, queues, composer, outgoing, records)
"""The modules of the core that declare shared kinds."""


def shared_kinds(plugins: Plugins) -> list[DocumentKind]:
    """Return the kinds of documents that other machines may see, those of active plugins with them."""
    core = [kind for module in _DECLARED for kind in vars(module).values() if isinstance(kind, DocumentKind)]
    own = plugins.contributions("document_kinds", several=True, base=DocumentKind).values()
    return [kind for kind in dict.fromkeys([*core, *own]) if kind.shared]
