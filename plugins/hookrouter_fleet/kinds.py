"""The kinds of documents of what this package itself keeps, all in one area of the engine."""

from __future__ import annotations

from hookrouter.storage.engine import OUTBOX
from hookrouter.storage.home import DocumentKind

__all__ = ["AREAS", "ERRAND", "FLEET", "OWN_KINDS", "TAKING"]

AREAS = ("", OUTBOX)
"""The areas that have documents which are shared."""

FLEET = DocumentKind("fleet")
"""The kind of what tells of a machine, and of its local documents; the area of the engine is called so, too."""

ERRAND = DocumentKind("errand", area=FLEET)
TAKING = DocumentKind("taking", area=FLEET)

OWN_KINDS = (FLEET, ERRAND, TAKING)
"""The kinds of documents that stand in the engine about a machine itself, in the area of the fleet."""
