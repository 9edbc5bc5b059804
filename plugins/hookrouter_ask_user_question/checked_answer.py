"""One answer that can be given: the question is chosen, and the decisions fit its form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import AnswerChannel
    from hookrouter.tools.ask_user_question import AskUserQuestionInput
    from hookrouter_ask_user_question.documents import Question
    from hookrouter_ask_user_question.identity import Author

__all__ = ["CheckedAnswer"]


class CheckedAnswer(NamedTuple):
    """What is to be answered, how, and by whom."""

    question: Question
    form: AskUserQuestionInput
    """The question document, read."""
    decisions: tuple[Decision, ...]
    channels: Mapping[str, AnswerChannel]
    """The channels that are tried, in their order."""
    author: Author
    """Who decides. No pause holds back a person's answer."""
