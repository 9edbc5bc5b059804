"""What of a text can be read on a screen: the one identity of texts for all that compare what two dialogs show."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

__all__ = ["is_lost", "key"]


def is_lost(character: str) -> bool:
    """Whether a character may get lost, or look different, between a text and its picture on the screen."""
    category = unicodedata.category(character)
    # Clients and terminals draw emoji sequences, combining marks and invisible characters in different ways.
    return category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp", "Mn", "Me", "Sk") or (
        category == "So" and (ord(character) > 0xFFFF or character == "\ufffd")
    )


@lru_cache(maxsize=2048)
def key(text: str) -> str:
    """Return ``text`` without what gets lost or changed between a text and its picture on the screen.

    That is white space, control and format characters, combining marks, emoji outside the basic plane, and the
    replacement character, which the client draws for a newline in a label. Two texts of one key read alike.
    """
    return "".join(character for character in unicodedata.normalize("NFD", text) if not is_lost(character))
