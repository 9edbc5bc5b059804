"""Reads the keys of ``[storage]`` that are an engine's own into what the engine declares.

Imports attrs and cattrs, so not on the way of a hook run whose documents are files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter._config.validation import problems_of
from hookrouter._plugins.settings_schema import declared, structure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._config.validation import Problem

__all__ = ["read_engine_settings"]


def read_engine_settings(engine: object, table: Mapping[str, object]) -> tuple[Any, list[Problem]]:
    """Return what the engine's ``open`` takes, and the problems; with any, the first is None."""
    try:
        kind = declared(getattr(engine, "settings", None), "settings is")
        if kind is None:
            raise TypeError("settings is None; allowed: an attrs class")
        return structure(kind, table), []
    except Exception as error:  # noqa: BLE001 - a validator of the engine's class may raise anything
        return None, problems_of(error, "storage")
