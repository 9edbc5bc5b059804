"""Tests of one claim in many forms: CI runs some of them, and ``HOOKROUTER_LONG=1`` all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["mostly_long"]


def mostly_long(parameters: Iterable[Any], *kept: Any) -> list[Any]:
    """Return parameters for ``parametrize``, of which all but those that are ``kept`` are marked ``long``.

    Raises ValueError for a kept one that is no parameter.
    """
    found: Collection[Any] = list(parameters)
    unknown = [each for each in kept if each not in found]
    if unknown:
        raise ValueError(f"kept: found {unknown}; allowed: {found}")
    return [each if each in kept else pytest.param(each, marks=pytest.mark.long) for each in found]
