"""What the client shows: the list of prompts, and the page on which one of them is gone back to (2.1.332)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hookrouter.terminals import Screen

__all__ = ["Confirmation", "RewindList", "is_restored", "read"]

_EDGE = re.compile(r"▔{20,}")
_ROW = re.compile(r"  (❯| ) (\S.*)")
_CHOICE = re.compile(r"  (❯| ) \d\. (.+)")
_LIST = "  Restore the code and/or conversation to the point before…"
_PAGE = "  Restore to the point before you sent this message:"
_CURRENT = "(current)"
_FOOT = "  Enter to continue · Esc to cancel"


class RewindList(NamedTuple):
    """The list of prompts."""

    prompts: tuple[str, ...]
    """The prompts, as its rows show them, the oldest first."""
    cursor: int
    """The row with the cursor; one below the last prompt is the row of now."""


class Confirmation(NamedTuple):
    """The page behind a row of the list."""

    prompt: str
    """The prompt, as the row has it."""
    rows: tuple[str, ...]
    """What can be done."""
    cursor: int
    """The row with the cursor."""


def read(screen: Screen) -> RewindList | Confirmation | None:
    """Return what a screen shows; None if it certainly is neither. Raises nothing."""
    edges = [number for number, line in enumerate(screen.lines) if _EDGE.fullmatch(line)]
    shown = [line for line in screen.lines[edges[-1] + 1 :] if line] if edges else []
    if shown[:2] == ["  Rewind", _LIST] and shown[-1] == _FOOT:
        return _list(shown[2:-1])
    if shown[:2] == ["  Rewind", _PAGE] and len(shown) > 2 and shown[2].startswith("  │ "):
        return _confirmation(shown[2].removeprefix("  │ "), shown[3:])
    return None


def is_restored(screen: Screen, prompt: str) -> bool:
    """Whether a prompt that was gone back to is in the prompt box again, as the client puts it there."""
    box = next((line for line in reversed(screen.lines) if line.startswith("❯")), "")
    text = box.removeprefix("❯").strip()
    # A long one is cut off on the list.
    return text.startswith(prompt.removesuffix("…")) if prompt.endswith("…") else text == prompt


def _list(lines: list[str]) -> RewindList | None:
    rows = [found.groups() for line in lines if (found := _ROW.fullmatch(line))]
    # Below each prompt is what has become of the code since.
    named = [rows[number] for number in range(0, len(rows), 2)]
    cursors = [number for number, (mark, _) in enumerate(named) if mark == "❯"]
    texts = [text for _, text in named]
    if len(cursors) != 1 or len(rows) != len(lines) or texts[-1] != _CURRENT or any(m == "❯" for m, _ in rows[1::2]):
        return None
    return RewindList(tuple(texts[:-1]), cursors[0])


def _confirmation(prompt: str, lines: list[str]) -> Confirmation | None:
    rows = [found.groups() for line in lines if (found := _CHOICE.fullmatch(line))]
    cursors = [number for number, (mark, _) in enumerate(rows) if mark == "❯"]
    return Confirmation(prompt, tuple(text for _, text in rows), cursors[0]) if len(cursors) == 1 else None
