"""Tells whether a dialog asks for exactly what ``/model`` or ``/effort`` was given: ``Switch model?`` and its like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter.queue.client_commands import EFFORT, MODEL
from hookrouter.queue.items import COMMAND, command_of
from hookrouter_keystrokes.dialog_forms import DialogKind

if TYPE_CHECKING:
    from hookrouter.queue.items import Item
    from hookrouter_keystrokes.prompting.area import PromptArea
    from hookrouter_keystrokes.screens.model import OtherDialog

__all__ = ["asks_for", "asks_for_effort", "asks_for_switch", "wanted_by"]

_ROW = re.compile(r"Yes, switch to (.+)")
_MAKER = "claude"
_DATE = 8
"""Digits of the date at the end of a model's id."""


def wanted_by(item: Item) -> str:
    """Return the model or effort that an item switches to; empty if it switches nothing."""
    if item.kind != COMMAND:
        return ""
    name, arguments = command_of(item.text)
    return arguments if name in (MODEL, EFFORT) else ""


def asks_for_switch(item: Item, area: PromptArea) -> bool:
    """Whether the item's own dialog is open, and Enter in it does what the item says."""
    wanted = wanted_by(item)
    is_effort = bool(wanted) and command_of(item.text)[0] == EFFORT
    return bool(wanted) and (asks_for_effort if is_effort else asks_for)(area.dialog, wanted)


def asks_for(dialog: OtherDialog | None, model: str) -> bool:
    """Whether Enter in this dialog switches to ``model``: an alias such as ``opus``, or an id, ``claude-opus-5-5``.

    The dialog shows a name such as ``Opus 5.5``. Its family must be the one that was asked for, and if a version was
    asked for, its version too; a longer context must be named on both sides or on neither.
    """
    if dialog is None or dialog.kind != DialogKind.SWITCH_MODEL or dialog.cursor != 0 or dialog.clipped:
        return False
    row = _ROW.fullmatch(dialog.rows[0]) if dialog.rows else None
    if row is None:
        return False
    wanted, wanted_long = _words(model)
    shown, shown_long = _words(row[1])
    if not wanted or wanted_long != shown_long or not shown:
        return False
    return wanted[0] == shown[0] and (wanted == shown or len(wanted) == 1)


def asks_for_effort(dialog: OtherDialog | None, level: str) -> bool:
    """Whether Enter in this dialog switches to an effort ``level``, such as ``medium``."""
    if dialog is None or dialog.kind != DialogKind.SWITCH_EFFORT or dialog.cursor != 0 or dialog.clipped:
        return False
    row = _ROW.fullmatch(dialog.rows[0]) if dialog.rows else None
    return row is not None and row[1] == level.casefold()


def _words(name: str) -> tuple[list[str], bool]:
    """Return family and version of a model, lower case, and whether it is the one with the long context."""
    lowered = name.casefold()
    is_long = "[1m]" in lowered or "1m context" in lowered
    bare = re.sub(r"\[[^\]]*\]|\([^)]*\)", " ", lowered)
    words = [word for word in re.findall(r"[a-z]+|\d+", bare) if word != _MAKER]
    kept = [word for word in words if not (word.isdigit() and len(word) == _DATE)]
    families = [word for word in kept if word.isalpha()]
    versions = [word for word in kept if word.isdigit()]
    return (families + versions if len(families) == 1 else []), is_long
