"""The kind ``question``: AskUserQuestion, whose form is all there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs.documents import is_form
from hookrouter.dialogs.kinds import DialogKind
from hookrouter.dialogs.messages.prompts import prompt_text
from hookrouter.dialogs.messages.surroundings import gsd_files
from hookrouter.dialogs.opening import Opening
from hookrouter.dialogs.transcript import open_calls
from hookrouter.sessions.running_clients import PERMISSION_PROMPT

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.dialogs.kinds import Stalled

__all__ = ["QuestionKind"]

_QUESTION_TOOL = "AskUserQuestion"
_GSD_PROMPT = "ask_user_question_gsd.md"


class QuestionKind(DialogKind):
    """AskUserQuestion, which asks by a form. How it ended, PostToolUse tells."""

    name = "question"
    prompt = "ask_user_question.md"

    def advice(self, services: Services, folder: str) -> str:
        """Return how to decide; in a project that GSD plans, also what its files say about it."""
        parts = [super().advice(services, folder)]
        if files := gsd_files(folder):
            named = ", ".join(f"`{name}`" for name in files)
            parts.append(prompt_text(services, _GSD_PROMPT).replace("$files", named))
        return "\n\n".join(filter(None, parts))

    def unsaved(self, stalled: Stalled) -> Opening | None:
        """Return the question that the transcript shows without a result."""
        if stalled.waiting_for == PERMISSION_PROMPT:
            return None
        asked = next((one for one in open_calls(stalled.transcript_path) if one.tool == _QUESTION_TOOL), None)
        questions = None if asked is None else asked.tool_input.get("questions")
        if asked is None or not is_form(questions):
            return None
        return Opening(tool_use_id=asked.tool_use_id, questions=questions)
