"""What changes nothing about a session's queue, and that an agent may hear of: that Claude waits, a subagent's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue.documents import read_queue
from hookrouter.sessions.records import read_record
from hookrouter_sessions import telling
from hookrouter_sessions.following import follow

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context

__all__ = ["became_idle", "subagent_ended"]


def became_idle(event: events.Notification, context: Context) -> None:
    """Notification ``idle_prompt``: a minute after the end of a turn nobody has submitted anything."""
    followed = follow(event, context)
    if followed is not None and followed.record is not None:
        telling.idle(context, followed.record, read_queue(context.store, followed.session))


def subagent_ended(event: events.SubagentStop, context: Context) -> None:
    """SubagentStop: the event is the subagent's, and what is known of the session stays as it is."""
    record = None if context.agent is None else read_record(context.store, context.session)
    if record is not None:
        queue = read_queue(context.store, context.session)
        telling.subagent_ended(context, record, queue, event.agent_type, event.last_assistant_message or "")
