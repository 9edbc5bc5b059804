"""Decides what a look at the prompt area means for one item: whether it may be typed, goes on, or has to wait.

Pure functions of what was read and of how far an attempt is; the channel does what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.queue.items import SHELL
from hookrouter_keystrokes.prompting import facts
from hookrouter_keystrokes.prompting.comparing import is_part, shows
from hookrouter_keystrokes.prompting.pieces import guarded

if TYPE_CHECKING:
    from hookrouter.queue.items import Item
    from hookrouter_keystrokes.prompting.area import PromptArea

__all__ = ["Entry", "Phase", "Situation", "entry_of", "situation"]


class Entry(NamedTuple):
    """What is put into the box for an item."""

    mode: str
    """The glyph that the box must have, ``""`` for that of a prompt; the key ``!`` leads to the shell mode."""
    text: str
    """What is pasted."""
    is_bare_command: bool
    """Whether the menu of commands is open when all of it is typed, so that Enter takes what is chosen there."""

    def fits(self, area: PromptArea) -> bool:
        """Whether the box is in this entry's mode."""
        return area.is_box and area.glyph == self.mode if self.mode else area.is_prompt


def entry_of(item: Item) -> Entry:
    """Return how an item is put into the box."""
    if item.kind == SHELL:
        return Entry(facts.SHELL, guarded(item.text[1:]), is_bare_command=False)
    text = guarded(item.text)
    return Entry("", text, is_bare_command=item.text.startswith("/") and len(item.text.split()) == 1)


class Phase:
    """How far an attempt can have come: the words that are saved before its acts."""

    NOTHING = ""
    """Nothing of the item is in the session."""
    STASHING = "stashing"
    """Ctrl+S was about to be pressed, to put a person's draft away."""
    TYPING = "typing"
    """The text, or a part of it, may stand in the box; Enter was not pressed."""
    ENTERING = "entering"
    """Enter may have been pressed once."""
    CONFIRMING = "confirming"
    """Enter may also have been pressed in the dialog that the command opened."""


class Situation:
    """What a look means for an item."""

    FREE = "free"
    """The box is empty: the text may be typed."""
    BUSY = "busy"
    """Claude works."""
    CLOSED = "closed"
    """There is no box: a dialog, a view."""
    DRAFT = "draft"
    """Somebody else's text stands in the box, or it is in a mode that somebody else has chosen."""
    OURS = "ours"
    """The whole text stands in the box, and nothing else."""
    PART = "part"
    """A part of the text stands in the box, from its beginning, and nothing else as far as that is visible."""


def situation(area: PromptArea, entry: Entry, phase: str) -> str:
    """Return what the area means, one of the values of Situation, for an attempt that had come to ``phase``.

    A text that stands there is taken for the item's own only if an attempt was typing it.
    """
    if not area.is_box:
        return Situation.CLOSED
    if area.is_busy:
        return Situation.BUSY
    if area.is_empty:
        return Situation.FREE
    if phase in (Phase.TYPING, Phase.ENTERING):
        if entry.mode and area.glyph == entry.mode and not area.rows:
            return Situation.PART
        if area.rows and entry.fits(area):
            if not area.is_cut and shows(area, entry.text):
                return Situation.OURS
            if is_part(area, entry.text):
                return Situation.PART
    return Situation.DRAFT
