"""The review screen: compare every answer shown, then submit or go back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.interfaces import Effect, GiveUp, Press, Wait
from hookrouter_keystrokes.planner.long_text import LongTextPlan
from hookrouter_keystrokes.planner.plan import CORRECTIONS
from hookrouter_keystrokes.screens.model import UNSURE

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import Step
    from hookrouter_keystrokes.planner.plan import Plan
    from hookrouter_keystrokes.screens.model import Review

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
        if not review.certain and not history.came_from_form():
            return self._unproven(review)
        if plan.chat is not None:
            return Press("Left", "go back from the review to where chat can be chosen", Effect.LEAVES)
        if review.kept:
            return self._back("the dialog before has left this review screen", "the client keeps its review screen")
        wrong = plan.wrong(review)
        if wrong:
            complaint = plan.complaint(review, wrong[0])
            return self._back(complaint, complaint)
        doubt = plan.doubt(review)
        if doubt is not None:
            return GiveUp(doubt)
        if not review.on_submit:
            return Press("Up", "move to Submit answers")
        return Press("Enter", "submit: every answer shown is the intended one", Effect.SUBMITS)

    def _unproven(self, review: Review) -> Step:
        """Return the step on a review screen that may be another form's: Left, which only shows a question's page."""
        if review.untouched:
            why = "nothing is answered on this review screen; the page before it tells whose it is"
            return self._back(why, "nothing is answered on the review screen, and Left does not lead to a question")
        return Wait(
            "the review screen shows no question of the form, so it may be another form's; make the pane larger, or go "
            "back from it to a question"
        )

    def _back(self, why: str, complaint: str) -> Step:
        """Return the step to the page before; GiveUp with ``complaint`` after many of them."""
        if self._plan.history.times_gone_back() >= CORRECTIONS:
            return GiveUp(complaint)
        return Press("Left", f"go back: {why}", Effect.LEAVES)
