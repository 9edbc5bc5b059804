"""Finds out that dialogs are over of which no hook says so, and closes them: what every plugin with dialogs calls.

One that is declined, cancelled or left has no PostToolUse, so the session's later events look for what is over. Each
function is called by the hook of the same event, with the kinds of dialogs that its plugin serves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents, transcript
from hookrouter.dialogs.closing import CLIENT_GONE, Ending, close, remove_left_behind
from hookrouter.dialogs.verdicts import prune_verdicts
from hookrouter.util.claude_process import client_pid, is_another_alive, is_gone, process_space

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.terminals import TerminalAddress

__all__ = [
    "close_older",
    "open_dialogs",
    "prompt_submitted",
    "session_ended",
    "session_started",
    "tool_failed",
    "turn_ended",
]

_RESULT_SECONDS = 0.5
"""How long a result that is due may take to appear in the transcript (measured: within 0.1 s)."""

_QUESTIONS = (documents.QUESTION,)


def turn_ended(event: events.Stop, context: Context, kinds: Collection[str] = _QUESTIONS) -> None:
    """Stop: the main conversation cannot end its turn while it waits for an answer."""
    if event.agent_id:
        return
    endings = []
    for question in open_dialogs(context, kinds):
        state = transcript.wait_for_state(question.transcript_path, question.tool_use_id, _RESULT_SECONDS)
        # A subagent may go on asking after the main conversation's turn, and its calls have a transcript of their own.
        if state == transcript.OPEN or (question.agent_id and state == transcript.UNKNOWN):
            continue
        endings.append(Ending(question, transcript.reason_of(state) or "Claude's turn ended without an answer", state))
    close(context, endings)


def prompt_submitted(event: events.UserPromptSubmit, context: Context, kinds: Collection[str] = _QUESTIONS) -> None:
    """UserPromptSubmit: over, unless the prompt was typed before the dialog was drawn, and waits behind it."""
    if event.agent_id:
        return
    endings = []
    for question in open_dialogs(context, kinds):
        state = transcript.question_state(question.transcript_path, question.tool_use_id)
        # An answered question's PostToolUse may still be on its way.
        if state in (transcript.OPEN, transcript.ANSWERED):
            continue
        if state == transcript.UNKNOWN and (question.agent_id or documents.is_young(question)):
            continue
        endings.append(
            Ending(question, transcript.reason_of(state) or "a new prompt was given instead of an answer", state)
        )
    close(context, endings)


def session_started(event: events.SessionStart, context: Context, kinds: Collection[str] = _QUESTIONS) -> None:
    """SessionStart: whatever this session, or a client that is gone, had asked has ended."""
    if event.agent_id:
        return
    endings = []
    for question in _settled(context, kinds, documents.list_questions):
        if _is_anothers(question, client_pid(context.environ)):
            # A session may be resumed by a second client while the first one runs.
            continue
        if question.session_id == context.session_id:
            # Compaction starts a session again in the middle of a turn, while a subagent may be asking.
            if event.source == "compact" and question.agent_id:
                continue
            endings.append(Ending(question, f"the session was started again ({event.source}) without an answer"))
        elif question.session == context.session and _is_replaced(
            question, client_pid(context.environ), context.terminal
        ):
            endings.append(Ending(question, "another session was started in its place without an answer"))
        elif documents.is_client_gone(question):
            endings.append(Ending(question, CLIENT_GONE))
    close(context, endings)
    prune_verdicts(context.store)
    from hookrouter.messaging.advice import prune_brought

    prune_brought(context.store)


def session_ended(event: events.SessionEnd, context: Context, kinds: Collection[str] = _QUESTIONS) -> None:
    """SessionEnd: over in any case."""
    reason = f"the session ended ({event.reason}) without an answer"
    close(context, [Ending(question, reason) for question in open_dialogs(context, kinds)])


def tool_failed(event: events.PostToolUseFailure, context: Context, kinds: Collection[str] = _QUESTIONS) -> None:
    """PostToolUseFailure of AskUserQuestion: over, with an error."""
    open_questions = [
        question for question in open_dialogs(context, kinds) if question.tool_use_id == event.tool_use_id
    ]
    close(context, [Ending(question, "the tool call failed in Claude Code") for question in open_questions])


def _close_those_over(question: Dialog, context: Context) -> None:
    """PreToolUse: close what was asked before this question and has ended.

    Claude may ask several questions at once, whose dialogs come one after the other: one that is not known to be over
    stays.
    """
    endings = []
    # Those of clients that were killed are looked for when a deliverer starts: they may be many.
    for older in _settled(
        context, (question.kind,), lambda store: documents.near(store, question.session_id, question.session)
    ):
        if older.tool_use_id == question.tool_use_id and older.session_id == question.session_id:
            continue
        if _is_anothers(older, question.client_pid):
            continue
        if older.session_id == question.session_id:
            ending = _older_ending(older, question)
        elif older.session == question.session and _is_replaced(older, question.client_pid, question.terminal):
            ending = Ending(older, "another session asked in its place before this one was answered")
        else:
            ending = None
        if ending is not None:
            endings.append(ending)
    close(context, endings)


def _older_ending(older: Dialog, question: Dialog) -> Ending | None:
    """Return how a question ended that the same Claude session asked before; None if it may be open."""
    state = transcript.question_state(older.transcript_path, older.tool_use_id)
    if reason := transcript.reason_of(state):
        return Ending(older, reason, state)
    # A subagent's calls are in a transcript of its own, and it asks while the others work.
    if state == transcript.OPEN or older.agent_id != question.agent_id:
        return None
    # One that was asked together with this one may have been answered already, its PostToolUse on the way.
    if documents.is_young(older):
        return None
    return Ending(older, "the next question was asked before this one was answered", state)


def close_older(question: Dialog, context: Context) -> None:
    """Close what this session asked before and has ended, and remove answers that were left behind."""
    try:
        _close_those_over(question, context)
        remove_left_behind(question.session, context)
    except Exception as error:  # noqa: BLE001 - the new question matters more than the old one
        context.warn(f"a question before this one could not be closed: {type(error).__name__}: {error}")


def open_dialogs(context: Context, kinds: Collection[str]) -> list[Dialog]:
    """Return the open questions of the session that this event is about, and of its client.

    Other sessions' are none of its business, nor those of another client that has the same session and runs.
    """
    pid = client_pid(context.environ)
    found = _settled(context, kinds, lambda store: documents.near(store, context.session_id))
    return [question for question in found if not _is_anothers(question, pid)]


def _settled(
    context: Context, kinds: Collection[str], look_up: Callable[[DocumentStore], list[Dialog]]
) -> list[Dialog]:
    """Return open questions; those of a time with a broken config.toml are brought to their agents first."""
    if context.config.problems or not documents.has_provisional(context.store):
        return [one for one in look_up(context.store) if one.kind in kinds]
    from hookrouter.dialogs.rerouting import reroute

    moved: list[Dialog] = []
    try:
        moved = reroute(context, documents.list_questions(context.store))
    except Exception as error:  # noqa: BLE001 - what this event is about matters more
        context.warn(f"a question could not be delivered to its agent: {type(error).__name__}: {error}")
    if moved:
        context.note("rerouted", [question.tool_use_id for question in moved])
        context.start_delivery()
    return [one for one in look_up(context.store) if one.kind in kinds]


def _is_anothers(question: Dialog, pid: int) -> bool:
    """Whether a client other than the one with this process id asked, and still runs."""
    return is_another_alive(question.client_pid, question.client_host, pid, question.saved_at)


def _is_replaced(older: Dialog, pid: int, terminal: TerminalAddress | None) -> bool:
    """Whether the client with this process id, in this pane, has taken the place of the one that asked ``older``.

    Two clients may run in panes of one session, and then neither has.
    """
    if older.client_pid > 0:
        # Process ids of another container say nothing here, nor does its terminal.
        known = older.client_host == process_space()
        return known and (older.client_pid == pid or is_gone(older.client_pid))
    return older.terminal is not None and older.terminal == terminal
