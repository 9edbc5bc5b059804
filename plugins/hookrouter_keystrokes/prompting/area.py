"""Reads the lower part of the screen: the prompt box, what stands in it, and whether anything can be typed there.

It is read from the bottom up. A box is two edges with a glyph, a no-break space and text between them, and below it
nothing that a dialog says. Texts from outside (Claude's prose, commands in a dialog, what is typed in the box) may show
a picture of a box; what follows such a picture gives it away, because a box is the last thing on the screen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.prompting import facts
from hookrouter_keystrokes.screens.header import is_rule
from hookrouter_keystrokes.screens.model import OtherDialog, Unknown
from hookrouter_keystrokes.screens.reading import read_any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.terminals import Screen, StyledText

__all__ = ["AreaKind", "PromptArea", "read_area"]


class AreaKind:
    """What the lower part of a screen is: the values of ``PromptArea.kind``."""

    BOX = "box"
    """The prompt box."""
    DIALOG = "dialog"
    """A dialog, a picker or a panel, which takes the keys."""
    VIEW = "view"
    """A view that a person has opened, in which letters do other things."""
    NOTHING = "nothing"
    """Nothing that is known."""


class PromptArea(NamedTuple):
    """The lower part of a screen."""

    kind: str
    """One of the values of AreaKind."""
    why: str = ""
    """Why nothing can be typed, in words; empty for a box."""
    glyph: str = ""
    """What stands before the text: one of ``grammar.PROMPTS``, ``facts.SHELL``, or that of another mode."""
    rows: tuple[str, ...] = ()
    """The text in the box as it is wrapped; none if it is empty, also if the client itself shows a hint there. Of a box
    that ends below the pane, which counts as none, what is visible."""
    is_cut: bool = False
    """Whether rows of the text are above what is visible."""
    is_busy: bool = False
    """Whether Claude works."""
    is_stashed: bool = False
    """Whether a draft was put away."""
    menu: str = ""
    """The row of the menu of commands that Enter would take; empty if no menu is open."""
    dialog: OtherDialog | None = None
    """The dialog, if it is one that is known by its name."""
    above: str = ""
    """The upper edge of the box if rows are above it: it counts them (2.1.330)."""

    @property
    def is_box(self) -> bool:
        """Whether the box is there."""
        return self.kind == AreaKind.BOX

    @property
    def is_prompt(self) -> bool:
        """Whether the box is there, and in no other mode; also if its glyph is above what is visible."""
        return self.is_box and self.glyph in (*grammar.PROMPTS, "")

    @property
    def is_empty(self) -> bool:
        """Whether the box is there, for a prompt, and holds nothing."""
        return self.is_prompt and not self.rows


def read_area(screen: Screen, styles: Sequence[Sequence[StyledText]] | None = None) -> PromptArea:
    """Return what the lower part of a screen shows. Never raises.

    ``styles`` are the parts of each line as a styled terminal tells them; without them, hints are known by their words.
    """
    lines = list(screen.lines)
    while lines and not lines[-1].strip():
        lines.pop()
    shown = read_any(screen)
    if isinstance(shown, OtherDialog):
        return PromptArea(AreaKind.DIALOG, shown.why.replace(", not the question", ""), dialog=shown)
    if isinstance(shown, Unknown) and shown.dialog:
        return PromptArea(AreaKind.DIALOG, shown.why)
    edge = next((at for at in range(len(lines) - 1, -1, -1) if is_rule(lines[at], screen.width)), None)
    below = lines if edge is None else lines[edge + 1 :]
    if (view := _view(below)) is not None:
        return view
    if edge is None:
        return PromptArea(AreaKind.NOTHING, "there is no prompt box on the screen")
    found = _cut_off(lines[edge], below) or _box(lines, edge, styles)
    return found or PromptArea(AreaKind.NOTHING, "there is no prompt box on the screen")


def _view(below: list[str]) -> PromptArea | None:
    """Return what the lines below the last edge say of a view or dialog; None if they may be those below a box."""
    said = "\n".join(below)
    if facts.TRANSCRIPT_VIEW.text in said:
        return PromptArea(AreaKind.VIEW, "the transcript view is open")
    if any(seen.text in said for seen in facts.AGENTS_VIEW):
        return PromptArea(AreaKind.VIEW, "the agents view is open")
    if any(seen.text in said for seen in facts.SEARCH):
        return PromptArea(AreaKind.VIEW, "earlier prompts are searched")
    lowered = said.casefold()
    if any(words in lowered for words in facts.DIALOG_WORDS) or any(map(_CHOICE.match, below)):
        return PromptArea(AreaKind.DIALOG, "a dialog of the client is open")
    return None


_CHOICE = re.compile(rf" {{0,4}}(?:{grammar.CURSOR} \S|[{grammar.CURSOR} ] ?\d+\. )")
"""A row of a list with a cursor, or of a numbered one, as it never stands below a box."""
_MORE_ROWS = re.compile(facts.MORE_ROWS)
_TITLED_RULE = re.compile(facts.TITLED_RULE)
_SPINNER = re.compile(facts.SPINNER)
_MENU_ROW = re.compile(facts.MENU_ROW)
_FAR = 8
"""The least indent of what goes on in the second column of a menu."""


def _cut_off(edge: str, below: list[str]) -> PromptArea | None:
    """Return a box whose lower edge is below the pane; None if it is none. Nothing can be typed into it with proof."""
    if not below or below[0][1:2] != facts.BOX_GAP or any(line[:2].strip(" ") for line in below[1:]):
        return None
    return PromptArea(
        AreaKind.NOTHING,
        "the pane is too small for the prompt box and its text",
        glyph=below[0][0],
        rows=tuple(line[2:].replace(facts.BOX_GAP, " ") for line in below),
        is_cut=_MORE_ROWS.fullmatch(edge) is not None,
    )


def _box(lines: list[str], bottom: int, styles: Sequence[Sequence[StyledText]] | None) -> PromptArea | None:
    top = next((at for at in range(bottom - 1, -1, -1) if _TITLED_RULE.fullmatch(lines[at])), None)
    first = 0 if top is None else top + 1
    inside = lines[first:bottom]
    above, below = lines[: top or 0], lines[bottom + 1 :]
    hidden = top is not None and _MORE_ROWS.fullmatch(lines[top]) is not None
    glyph = inside[0][0] if inside and inside[0][1:2] == facts.BOX_GAP else ""
    if any(line[:2].strip(" ") for line in inside[bool(glyph) :]):
        return None
    if not glyph:
        # Without its glyph it is a box only if its upper rows are above the visible part: they fill the pane.
        if not inside or not (hidden or top is None):
            return None
        hidden = True
    rows = [line[2:].replace(facts.BOX_GAP, " ") for line in inside]
    if glyph and _is_hint(rows, None if styles is None else styles[first]):
        rows = []
    return PromptArea(
        AreaKind.BOX,
        glyph=glyph,
        rows=tuple(rows),
        is_cut=hidden,
        is_busy=_is_busy(above, below),
        is_stashed=any(seen.text in line for seen in facts.STASHED for line in above[-2:]),
        menu=_menu(above, below),
        above=lines[top] if hidden and top is not None else "",
    )


def _is_hint(rows: list[str], style: Sequence[StyledText] | None) -> bool:
    """Whether the box holds nothing but what the client itself shows in an empty one."""
    if len(rows) > 1:
        return False
    if not rows[0].strip():
        return True
    if style is None:
        return rows[0].startswith(tuple(seen.text for seen in grammar.PROMPT_HINTS))
    # Behind the glyph: the first letter as the cursor, and all others faint.
    parts = [part for part in style if part.text.strip()]
    if parts and parts[0].text[:2].endswith(facts.BOX_GAP):
        parts[0] = parts[0]._replace(text=parts[0].text[2:])
    parts = [part for part in parts if part.text]
    if parts and parts[0].is_reversed and len(parts[0].text) == 1:
        parts = parts[1:]
    return bool(parts) and all(part.is_dim for part in parts)


def _is_busy(above: list[str], below: list[str]) -> bool:
    if any(seen.text in line for seen in facts.INTERRUPT for line in below):
        return True
    # What stands between the spinner and the box, such as a tip or a list of tasks, is indented.
    nearest = next((line for line in reversed(above) if line and not line[0].isspace()), "")
    return _SPINNER.fullmatch(nearest) is not None


def _menu(above: list[str], below: list[str]) -> str:
    """Return the chosen row of the menu of commands, which stands directly above or below the box."""
    for line in reversed(above):
        if not line.startswith("    ") and not (found := _cursor_row(line)):
            break
        if line.startswith(f"  {grammar.CURSOR} "):
            return found
    first = _MENU_ROW.fullmatch(below[0]) if below else None
    return first[1] if first is not None else _first_above(above)


def _first_above(above: list[str]) -> str:
    """Return the first row of a menu above the box that has no cursor; empty if there is none.

    What stands right above the menu, such as Claude's prose, is none of it: its second column is elsewhere.
    """
    chosen, column = "", None
    for line in reversed(above):
        start: int | None = _indent(line)
        row = _MENU_ROW.fullmatch(line)
        if row is not None:
            start = row.end(1) + _indent(line[row.end(1) :]) if row.end(1) < len(line) else None
        column = start if column is None else column
        if (row is None and _indent(line) < _FAR) or start not in (column, None):
            break
        chosen = chosen if row is None else row[1]
    return chosen


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _cursor_row(line: str) -> str:
    found = _MENU_ROW.fullmatch(line) if line.startswith(f"  {grammar.CURSOR} ") else None
    return found[1] if found is not None else ""
