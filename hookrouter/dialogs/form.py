"""The form of a question that was saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs.messages.formatting import preview
from hookrouter.records import check
from hookrouter.tools.ask_user_question import AskUserQuestionInput
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from hookrouter.dialogs.documents import Dialog

__all__ = ["FormError", "form_of"]


class FormError(HookrouterError, ValueError):
    """A question document holds no form."""


def form_of(question: Dialog) -> AskUserQuestionInput:
    """Return the form of a question document. Raises FormError."""
    questions = [
        {
            **form,
            "header": form["header"] if isinstance(form.get("header"), str) else "",
            "options": [{**option, "preview": preview(option)} for option in form["options"]],
        }
        for form in question.questions
    ]
    raw = {"questions": questions}
    faults, _ = check(AskUserQuestionInput, raw)
    if faults:
        raise FormError("; ".join(faults))
    return AskUserQuestionInput.from_json(raw)
