"""What can be told of an AskUserQuestion form, and of decisions for it, whatever brings the answer into its dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.decisions import Chat, FreeText, MultiSelect
from hookrouter.answering.input_limits import chat_faults, text_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.tools import AskUserQuestionInput, Question

__all__ = ["has_previews", "has_review", "outline", "refusal_of", "why_untypable"]

_NOTHING = "nothing: "
"""How an outline begins that has no steps, because the planner refuses."""


def has_review(form: AskUserQuestionInput) -> bool:
    """Whether the dialog lists all answers before the form is submitted; a lone single-select is submitted at once."""
    return len(form.questions) > 1 or bool(form.questions[0].multi_select)


def has_previews(question: Question) -> bool:
    """Whether the client draws this question in the layout with previews, which takes notes and no typed answer."""
    return not question.multi_select and any(option.preview for option in question.options)


def why_untypable(form: AskUserQuestionInput, decisions: Sequence[Decision]) -> str | None:
    """Return why these decisions cannot be typed into the dialog of ``form`` by any planner, or None if they can."""
    chat = bool(decisions) and isinstance(decisions[-1], Chat)
    if (
        not form.questions
        or len(decisions) > len(form.questions)
        or (len(decisions) < len(form.questions) and not chat)
    ):
        return "there must be one decision for each question, or a chat decision at the end"
    for number, (question, decision) in enumerate(zip(form.questions, decisions, strict=False)):
        problem = _why_unfitting(question, decision, last=number == len(decisions) - 1)
        if problem is not None:
            return f"question {number + 1}: {problem}"
    return None


def outline(refusal: str | None, steps: Callable[[], list[str]]) -> list[str]:
    """Return a planner's outline: the steps, or why there are none if the planner refuses."""
    return steps() if refusal is None else [f"{_NOTHING}{refusal}"]


def refusal_of(lines: Sequence[str]) -> str | None:
    """Return why a planner with this outline refuses, as :func:`outline` has put it; None if there are steps."""
    return lines[0].removeprefix(_NOTHING) if len(lines) == 1 and lines[0].startswith(_NOTHING) else None


def _why_unfitting(question: Question, decision: Decision, *, last: bool) -> str | None:
    count = len(question.options)
    if isinstance(decision, Chat):
        faults = chat_faults(decision.text)
        return _fault(faults) if last else "chat declines the whole form and must come last"
    if isinstance(decision, MultiSelect):
        if not question.multi_select:
            return "it takes one option, not several"
        if not all(0 <= index < count for index in decision.selected_indices):
            return f"its options are numbered 0 to {count - 1}"
        labels = [option.label for option in question.options]
        return None if decision.text is None else _fault(text_faults(decision.text, labels))
    if question.multi_select:
        return "it takes several options, so its decision must be multi-select"
    if isinstance(decision, FreeText):
        return _fault(text_faults(decision.text))
    if not 0 <= decision.option_index < count:
        return f"its options are numbered 0 to {count - 1}"
    if decision.notes is None:
        return None
    if not has_previews(question):
        return "its dialog takes no notes, because no option has a preview"
    return _fault(text_faults(decision.notes))


def _fault(faults: Sequence[str]) -> str | None:
    return f"the text {faults[0]}" if faults else None
