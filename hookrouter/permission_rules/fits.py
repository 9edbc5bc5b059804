"""How surely something is what a rule is about."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Fit", "folded"]


class Fit(IntEnum):
    """Whether a rule is about something, for all that is known of it."""

    NO = 0
    MAYBE = 1
    YES = 2


def folded(text: str) -> str:
    """Return a text as a file system compares it that takes no account of case and Unicode form, as macOS's does."""
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
