"""What an agent is told of a session: one function for each thing that happens, which puts a message into the outbox.

Each takes plain values, and may be called by a hook (with its Context) or by the process that delivers a queue. An
agent is told of what its ``wake_on`` names, by the first kind that fits: a queue that is done is ``queue_done``, and
the end of its last turn is not told beside it. It is told once for each turn: while an item of the queue follows at
once, or a subagent still works whose end leads to another end of the turn, nothing is said. What another event has
overtaken when it goes out is dropped unsent. All raise StoreError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.context import Context
from hookrouter.messaging.gateway import Message
from hookrouter.messaging.pauses import is_paused
from hookrouter.queue.messages.data import News, session_data
from hookrouter.queue.messages.formatting import message_text, subject
from hookrouter.sessions.limits import LIMIT
from hookrouter.sessions.records import BUSY
from hookrouter.sessions.records import KIND as RECORD
from hookrouter.storage.home import DocumentKind
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.config import Agent
    from hookrouter.context import Services
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.failures import AfterFailure
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = [
    "queue_emptied",
    "queue_held",
    "queue_waits",
    "session_ended",
    "session_idle",
    "session_started",
    "subagent_ended",
    "turn_ended",
    "turn_failed",
]

KIND = DocumentKind("last-wake", shared=True)
"""The kind of the document that says what an agent was last told of a session; its name is the session's."""

VERSION = 1

QUEUE_DONE = "queue_done"

_QUEUE = "queue"
"""The kind of the document that a message about a hold depends on: see :mod:`hookrouter.queue.documents`."""


def turn_ended(services: Services, record: SessionRecord, queue: Queue, ended: Sequence[Item] = ()) -> None:
    """A turn has ended in good order. ``record`` and ``queue`` are as they are then, ``ended`` what ended with it."""
    if record.state == BUSY or _follows_at_once(queue):
        return
    _tell_turn(services, [*_done(queue, ended), "turn_ended"], record, queue, News(ended=tuple(ended)))


def queue_emptied(services: Services, record: SessionRecord, queue: Queue, ended: Sequence[Item]) -> None:
    """The last item of a queue has ended without a turn, as a local command does."""
    if record.state != BUSY:
        _tell_turn(services, _done(queue, ended), record, queue, News(ended=tuple(ended)))


def turn_failed(
    services: Services, record: SessionRecord, queue: Queue, decision: AfterFailure, ended: Sequence[Item] = ()
) -> None:
    """A turn has ended in an error, and ``decision`` is what becomes of the queue."""
    is_limit = decision.failure.policy == LIMIT
    kinds = ["limited" if is_limit else "failed", *_done(queue, ended)]
    if queue.hold is not None:
        kinds.append("queue_held")
    until = queue.hold.until if queue.hold is not None else decision.until_iso if is_limit else ""
    news = News(
        reason=decision.reason,
        ended=tuple(ended),
        failure=decision.failure,
        until=until,
        repeats=decision.sends_again,
    )
    _tell(services, kinds, record, queue, news, _as_it_stands(record, queue))


def queue_held(
    services: Services,
    record: SessionRecord,
    queue: Queue,
    ended: Sequence[Item] = (),
    *,
    status: str = "",
    screen: Sequence[str] = (),
) -> None:
    """A queue is held now: a person took over, an item was not proven, its client has ended.

    ``status`` is what the client's registry says of the session, ``screen`` what its pane shows, if that was looked at.
    """
    hold = queue.hold
    if hold is None:
        return
    news = News(reason=hold.reason, ended=tuple(ended), until=hold.until, status=status, screen=tuple(screen))
    _tell(services, ["queue_held"], record, queue, news, _while_held(queue))


def queue_waits(
    services: Services,
    record: SessionRecord,
    queue: Queue,
    reason: str,
    *,
    status: str = "",
    screen: Sequence[str] = (),
) -> None:
    """The next item is kept back, by something that may last: a person's draft, a dialog of the client's own.

    Who hears of queues that are held hears of it. Nothing is to be resumed: the queue goes on once that is over.
    """
    news = News(reason=reason, status=status, screen=tuple(screen))
    _tell_turn(services, ["queue_held"], record, queue, news)


def session_started(
    services: Services,
    record: SessionRecord,
    queue: Queue,
    source: str,
    ended: Sequence[Item] = (),
    *,
    is_held_now: bool = False,
) -> None:
    """A session has started; ``source`` is how, as Claude Code says; ``is_held_now``: its queue is held by that."""
    if _follows_at_once(queue):
        return
    if is_held_now:
        queue_held(services, record, queue, ended)
        return
    news = News(reason=f"Claude Code says how: {source}", ended=tuple(ended))
    _tell_turn(services, [*_done(queue, ended), "session_started"], record, queue, news)


