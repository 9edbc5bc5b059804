"""The hooks of the doorbell: a session is given its bell, and Claude is woken when it rings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue.delivery.sight import look_at, why_not
from hookrouter.queue.documents import read_queue
from hookrouter.queue.items import DELIVERING
from hookrouter.queue.proof import doorbell_text
from hookrouter.replies import FileChangedReply, SessionStartReply
from hookrouter.storage.interface import StoreError
from hookrouter_sessions.channels.bells import hand_out, prune_bells, take
from hookrouter_sessions.following import follow, has_screen

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.queue.items import Item

__all__ = ["DOORBELL", "began", "rung"]

DOORBELL = "doorbell"
"""The channel's name."""


def began(event: events.SessionStart, context: Context) -> SessionStartReply | None:
    """SessionStart: hand out the bell, if the session can have a queue and the channel is in use."""
    if event.agent_id or context.agent is None or not has_screen(context):
        return None
    if DOORBELL not in context.config.sessions.channels:
        return None
    try:
        path = hand_out(context.home, context.store, event.session_id, context.session)
        prune_bells(context.home, context.store)
    except (OSError, StoreError) as error:
        context.warn(f"the session has no bell, so the prompt channel {DOORBELL} cannot serve it: {error}")
        return None
    return SessionStartReply.prepare(watch_paths=[path])


def rung(event: events.FileChanged, context: Context) -> FileChangedReply | None:
    """FileChanged: take what is on offer, if the session is ready for it, and wake Claude with it."""
    followed = follow(event, context)
    if followed is None:
        # A second client with the same session watches the same bell.
        return None
    session = followed.session
    given: dict[str, Item] = {}

    def is_wanted(name: str) -> bool:
        # The deliverer has looked before it rang; since then a person may have begun a turn, which this would join.
        item = read_queue(context.store, session).item(name)
        if item is None or item.state != DELIVERING or item.channel != DOORBELL:
            return False
        if why := why_not(look_at(context, session)):
            context.debug(f"the item {name} is not taken: {why}")
            return False
        given[name] = item
        return True

    name = take(context.store, event.session_id, is_wanted)
    return FileChangedReply.wake(doorbell_text(given[name])) if name else None
