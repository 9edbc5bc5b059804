"""The pluggy markers of hookrouter: what a plugin author decorates implementations with.

Pluggy stores the options of an implementation under ``<project name>_impl``, so the project name ``hookrouter``
is part of the public API.
"""

import pluggy

__all__ = ["ENTRY_POINT_GROUP", "PROJECT_NAME", "hookimpl", "hookspec"]

PROJECT_NAME = "hookrouter"
"""Pluggy's project name."""

ENTRY_POINT_GROUP = "hookrouter"
"""The entry-point group under which an installed distribution announces its plugins."""

hookspec = pluggy.HookspecMarker(PROJECT_NAME)
"""Marks a hook specification (used by hookrouter itself)."""

hookimpl = pluggy.HookimplMarker(PROJECT_NAME)
"""Marks a hook implementation: ``@hookimpl``, ``@hookimpl(tryfirst=True)``, ``@hookimpl(wrapper=True)``."""
