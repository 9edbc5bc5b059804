"""The review screen: compare every answer shown, then submit or go back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.interfaces import Effect, GiveUp, Press, Wait
from hookrouter_keystrokes.planner.long_text import LongTextPlan
from hookrouter_keystrokes.planner.plan import CORRECTIONS
from hookrouter_keystrokes.screens.model import UNSURE, LongTextPage, Page, Review

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import Step
    from hookrouter_keystrokes.planner.plan import Plan

__all__ = ["ReviewPlan"]


class ReviewPlan:
    """What to do on the review screen."""

    def __init__(self, plan: Plan) -> None:
        """Work on this plan."""
        self._plan = plan

    def step(self, review: Review) -> Step:
        """Return the next step: submit only if every answer is certainly the intended one."""
        plan, history = self._plan, self._plan.history
        if review.tail is not None and not LongTextPlan(plan).is_own_end(review.tail):
            return Wait(UNSURE)
        if not review.certain and not (history.states and isinstance(history.states[-1], (Page, LongTextPage, Review))):
            return Wait(
                "the review screen shows no question of the form, so it may be another form's; make the pane larger"
            )
        if plan.chat is not None:
            return Press("Left", "go back from the review to where chat can be chosen", Effect.LEAVES)
        wrong = plan.wrong(review)
        if wrong:
            complaint = plan.complaint(review, wrong[0])
            if history.times_gone_back() >= CORRECTIONS:
                return GiveUp(complaint)
            return Press("Left", f"go back: {complaint}", Effect.LEAVES)
        doubt = plan.doubt(review)
        if doubt is not None:
            return GiveUp(doubt)
        if not review.on_submit:
            return Press("Up", "move to Submit answers")
        return Press("Enter", "submit: every answer shown is the intended one", Effect.SUBMITS)
