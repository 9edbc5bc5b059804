"""What a service's answer says beside its status: whether it took the message, and what names the message there."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PATH", "is_accepted", "receipt_of"]

PATH = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
"""How a part of a JSON answer is named: the keys on the way to it, with dots between; of a list a number from 0."""

LONGEST = 1000
"""Characters of one part of a receipt at most; a longer one is no name of anything."""

_MISSING = object()


def is_accepted(text: str, path: str) -> bool:
    """Whether the part of a JSON answer that ``path`` names is true, or 1. An empty path is always so."""
    if not path:
        return True
    found = _part(text, path)
    return found is True or (found == 1 and isinstance(found, int))


def receipt_of(text: str, paths: Mapping[str, str]) -> dict[str, str] | str:
    """Return the parts of a JSON answer by the names of ``paths``; or the path of one that is no text or whole number.

    Without paths the answer is not read.
    """
    found: dict[str, str] = {}
    for name, path in paths.items():
        value = _part(text, path)
        if isinstance(value, bool) or not isinstance(value, str | int) or not 0 < len(str(value)) <= LONGEST:
            return path
        found[name] = str(value)
    return found


def _part(text: str, path: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return _MISSING
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key, _MISSING)
        elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return _MISSING
    return value
