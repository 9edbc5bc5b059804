"""Single-select pages in the plain layout: choose an option, or type a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.decisions import FreeText, Select
from hookrouter.answering.interfaces import GiveUp, Press, Wait
from hookrouter_keystrokes.planner.history import PAD, is_digit
from hookrouter_keystrokes.planner.pages import TYPE_ROW, PagePlan
from hookrouter_keystrokes.screens.model import RowKind

if TYPE_CHECKING:
    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import Step
    from hookrouter_keystrokes.screens.model import Page

__all__ = ["ChoicePlan"]


class ChoicePlan(PagePlan):
    """What to do on a single-select page."""

    def step(self, page: Page, decision: Decision) -> Step:
        """Return the next step towards this decision."""
        if isinstance(decision, FreeText):
            return self._type(page, decision.text)
        if isinstance(decision, Select):
            if decision.notes is not None:
                return GiveUp("this client's dialog shows no field for the note")
            return self._choose(page, decision.option_index)
        return Wait("no decision for this question")

    def _choose(self, page: Page, option: int) -> Step:
        # The number chooses its option wherever the cursor is by then; Enter would choose what a person moved it to.
        if self.takes_number(page, option):
            why = f"choose option {option + 1} of question {page.question + 1} by its number"
            return Press(str(option + 1), why, self.plan.finishing)
        return self.move(page, RowKind.OPTION, option) or Wait("the row under the cursor is not visible")

    def _type(self, page: Page, text: str) -> Step:
        row = page.row(RowKind.TYPE)
        step = self.move(page, RowKind.TYPE)
        if step is not None:
            return step
        if row is None:
            return Wait(f"{TYPE_ROW} is not visible")
        if is_digit(text) and not self.holds(page, row.text, text, marked=row.checked):
            # From 2.0.77 to 2.1.71 a digit that comes alone into the empty row chooses the option with this number.
            padded = self.fill(page, row.text, text + PAD, TYPE_ROW, marked=row.checked)
            return padded or Press("BSpace", f"leave only the digit in {TYPE_ROW}")
        filled = self.fill(page, row.text, text, TYPE_ROW, marked=row.checked)
        return filled or Press("Enter", f"enter the typed text of question {page.question + 1}", self.plan.finishing)
