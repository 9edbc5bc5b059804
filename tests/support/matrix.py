"""Tests of one claim in many forms: CI runs some of them, and ``HOOKROUTER_LONG=1`` all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["mostly_long"]


def mostly_long(parameters: Iterable[Any], *kept: Any, several: bool = False) -> list[Any]:
    """Return parameters for ``parametrize``, of which all but those that are ``kept`` are marked ``long``.

    ``several``: each is a tuple, with a value for each of several names. Raises ValueError for a kept one that is no
    parameter.
    """
    found: Collection[Any] = list(parameters)
    unknown = [each for each in kept if each not in found]
    if unknown:
        raise ValueError(f"kept: found {unknown}; allowed: {found}")
    values = [each if several else (each,) for each in found]
    return [
        pytest.param(*value, marks=() if each in kept else pytest.mark.long)
        for each, value in zip(found, values, strict=True)
    ]
