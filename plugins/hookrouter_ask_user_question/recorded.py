"""What Claude Code recorded as the answer to a question, and what that means for the answer that was under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents, transcript
from hookrouter.dialogs.closing import End, by_person, compared

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import Dialog, PendingAnswer

__all__ = ["Recorded"]


class Recorded:
    """What PostToolUse of AskUserQuestion tells."""

    def __init__(self, event: events.PostToolUse, context: Context) -> None:
        """Take what the tool recorded; if a client leaves the answers out of it, the tool's input, which has them."""
        raw: Any = event.raw
        self._context = context
        self._transcript_path = event.transcript_path or ""
        self._input, response = raw.get("tool_input"), raw.get("tool_response")
        if not _has_answers(response) and _has_answers(self._input):
            context.warn("tool_response holds no answers; those of tool_input were compared")
            response = self._input
        self._response = response

    def end(self, question: Dialog, pending: PendingAnswer | None) -> End:
        """Return how the question has ended."""
        if pending is not None:
            return self.compared(question, pending)
        if reason := self._idle_reason():
            message = "" if question.missed else "unanswered"
            return End("unanswered", reason, by="nobody", message=message)
        response = self._response if isinstance(self._response, dict) else {}
        annotations = response.get("annotations")
        notes = annotations if isinstance(annotations, dict) else {}
        return by_person(
            _journalled(response.get("answers")),
            _journalled(
                {key: one["notes"] for key, one in notes.items() if isinstance(one, dict) and one.get("notes")}
            ),
        )

    def compared(self, question: Dialog | None, pending: PendingAnswer) -> End:
        """Return what was meant beside what was recorded; without a document, by the questions of the payload.

        Raises ValueError if those cannot be compared.
        """
        given = self._input.get("questions") if isinstance(self._input, dict) else None
        questions = given if question is None else question.questions
        if not documents.is_form(questions):
            raise ValueError("the question document is gone, and the payload's questions cannot be compared")
        comparison = self._comparison(questions, pending)
        if reason := self._idle_reason():
            comparison = comparison._replace(matches=False, reason=reason)
        return compared(pending, comparison)

    def _comparison(self, questions: list[dict[str, Any]], pending: PendingAnswer) -> Comparison:
        from hookrouter.answering.recording import HANDED_IN, recording_styles
        from hookrouter.dialogs.comparison import compare
        from hookrouter.dialogs.verdicts import recorded_before

        styles = recording_styles(transcript.client_version(self._transcript_path))
        if pending.channel == "reply":
            handed_in = compare(questions, pending.decisions, self._response, HANDED_IN)
            # Otherwise a person may have been faster, in the client's own dialog.
            if all(one.result == "match" for one in handed_in.results):
                styles = HANDED_IN
        comparison = compare(questions, pending.decisions, self._response, styles)
        if comparison.extra:
            earlier = recorded_before(self._context.store, self._context.session_id)
            comparison = compare(questions, pending.decisions, self._response, styles, earlier)
        return comparison

    def _idle_reason(self) -> str:
        """Return that the dialog closed by itself; empty if it did not."""
        milliseconds = self._response.get("afkTimeoutMs") if isinstance(self._response, dict) else None
        if not milliseconds:
            return ""
        seconds = f" after {milliseconds / 1000:g} s" if isinstance(milliseconds, (int, float)) else ""
        return f"the dialog closed by itself{seconds} without input"


def _has_answers(value: object) -> bool:
    return isinstance(value, dict) and "answers" in value


def _journalled(table: object) -> dict[str, str]:
    """Return what the journal keeps of a person's answers, or notes, by question."""
    if not isinstance(table, dict):
        return {}
    texts = [(key, value) for key, value in table.items() if isinstance(key, str) and isinstance(value, str)]
    return {
        documents.shown_text(key): documents.shown_text(value) for key, value in texts[: documents.JOURNALLED_QUESTIONS]
    }
