"""The kinds of dialogs: what an answer may say, what it means, and what it is given to Claude Code as.

Whatever stops a session is kept as one document (:mod:`hookrouter.dialogs.documents`) with a form, so that people,
lists, messages and the history need not know its kind. What must, asks the kind: ``question`` stands here, the others
are contributed by plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from hookrouter.dialogs.comparison import recorded_value
from hookrouter.dialogs.decisions import parse_decisions, to_json
from hookrouter.dialogs.documents import QUESTION
from hookrouter.dialogs.form import form_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._plugins.registry import Plugins
    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import AskedDialog
    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import Question
    from hookrouter.storage.interface import DocumentStore

__all__ = ["DialogKind", "QuestionKind", "find_kind"]


class DialogKind(Protocol):
    """One kind of dialog. Decisions are JSON objects, each with its ``action``."""

    name: str
    """The ``kind`` of the documents that it is about."""

    def parse(self, question: Question, text: str) -> list[dict[str, Any]]:
        """Return the decisions in a JSON text, checked. Raises DecisionError with every fault."""

    def chosen(self, question: Question, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
        """Return what a person's choice on the dialog's form means. Raises DecisionError."""

    def intended(self, question: Question, decisions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """Return what the decisions mean, as ``questions`` of an answer's result has it."""

    def refusal(self, question: Question, decisions: Sequence[Mapping[str, Any]], config: Config) -> str:
        """Return why no agent may decide this so, by the rules of now; empty if one may."""

    def reply(self, question: Question, decisions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return what the hook that waits beside the dialog is handed; None for a form's answers."""

    def asked(
        self, question: Question, decisions: Sequence[Mapping[str, Any]], store: DocumentStore
    ) -> AskedDialog | None:
        """Return what a planner of keys is given; None if no keys can enter such a decision. Raises StoreError."""

    def judge(
        self, question: Question, decisions: Sequence[Mapping[str, Any]], services: Services
    ) -> Comparison | None:
        """Compare what transcript or screen show with what was decided; None while they show nothing that decides it.

        For what no hook tells, such as a refusal that Claude was told of.
        """


class QuestionKind:
    """AskUserQuestion: the form is all there is."""

    name = QUESTION

    def parse(self, question: Question, text: str) -> list[dict[str, Any]]:
        """See :class:`DialogKind`."""
        return to_json(parse_decisions(text, form_of(question)))

    def chosen(self, question: Question, decisions: Sequence[Decision]) -> list[dict[str, Any]]:  # noqa: ARG002
        """See :class:`DialogKind`."""
        return to_json(decisions)

    def intended(self, question: Question, decisions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """See :class:`DialogKind`."""
        shown = []
        for form, decision in zip(question.questions, decisions, strict=False):
            value = recorded_value(form, decision)
            entry = {"question": form["question"], "intended": decision["text"] if value is None else value}
            if decision.get("notes"):
                entry["intended_notes"] = decision["notes"]
            shown.append(entry | {"recorded": None, "result": "chat" if value is None else "unknown"})
        return tuple(shown)

    def refusal(self, question: Question, decisions: Sequence[Mapping[str, Any]], config: Config) -> str:  # noqa: ARG002
        """See :class:`DialogKind`."""
        return ""

    def reply(self, question: Question, decisions: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`DialogKind`."""

    def asked(self, question: Question, decisions: Sequence[Mapping[str, Any]], store: DocumentStore) -> None:
        """See :class:`DialogKind`: its form is all that a planner needs."""

    def judge(self, question: Question, decisions: Sequence[Mapping[str, Any]], services: Services) -> None:
        """See :class:`DialogKind`: PostToolUse tells it."""


def find_kind(plugins: Plugins, name: str) -> DialogKind | None:
    """Return the kind of this name; None if no active plugin contributes it."""
    return QuestionKind() if name == QUESTION else plugins.dialog_kinds().get(name)
