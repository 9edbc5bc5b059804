"""What is to be entered, what was done for it so far, and what is still to be corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.decisions import Chat
from hookrouter.answering.forms import has_review
from hookrouter.answering.interfaces import Effect
from hookrouter.answering.recording import typed_text
from hookrouter_keystrokes.planner.history import History
from hookrouter_keystrokes.planner.shown import confirms, leaves_empty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import Taken
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter_keystrokes.screens.model import Review

__all__ = ["CORRECTIONS", "Plan"]

CORRECTIONS = 3
"""How often one thing is corrected before the planner gives up."""


class Plan:
    """One delivery as the planner sees it: the intention and its history."""

    def __init__(self, form: AskUserQuestionInput, decisions: Sequence[Decision], taken: Sequence[Taken]) -> None:
        """Take what :meth:`hookrouter.answering.interfaces.KeystrokePlanner.next_step` is given."""
        self.form = form
        self.decisions = decisions
        self.history = History(form, decisions, taken)

    @property
    def chat(self) -> Chat | None:
        """The chat that declines the form, if that is intended."""
        last = self.decisions[-1]
        return last if isinstance(last, Chat) else None

    @property
    def finishing(self) -> str:
        """The effect of the key that enters the answer of a single-select."""
        return Effect.LEAVES if has_review(self.form) else Effect.SUBMITS

    def wrong(self, review: Review) -> list[int]:
        """Return the questions whose answer on the review screen is not the intended one."""
        return [number for number in range(len(self.decisions)) if self._is_wrong(review, number)]

    def _is_wrong(self, review: Review, number: int) -> bool:
        decision, shown = self.decisions[number], review.answers[number]
        if shown is None and review.hidden[number]:
            return not self.history.completed(number)
        if shown is None:
            return not leaves_empty(decision)
        return (
            confirms(self.form.questions[number], decision, shown) is False
            or leaves_empty(decision)
            or self._is_left_by_others(number)
        )

    def _is_left_by_others(self, number: int) -> bool:
        """Whether this question's typed text is not this delivery's, so that its blanks and emoji may be other ones."""
        text = typed_text(self.decisions[number])
        return text is not None and not self.history.pasted(number, text)

    def doubt(self, review: Review) -> str | None:
        """Return why an answer of which the review screen shows nothing wrong is not certain, or None."""
        for number, decision in enumerate(self.decisions):
            shown, question = review.answers[number], self.form.questions[number]
            if shown is not None and confirms(question, decision, shown) is None:
                return f"the review screen does not tell the options of question {number + 1} apart"
            if shown is None and review.hidden[number] and self.history.was_set_unseen(number):
                return f"neither all rows of question {number + 1} nor its answer on the review screen are visible"
        return None

    def complaint(self, review: Review, number: int) -> str:
        """Say what is wrong with a question's answer on the review screen."""
        shown = review.answers[number]
        if shown is not None and confirms(self.form.questions[number], self.decisions[number], shown):
            return f"the text of question {number + 1} is left from before, and its blanks may be other ones"
        has = "no answer" if shown is None else repr(shown if len(shown) <= 80 else shown[:79] + "…")
        return f"the review screen shows {has} for question {number + 1}, which is not the intended answer"

    def corrections(self) -> list[int] | None:
        """Return the questions that are still to be corrected since the last review; None before any review.

        None also for a form that is submitted from its question: 2.1.150 may open it on a review screen, but the one
        way on from there is to answer the question.
        """
        review = self.history.last_review()
        if review is None or not has_review(self.form):
            return None
        at, state = review
        return [number for number in self.wrong(state) if not self.history.completed(number, at)]
