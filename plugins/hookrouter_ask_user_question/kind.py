"""The kind ``question``: AskUserQuestion, whose form is all there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.comparison import recorded_value
from hookrouter.dialogs.decisions import parse_decisions, to_json
from hookrouter.dialogs.documents import QUESTION, is_form
from hookrouter.dialogs.form import form_of
from hookrouter.dialogs.opening import Opening
from hookrouter.dialogs.transcript import open_calls
from hookrouter.sessions.running_clients import PERMISSION_PROMPT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.kinds import Stalled
    from hookrouter.storage.interface import DocumentStore

__all__ = ["QuestionKind"]

_QUESTION_TOOL = "AskUserQuestion"


class QuestionKind:
    """AskUserQuestion: the form is all there is."""

    name = QUESTION

    def parse(self, question: Dialog, text: str) -> list[dict[str, Any]]:
        """See :class:`hookrouter.dialogs.kinds.DialogKind`."""
        return to_json(parse_decisions(text, form_of(question)))

    def chosen(self, question: Dialog, decisions: Sequence[Decision]) -> list[dict[str, Any]]:  # noqa: ARG002
        """See :class:`hookrouter.dialogs.kinds.DialogKind`."""
        return to_json(decisions)

    def intended(self, question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """See :class:`hookrouter.dialogs.kinds.DialogKind`."""
        shown = []
        for form, decision in zip(question.questions, decisions, strict=False):
            value = recorded_value(form, decision)
            entry = {"question": form["question"], "intended": decision["text"] if value is None else value}
            if decision.get("notes"):
                entry["intended_notes"] = decision["notes"]
            shown.append(entry | {"recorded": None, "result": "chat" if value is None else "unknown"})
        return tuple(shown)

    def refusal(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], config: Config) -> str:  # noqa: ARG002
        """See :class:`hookrouter.dialogs.kinds.DialogKind`."""
        return ""

    def reply(self, question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`hookrouter.dialogs.kinds.DialogKind`."""

    def asked(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], store: DocumentStore) -> None:
        """See :class:`hookrouter.dialogs.kinds.DialogKind`: its form is all that a planner needs."""

    def judge(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], services: Services) -> None:
        """See :class:`hookrouter.dialogs.kinds.DialogKind`: PostToolUse tells it."""

    def unsaved(self, stalled: Stalled) -> Opening | None:
        """See :class:`hookrouter.dialogs.kinds.FindingKind`."""
        if stalled.waiting_for == PERMISSION_PROMPT:
            return None
        asked = next((one for one in open_calls(stalled.transcript_path) if one.tool == _QUESTION_TOOL), None)
        questions = None if asked is None else asked.tool_input.get("questions")
        if asked is None or not is_form(questions):
            return None
        return Opening(tool_use_id=asked.tool_use_id, questions=questions)
