"""All classes of the contract's records, for tests that hold for each of them."""

from __future__ import annotations

from typing import Any

from hookrouter import events, tools
from hookrouter.records import Record

__all__ = ["RECORDS"]


def _record_classes() -> dict[str, type[Record]]:
    packages: list[Any] = [events, tools]
    found = [getattr(package, name) for package in packages for name in package.__all__]
    return {kind.__name__: kind for kind in found if isinstance(kind, type) and issubclass(kind, Record)}


RECORDS = _record_classes()
"""Name -> class."""