def session_ended(
    services: Services,
    record: SessionRecord,
    queue: Queue,
    reason: str,
    ended: Sequence[Item] = (),
    *,
    is_held_now: bool = False,
) -> None:
    """A session has ended for good; ``reason`` is why, as Claude Code says; ``is_held_now``: it holds its queue."""
    kinds = ["session_ended", *_done(queue, ended)]
    if is_held_now:
        kinds.append("queue_held")
    if not _is_paused(services, record):
        news = News(reason=f"Claude Code says why: {reason}", ended=tuple(ended))
        _tell(services, kinds, record, queue, news, None)


def session_idle(services: Services, record: SessionRecord, queue: Queue) -> None:
    """Claude Code has said that it waits for a prompt.

    If the end of this turn was told, that was the news. If it was not, because a subagent was at work then, the turn is
    over now.
    """
    if not _follows_at_once(queue):
        kinds = ["turn_ended", "idle"] if record.state == BUSY else ["idle"]
        _tell_turn(services, kinds, record, queue, News())


def subagent_ended(services: Services, record: SessionRecord, queue: Queue, agent_type: str, message: str) -> None:
    """A subagent has ended; an internal fork of the client's, which has no type, is none."""
    if agent_type and not _is_paused(services, record):
        news = News(reason=f"the subagent is of the type {agent_type}", message=message)
        _tell(services, ["subagent_ended"], record, queue, news, None)


def _done(queue: Queue, ended: Sequence[Item]) -> list[str]:
    """Return the kind that tells of a queue's end, if this is one."""
    return [QUEUE_DONE] if ended and not queue.items else []


def _tell_turn(services: Services, kinds: Sequence[str], record: SessionRecord, queue: Queue, news: News) -> None:
    """Tell what is news only as long as the session stands as it does; nothing while the session is paused."""
    if not _is_paused(services, record):
        _tell(services, kinds, record, queue, news, _while_unchanged(record))


def _tell(
    services: Services,
    kinds: Sequence[str],
    record: SessionRecord,
    queue: Queue,
    news: News,
    while_open: Mapping[str, object] | None,
) -> None:
    """Put a message in for the session's agent, by the first of ``kinds`` that it hears of, and have it delivered."""
    agent = _agent(services, record)
    if agent is None:
        return
    kind = next((one for one in kinds if one in agent.wake_on), None)
    if kind is None:
        return
    moment = _moment(record, queue, while_open)
    # What ends a queue without a turn, such as /compact, leaves the session as it was when the one before was done.
    done = [item.id for item in news.ended] if kind == QUEUE_DONE else []
    if _is_told(services, record.session, kind, moment, done):
        return
    data = session_data(kind, agent.id, record, queue, news, script_argv(), services.environ, to_person=agent.is_person)
    message = Message(
        kind=kind,
        agent=agent.id,
        gateway=agent.gateway,
        session=record.session,
        session_id=record.session_id,
        tool_use_id="",
        subject=subject(data),
        text=message_text(data),
        data=data,
    )
    services.outbox.put(message, fallbacks=agent.fallbacks, while_open=while_open)
    if moment:
        document = {"version": VERSION, "session_id": record.session_id, "since": moment, "kind": kind, "done": done}
        services.store.write(KIND, record.session, document, durable=False)
    services.start_delivery()


def _agent(services: Services, record: SessionRecord) -> Agent | None:
    if isinstance(services, Context):
        return services.agent
    return services.config.agent_for(record.session, record.cwd)


def _is_paused(services: Services, record: SessionRecord) -> bool:
    return is_paused(services.store, record.session) is not None


def _follows_at_once(queue: Queue) -> bool:
    """Whether the next item is about to be delivered."""
    return bool(queue.items) and queue.hold is None


def _while_unchanged(record: SessionRecord) -> dict[str, object]:
    """Return what keeps a message wanted: no later event of the session has come."""
    return {"kind": RECORD, "names": [record.session], "fields": {"since": record.since, "event": record.event}}


def _while_held(queue: Queue) -> dict[str, object]:
    """Return what keeps a message wanted: this hold."""
    hold = None if queue.hold is None else queue.hold._asdict()
    return {"kind": _QUEUE, "names": [queue.session], "fields": {"hold": hold}}


def _as_it_stands(record: SessionRecord, queue: Queue) -> dict[str, object]:
    return _while_unchanged(record) if queue.hold is None else _while_held(queue)


def _moment(record: SessionRecord, queue: Queue, while_open: Mapping[str, object] | None) -> str:
    """Return what tells this news from others of the session; empty if each message is one of its own."""
    if while_open is None:
        return ""
    return queue.hold.at if while_open["kind"] == _QUEUE and queue.hold is not None else record.since


def _is_told(services: Services, session: str, kind: str, moment: str, done: Sequence[str]) -> bool:
    """Whether the agent was told of this already: hooks may run twice for one event.

    Of a turn whatever was told of its end counts: the news that Claude is idle comes after it.
    """
    told = services.store.read(KIND, session) if moment else None
    if told is None or told.get("since") != moment:
        return False
    return kind == "idle" or (told.get("kind"), told.get("done", [])) == (kind, done)
