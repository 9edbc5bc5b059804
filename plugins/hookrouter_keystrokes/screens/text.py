"""Compares texts with their pictures on a screen: without white space, which the client changes anywhere it wraps."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from hookrouter.answering.labels import cut
from hookrouter.answering.likeness import is_lost, key
from hookrouter.util.text_width import column_widths
from hookrouter_keystrokes import grammar

if TYPE_CHECKING:
    from hookrouter.tools import Option

__all__ = ["accented_key", "described", "drawn", "exact_key", "key", "split_at"]


def _tells(character: str) -> bool:
    return character != "\ufffd" and (not is_lost(character) or unicodedata.category(character) in ("So", "Sk"))


@lru_cache(maxsize=512)
def exact_key(text: str) -> str:
    """Return ``text`` like :func:`key`, but with its emoji: what tells texts apart whose keys are the same."""
    return "".join(filter(_tells, unicodedata.normalize("NFD", text)))


@lru_cache(maxsize=512)
def accented_key(text: str) -> str:
    """Return ``text`` like :func:`exact_key`, but with the accents of letters that are one character with theirs.

    Such a letter is drawn whole, while a combining mark may get lost.
    """
    return "".join(filter(_tells, text))


@lru_cache(maxsize=512)
def drawn(text: str) -> tuple[str, ...]:
    """Return the keys of a question, label or description as clients draw it: whole or, if it is long, cut."""
    return tuple(dict.fromkeys((key(cut(text)), key(text))))


def described(option: Option) -> list[tuple[str, str]]:
    """Return the keys of an option's text, label and description, each without and with the mark of a chosen one."""
    return [
        (label + description, label + grammar.CHOSEN + description)
        for label in drawn(option.label)
        for description in _descriptions(option.description or "")
    ]


_TAB_COLUMNS = 8
"""Columns of a tab at most: how much of a line that holds one is cut off, as the client takes it for narrower."""


def _descriptions(text: str) -> tuple[str, ...]:
    """Return the keys of a description: as it is drawn and, if it holds tabs, as 2.1.150 may cut it, longest first."""
    whole = drawn(text)
    most = _TAB_COLUMNS * text.count("\t")
    return whole + tuple(each[:-lost] for each in whole for lost in range(1, min(most, len(each) - 1) + 1))


def split_at(line: str, column: int) -> tuple[str, str]:
    """Split a line at a screen column."""
    at = 0
    for position, width in enumerate(column_widths(line)):
        if at >= column and width:
            return line[:position], line[position:]
        at += width
    return line, ""
