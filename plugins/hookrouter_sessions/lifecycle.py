"""The life of a session as hooks see it, and what each event means for its queue.

Each function keeps the session's record, says what the event proves of an item that is under way, holds the queue if
somebody else acts, and has the queue delivered on once the hook's reply is given. What an agent is to hear is said at
one place for each event: :mod:`hookrouter_sessions.telling`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.messaging.pauses import is_paused
from hookrouter.queue import transitions
from hookrouter.queue.failures import continued
from hookrouter.queue.items import DELIVERING, QUEUED
from hookrouter.queue.proof import proof_by_records
from hookrouter.queue.spawn import start_queue
from hookrouter.replies import StopReply
from hookrouter.sessions.records import BUSY, GONE, IDLE, LONGEST_MESSAGE, SessionRecord, prune_records
from hookrouter_sessions import failing, telling
from hookrouter_sessions.channels.offers import REPLIED, note_reply, offered, replied, was_replied
from hookrouter_sessions.following import changed_queue, follow, noted, take_up_left_queue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.queue.documents import Queue
    from hookrouter_sessions.following import Followed

__all__ = [
    "compaction_began",
    "prompt_submitted",
    "session_began",
    "session_ended",
    "turn_ended",
    "turn_failed",
]

STOP = "stop"
"""The name of the channel by which a Stop hook replies with an item."""

_GOES_ON = ("clear", "resume")
"""Reasons of SessionEnd after which the same client goes on with another session."""


def session_began(event: events.SessionStart, context: Context) -> None:
    """SessionStart: a new client, or another session in the same one."""
    followed = follow(event, context, begins=True)
    if followed is None or event.source == "compact":
        # A compaction goes on with the same session, in the middle of a turn or not.
        return
    take_up_left_queue(context, followed.pid)
    is_same = _is_same_client(followed)
    record = noted(event, context, followed, lambda one: _begun(one, event, is_same=is_same))
    pid, session_id, left_until = followed.pid, event.session_id, _until(followed.record)

    def changed(queue: Queue) -> Queue:
        if not is_same:
            return transitions.client_began(queue, session_id, pid, left_until=left_until)
        if event.source == "clear":
            return transitions.session_cleared(queue, session_id, pid)
        if followed.record is not None and followed.record.session_id == session_id:
            return queue
        return transitions.session_resumed(queue, session_id, pid)

    before, after, ended = changed_queue(context, followed.session, changed)
    telling.session_began(context, record, event.source, before, after, ended)
    if not is_same:
        prune_records(context.store)
    _go_on(context, after)


def prompt_submitted(event: events.UserPromptSubmit, context: Context) -> None:
    """UserPromptSubmit: a turn begins, or a prompt joins the one that runs."""
    followed = follow(event, context)
    if followed is None:
        return
    prompt = event.prompt
    before, after, ended = changed_queue(
        context, followed.session, lambda queue: continued(queue, prompt) or transitions.prompt_submitted(queue, prompt)
    )
    record = noted(
        event, context, followed, lambda one: one._replace(state=BUSY, error="", limited_until="", background=())
    )
    telling.held(context, record, before, after, ended)
    _go_on(context, after)


def turn_ended(event: events.Stop, context: Context) -> StopReply | None:
    """Stop: the turn is over, unless subagents of it still run; their ends lead to another Stop.

    Returns the next item as the reply, if its channel has chosen that.
    """
    followed = follow(event, context)
    if followed is None:
        return None
    failure = failing.failure_at_stop(event, followed)
    if failure is not None:
        _go_on(context, failing.turn_failed(event, context, followed, failure))
        return None
    store, name, in_a_row = context.store, followed.session, bool(event.stop_hook_active)
    running = [task for task in event.background_tasks or () if task.status == "running"]
    is_over = not any(task.type == "subagent" for task in running)

    def changed(queue: Queue) -> Queue:
        item = queue.under_way
        if item is not None and item.state == DELIVERING and item.channel != STOP:
            # No prompt event tells of a shell command, and the hook that tells of a prompt may have been killed; this
            # end may be here before the deliverer has looked.
            queue = _proven_by_transcript(queue, event)
        if in_a_row:
            queue = was_replied(queue, STOP, event.transcript_path)
        queue = transitions.turn_ended(queue) if is_over else queue
        return replied(queue, offers, record, STOP) if offers and record is not None else queue

    record = followed.record
    offers = _offers(context, name, in_a_row=in_a_row, is_over=is_over)
    before, after, ended = changed_queue(context, name, changed)
    reply = _reply(after, before)
    if reply is not None:
        note_reply(store, name, in_a_row=in_a_row)
    background = tuple(f"{task.type}: {task.description or ''}".strip(": ") for task in running)
    message = (event.last_assistant_message or "")[-LONGEST_MESSAGE:]
    record = noted(
        event,
        context,
        followed,
        lambda one: one._replace(
            state=IDLE if is_over and reply is None else BUSY, error="", background=background, last_message=message
        ),
    )
    telling.turn_ended(context, record, before, after, ended)
    _go_on(context, after)
    return reply


def turn_failed(event: events.StopFailure, context: Context) -> None:
    """StopFailure: the turn ended in an error."""
    followed = follow(event, context)
    if followed is not None:
        _go_on(context, failing.turn_failed(event, context, followed, failing.told_failure(event)))


def compaction_began(event: events.PreCompact, context: Context) -> None:
    """PreCompact: somebody has asked for it, or the context is full."""
    if event.trigger != "manual":
        return
    followed = follow(event, context)
    if followed is None:
        return
    instructions = event.custom_instructions
    before, after, ended = changed_queue(
        context, followed.session, lambda queue: transitions.compaction_began(queue, instructions)
    )
    if followed.record is not None:
        telling.held(context, followed.record, before, after, ended)


def session_ended(event: events.SessionEnd, context: Context) -> None:
    """SessionEnd: the client ends, or goes on with another session."""
    followed = follow(event, context, ends=True)
    if followed is None:
        return
    if event.reason in _GOES_ON:
        # Nothing is delivered between the two sessions.
        noted(event, context, followed, lambda one: one._replace(state=BUSY))
        return
    reason = f"the session ended ({event.reason})"
    before, after, ended = changed_queue(
        context, followed.session, lambda queue: transitions.client_ended(queue, reason)
    )
    record = noted(event, context, followed, lambda one: one._replace(state=GONE, background=()))
    telling.session_ended(context, record, event.reason, before, after, ended)


def _begun(record: SessionRecord, event: events.SessionStart, *, is_same: bool) -> SessionRecord:
    """Return the record of a session that begins; what a former client, or conversation, had left there is over."""
    model = event.model or (record.model if is_same else "")
    return record._replace(
        state=IDLE, model=model, prompt_id="", last_message="", error="", limited_until="", background=()
    )


def _until(former: SessionRecord | None) -> str:
    """Return until when a former client had this session; for ever, if it has died without a word."""
    if former is None:
        return ""
    return former.since if former.state == GONE else "9999"


def _is_same_client(followed: Followed) -> bool:
    """Whether the client that begins a session is the one that had the former one of this name."""
    record = followed.record
    if record is None or record.state == GONE:
        return False
    if record.client_pid:
        return record.client_pid == followed.pid
    return record.event == "SessionEnd"


def _proven_by_transcript(queue: Queue, event: events.Stop) -> Queue:
    from hookrouter.util.regular_file import last_lines

    item = queue.under_way
    if item is None:
        return queue
    proof = proof_by_records(item, last_lines(event.transcript_path), item.delivering_at)
    return queue if proof is None else transitions.proven(queue, item.id, proof)


def _offers(context: Context, session: str, *, in_a_row: bool, is_over: bool) -> Sequence[str]:
    """Return the items that this turn's end may be replied with."""
    if not is_over or STOP not in context.config.sessions.channels:
        return ()
    offers = offered(context.store, session, in_a_row=in_a_row)
    return () if offers and is_paused(context.store, session) is not None else offers


def _reply(after: Queue, before: Queue) -> StopReply | None:
    item = after.under_way
    if item is None or item.channel != STOP or item.phase != REPLIED or item.state != DELIVERING:
        return None
    former = before.item(item.id)
    if former is not None and former.state != QUEUED:
        # Replied with by an earlier run of this hook.
        return None
    return StopReply.go_on(item.text)


def _go_on(context: Context, queue: Queue) -> None:
    """Have the queue delivered on once the reply is given."""
    if queue.items and (queue.hold is None or queue.hold.until):
        context.after_reply(lambda: start_queue(context, queue.session))
