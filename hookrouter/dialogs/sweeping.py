"""Finds out that dialogs are over of which no hook says so, and closes them.

One that is declined, cancelled or left has no PostToolUse, so the next dialog and the session's later events
(:mod:`hookrouter.dialogs.lifecycle`) look for what is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents, transcript
from hookrouter.dialogs.closing import Ending, close, remove_left_behind
from hookrouter.util.claude_process import client_pid, is_another_alive, is_gone, process_space

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.terminals import TerminalAddress

__all__ = [
    "close_older",
    "is_anothers",
    "is_replaced",
    "open_dialogs",
    "settled",
    "tool_failed",
]


def tool_failed(event: events.PostToolUseFailure, context: Context) -> None:
    """PostToolUseFailure: the dialog of this call is over, with an error."""
    open_questions = [one for one in open_dialogs(context) if one.tool_use_id == event.tool_use_id]
    close(context, [Ending(question, "the tool call failed in Claude Code") for question in open_questions])


def _close_those_over(question: Dialog, context: Context) -> None:
    """PreToolUse: close what was asked before this question and has ended.

    Claude may ask several questions at once, whose dialogs come one after the other: one that is not known to be over
    stays.
    """
    endings = []
    # Those of clients that were killed are looked for when a deliverer starts: they may be many.
    for older in settled(context, lambda store: documents.near(store, question.session_id, question.session)):
        if older.kind != question.kind:
            continue
        if older.tool_use_id == question.tool_use_id and older.session_id == question.session_id:
            continue
        if is_anothers(older, question.client_pid):
            continue
        if older.session_id == question.session_id:
            ending = _older_ending(older, question)
        elif older.session == question.session and is_replaced(older, question.client_pid, question.terminal):
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


def open_dialogs(context: Context) -> list[Dialog]:
    """Return the open dialogs of the session that this event is about, and of its client.

    Other sessions' are none of its business, nor those of another client that has the same session and runs.
    """
    pid = client_pid(context.environ)
    found = settled(context, lambda store: documents.near(store, context.session_id))
    return [question for question in found if not is_anothers(question, pid)]


def settled(context: Context, look_up: Callable[[DocumentStore], list[Dialog]]) -> list[Dialog]:
    """Return open dialogs; those of a time with a broken config.toml are brought to their agents first."""
    if context.config.problems or not documents.has_provisional(context.store):
        return look_up(context.store)
    from hookrouter.dialogs.rerouting import reroute

    moved: list[Dialog] = []
    try:
        moved = reroute(context, documents.list_questions(context.store))
    except Exception as error:  # noqa: BLE001 - what this event is about matters more
        context.warn(f"a question could not be delivered to its agent: {type(error).__name__}: {error}")
    if moved:
        context.note("rerouted", [question.tool_use_id for question in moved])
        context.start_delivery()
    return look_up(context.store)


def is_anothers(question: Dialog, pid: int) -> bool:
    """Whether a client other than the one with this process id asked, and still runs."""
    return is_another_alive(question.client_pid, question.client_host, pid, question.saved_at)


def is_replaced(older: Dialog, pid: int, terminal: TerminalAddress | None) -> bool:
    """Whether the client with this process id, in this pane, has taken the place of the one that asked ``older``.

    Two clients may run in panes of one session, and then neither has.
    """
    if older.client_pid > 0:
        # Process ids of another container say nothing here, nor does its terminal.
        known = older.client_host == process_space()
        return known and (older.client_pid == pid or is_gone(older.client_pid))
    return older.terminal is not None and older.terminal == terminal
