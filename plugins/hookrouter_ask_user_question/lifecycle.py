"""The life of a question as hooks see it: asked, and recorded.

PreToolUse opens a question. PostToolUse compares the recorded answer and closes it. One that is declined, cancelled or
talked about instead has no PostToolUse: see :mod:`hookrouter.dialogs.lifecycle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents, transcript
from hookrouter.dialogs.closing import Ending, close, end_of_call, remove_left_behind
from hookrouter.dialogs.opening import Opening, open_dialog
from hookrouter.dialogs.unmanaged import say_unmanaged
from hookrouter.dialogs.verdicts import was_recorded
from hookrouter_ask_user_question.recorded import Recorded

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["answer_recorded", "question_asked"]


def question_asked(event: events.PreToolUse, tool_input: AskUserQuestionInput, context: Context) -> None:
    """Save the question, put the wake in the outbox, and have it delivered after this hook has ended.

    While the session is paused the question is saved as missed, and nobody is woken; so it is if no agent manages the
    session while config.toml has problems, because the corrected file may name one. The journal record of a run that
    finds the question saved by an earlier run for the same call has ``repeated``.

    Raises StoreError if the question or the wake cannot be saved; the router journals it, and the dialog appears.
    """
    agent, is_unclear = context.agent, bool(context.config.problems)
    if agent is None and not is_unclear:
        say_unmanaged(context)
        return
    if event.permission_mode == "dontAsk":
        context.debug("permission mode dontAsk: Claude Code shows no dialog and denies the call")
        return
    questions = tool_input.raw.get("questions")
    if not documents.is_form(questions) or not event.tool_use_id:
        context.note("level", "warning")
        context.note("reason", "this form cannot be shown to an agent: a question without text, options or tool_use_id")
        return
    open_dialog(
        context,
        Opening(
            tool_use_id=event.tool_use_id,
            questions=questions,
            transcript_path=event.transcript_path or "",
            permission_mode=event.permission_mode or "",
            agent_id=event.agent_id or "",
        ),
        waits=False,
    )
    context.note("outcome", "asked")


def answer_recorded(event: events.PostToolUse, context: Context) -> None:
    """Compare what was recorded with the pending answer of this tool call, save the verdict, and close the question.

    The question's documents are removed on every path, even if comparing or waking raises. The journal record gets the
    outcome: ``verified``, ``mismatch``, ``answered_by_person``, ``unanswered`` (the dialog ended by itself),
    ``unknown_question``, or ``repeated`` (an earlier run of this hook for the same call has done all this).
    """
    recorded = Recorded(event, context)
    if end_of_call(context, event.tool_use_id, recorded.end) is None:
        _unknown_question(event.tool_use_id, recorded, context)


def _unknown_question(tool_use_id: str, recorded: Recorded, context: Context) -> None:
    """Note the answer to a question that is not open, or of which the document is gone."""
    pending = documents.read_pending(context.store, context.session, tool_use_id)
    if pending is not None:
        try:
            ended = recorded.compared(None, pending)
        finally:
            documents.delete_pending(context.store, context.session, tool_use_id)
            remove_left_behind(context.session, context)
        for key, value in ended.record().items():
            context.note(key, value)
        if ended.outcome == "mismatch":
            context.warn("the question document is gone, so the agent of this session is not known and was not woken")
        return
    remove_left_behind(context.session, context)
    if context.agent is None:
        context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        return
    if was_recorded(context.store, context.session_id, tool_use_id):
        context.note("outcome", "repeated")
        context.debug("this hook has run before for the same call, and has noted how the question ended")
        return
    endings = []
    for other in documents.near(context.store, context.session_id):
        if not other.is_form:
            continue
        state = transcript.question_state(other.transcript_path, other.tool_use_id)
        # The PostToolUse of one that was answered may be on its way.
        if reason := transcript.reason_of(state):
            endings.append(Ending(other, reason, state))
    close(context, endings)
    context.note("outcome", "unknown_question")
    context.note("level", "warning")
    context.note("reason", f"no question document of this session has the tool_use_id {tool_use_id}")
