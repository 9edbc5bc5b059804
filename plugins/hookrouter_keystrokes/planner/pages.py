"""What the pages of all kinds have in common: moving the cursor, switching tabs, filling a text field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.interfaces import Effect, GiveUp, Paste, Press, Wait
from hookrouter_keystrokes.planner.shown import shows_text
from hookrouter_keystrokes.screens.model import RowKind
from hookrouter_keystrokes.screens.text import key

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import Step
    from hookrouter_keystrokes.planner.plan import Plan
    from hookrouter_keystrokes.screens.model import Page

__all__ = ["TYPE_ROW", "PagePlan"]

TYPE_ROW = "the row for typed text"
_CLEARING = 60
"""How many lines of another text are cleared before the planner gives up."""
_CUT = "…"
"""At the end of what does not fit a row that the client draws in one line (seen on 2.1.330 with tabs in the text)."""


class PagePlan:
    """What to do on pages of one kind."""

    def __init__(self, plan: Plan) -> None:
        """Work on this plan."""
        self.plan = plan
        self.form = plan.form
        self.history = plan.history

    def takes_number(self, page: Page, option: int) -> bool:
        """Whether a digit acts on this option: from any option's row, on options that are visible or above."""
        if page.cursor is None:
            return option < page.above
        return page.rows[page.cursor].kind == RowKind.OPTION

    def position(self, page: Page, kind: str, option: int | None) -> int:
        """Return a row's place among all rows of its page, visible or not."""
        question = self.form.questions[page.question]
        count = len(question.options)
        if kind == RowKind.OPTION:
            return option or 0
        typed = 0 if page.preview else 1
        submit = 1 if question.multi_select else 0
        places = {
            RowKind.TYPE: 0,
            RowKind.SUBMIT: typed,
            RowKind.CHAT: typed + submit,
            RowKind.SKIP: typed + submit + 1,
        }
        return count + places[kind]

    def move(self, page: Page, kind: str, option: int | None = None) -> Press | None:
        """Return the key that brings the cursor one row nearer to a row, or None if it is there."""
        if page.cursor is None:
            return Press("Down", "move the cursor into view")
        row = page.rows[page.cursor]
        here, there = self.position(page, row.kind, row.option), self.position(page, kind, option)
        if here == there:
            return None
        if here == 0 and kind == RowKind.TYPE and there > 1:
            return Press("Up", "from the first row round to the row for typed text")
        return Press("Down" if here < there else "Up", f"move from row {here + 1} to row {there + 1}")

    def leave(self, page: Page, pressed: str, why: str) -> Press:
        """Return the key that switches tabs, which works only from an option row."""
        if page.notes is not None and page.notes.focused:
            return Press("Escape", "leave the notes field")
        if page.cursor is not None and page.rows[page.cursor].kind != RowKind.OPTION:
            return Press("Up", "move to an option row, from where tabs can be switched")
        return Press(pressed, why, Effect.LEAVES)

    def holds(self, page: Page, shown: str, text: str, *, marked: bool | None = False) -> bool:
        """Whether a field of this page holds ``text``.

        Blanks and emoji do not show exactly, so that a text which somebody else left never counts.
        """
        return shows_text(shown, text, marked=marked) and self.history.pasted(page.question, text)

    def fill(self, page: Page, shown: str, text: str, what: str, *, marked: bool | None = False) -> Step | None:
        """Return the step that brings ``text`` into the field under the cursor, or None if it is there."""
        if self.holds(page, shown, text, marked=marked):
            return None
        if self.history.pasted_last(text):
            if shown.endswith(_CUT) and key(text).startswith(key(shown.removesuffix(_CUT))):
                return Wait(f"the pane is too narrow to show the whole text in {what}; make it wider")
            return Wait(f"the pasted text is not fully shown in {what}")
        if not shown:
            return Paste(text, f"put the text into {what}")
        return self.clear(shown, what)

    def clear(self, shown: str, what: str) -> Step:
        """Return the step that brings the field under the cursor nearer to being empty."""
        if self.history.times_pressed("C-u") > _CLEARING:
            return GiveUp(f"{what} holds another text that cannot be cleared")
        why = f"clear the other text in {what}"
        if "\n" in shown and not shown.rpartition("\n")[2].strip():
            return Press("BSpace", why)
        if self.history.pressed_last("C-e"):
            return Press("C-u", why)
        return Press("C-e", why, Effect.INVISIBLE)
