"""Why a package cannot be written."""

from __future__ import annotations

from hookrouter.util.errors import HookrouterError

__all__ = ["ScaffoldError"]


class ScaffoldError(HookrouterError, ValueError):
    """A package cannot be made; the message says which argument is wrong, and what is allowed."""
