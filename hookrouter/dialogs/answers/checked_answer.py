"""One answer that can be given: the question is chosen, and the decisions fit its form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import AnswerChannel, AskedDialog
    from hookrouter.dialogs.answers.identity import Author
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.tools.ask_user_question import AskUserQuestionInput

__all__ = ["CheckedAnswer"]


class CheckedAnswer(NamedTuple):
    """What is to be answered, how, and by whom."""

    question: Dialog
    """The question that is meant."""
    form: AskUserQuestionInput
    """The question document, read."""
    given: tuple[dict[str, Any], ...]
    """What was decided, in its JSON form, checked."""
    channels: Mapping[str, AnswerChannel]
    """The channels that are tried, in their order."""
    author: Author
    """Who decides. No pause holds back a person's answer."""
    reply: Mapping[str, Any] | None = None
    """What the hook that waits beside the dialog is handed; None for a form's answers."""
    decisions: tuple[Decision, ...] = ()
    """The answers to a form, one for each question; none for another kind of dialog."""
    dialog: AskedDialog | None = None
    """What a planner of keys is given for another kind of dialog; None if no keys can enter the decision."""
