"""Multi-select pages: tick options, and type a text beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.interfaces import Effect, GiveUp, Press, Wait
from hookrouter_keystrokes.planner.pages import TYPE_ROW, PagePlan
from hookrouter_keystrokes.screens.model import RowKind

if TYPE_CHECKING:
    from hookrouter.answering.decisions import MultiSelect
    from hookrouter.answering.interfaces import Step
    from hookrouter_keystrokes.screens.model import Page, Row

__all__ = ["MultiSelectPlan"]

_CURSOR_HIDDEN = "the row under the cursor is not visible"


class MultiSelectPlan(PagePlan):
    """What to do on a multi-select page."""

    def step(self, page: Page, decision: MultiSelect, *, correcting: bool) -> Step:
        """Return the next step; ``correcting`` says whether the review screen was seen already, and was not right."""
        return (
            self._tick_hidden(page, set(decision.selected_indices))
            or self._tick_visible(page, set(decision.selected_indices))
            or self._see_all(page)
            or self._text(page, decision.text, page.row(RowKind.TYPE), correcting=correcting)
            or self._leave(page, decision)
        )

    def _tick_hidden(self, page: Page, wanted: set[int]) -> Step | None:
        """Set the options above the visible part, by number: a digit acts on them too."""
        for index in range(page.above):
            ticked = self.history.ticked(page.question, index)
            if ticked is None:
                return GiveUp("the pane does not show which options are ticked; make it larger")
            if ticked != (index in wanted):
                verb = "untick" if ticked else "tick"
                why = f"{verb} option {index + 1} by its number: it is above the visible part"
                return Press(str(index + 1), why, Effect.INVISIBLE)
        return None

    def _tick_visible(self, page: Page, wanted: set[int]) -> Step | None:
        for row in page.rows:
            if row.kind == RowKind.OPTION and row.option is not None and row.checked != (row.option in wanted):
                verb = "tick" if row.option in wanted else "untick"
                if self.takes_number(page, row.option):
                    return Press(str(row.option + 1), f"{verb} option {row.option + 1} by its number")
                return self.move(page, RowKind.OPTION, row.option) or Wait(_CURSOR_HIDDEN)
        return None

    def _see_all(self, page: Page) -> Step | None:
        hidden = self.history.unseen(page)
        return None if hidden is None else self.move(page, *hidden) or Wait(_CURSOR_HIDDEN)

    def _text(self, page: Page, text: str | None, typed: Row | None, *, correcting: bool) -> Step | None:
        if text is None:
            if typed is None or not typed.checked:
                return None
            return self.move(page, RowKind.TYPE) or Press("Enter", f"untick {TYPE_ROW}")
        step = self.move(page, RowKind.TYPE)
        done = typed is not None and self.holds(page, typed.text, text) and typed.checked is True
        # Up to 2.1.180 the client drops the text unless its box is toggled after typing; only the review shows that.
        toggle = correcting and not self.history.toggled_since_review(page.question)
        if done and not toggle:
            return None
        if step is not None:
            return step
        if typed is None:
            return Wait(f"{TYPE_ROW} is not visible")
        filled = self.fill(page, typed.text, text, TYPE_ROW)
        if filled is not None:
            return filled
        if typed.checked and not toggle:
            return None
        return Press("Enter", f"{'untick' if typed.checked else 'tick'} the typed text")

    def _leave(self, page: Page, decision: MultiSelect) -> Step:
        why = f"leave question {page.question + 1}"
        if page.at(RowKind.SUBMIT):
            return Press("Enter", why, Effect.LEAVES)
        if decision.text is None and (page.cursor is None or page.rows[page.cursor].kind == RowKind.OPTION):
            return Press("Tab", why, Effect.LEAVES)
        return self.move(page, RowKind.SUBMIT) or Wait("the Submit row is not visible")
