"""Pages that a long typed text fills: only its end, and what follows it, is visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.decisions import MultiSelect
from hookrouter.answering.interfaces import Effect, GiveUp, Press, Wait
from hookrouter.answering.recording import shown_answers, typed_text
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.planner.pages import PagePlan
from hookrouter_keystrokes.screens.model import UNSURE, RowKind
from hookrouter_keystrokes.screens.text import key

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import Step
    from hookrouter_keystrokes.screens.model import LongTextPage

__all__ = ["LongTextPlan"]

_END = 20
"""How much of the end of a text must be on screen, in characters of its key, to tell that it is this one."""


class LongTextPlan(PagePlan):
    """What to do on a page that a text fills."""

    def step(self, page: LongTextPage) -> Step:
        """Return the next step; the text must be the one that this delivery has put in."""
        number = self.history.long_text_question() if self.history.taken else None
        if number is None or number >= len(self.plan.decisions):
            return Wait(UNSURE)
        decision = self.plan.decisions[number]
        text = typed_text(decision)
        shown = key(page.text)
        if text is None or page.submit != isinstance(decision, MultiSelect):
            return Wait("only the end of a typed text is visible, and it is not the intended one")
        if len(shown) < _END or not key(text).endswith(shown):
            return Wait("the pasted text is not fully shown")
        if not page.submit:
            return Press("Enter", f"enter the typed text of question {number + 1}", self.plan.finishing)
        if page.cursor == RowKind.SUBMIT:
            return Press("Enter", f"leave question {number + 1}", Effect.LEAVES)
        if self.plan.corrections() is not None:
            return GiveUp("the pane is too small to check the typed text's box")
        return Press("Down", "move from the typed text to the row that leaves the page")

    def is_own_end(self, tail: str) -> bool:
        """Whether this is the end of the answer to the last question, with a text that this delivery has put in."""
        number = len(self.form.questions) - 1
        decision = self.plan.decisions[number] if number < len(self.plan.decisions) else None
        text = None if decision is None else typed_text(decision)
        if decision is None or text is None or not self.history.pasted(number, text):
            return False
        shown = key(tail)
        answers = shown_answers(self.form.questions[number], decision)
        return len(shown) >= _END and any((grammar.ARROW + key(answer)).endswith(shown) for answer in answers)
