"""How surely something is what a rule is about."""

from __future__ import annotations

__all__ = ["MAYBE", "NO", "YES", "folded"]

NO, MAYBE, YES = 0, 1, 2
"""Whether a rule is about something, for all that is known of it: the surer, the greater."""


def folded(text: str) -> str:
    """Return a text as a file system compares it that takes no account of case and Unicode form, as macOS's does."""
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
