"""What a command may not do if another machine asked for it."""

from __future__ import annotations

import os

from hookrouter.cli.errors import CommandError
from hookrouter.messaging.environment import ERRAND_VARIABLE

__all__ = ["is_errand", "refuse_endless"]


def is_errand() -> bool:
    """Whether this process does what another machine asked for."""
    return bool(os.environ.get(ERRAND_VARIABLE))


def refuse_endless(what: str) -> None:
    """Raise CommandError if another machine asked for a command that would never end; ``what`` names it."""
    if is_errand():
        raise CommandError(f"{what}: it would never end on another machine")
