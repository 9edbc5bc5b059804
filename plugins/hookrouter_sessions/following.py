"""Which session an event is about, and what is known of it; follows one that changes its name.

An event changes nothing if it is not one of the session itself: a subagent's, one of a client that draws nothing
(``claude -p``, an SDK), also if that goes on with the session of an open client, or one of a second client beside the
one that the session is known by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.queue.documents import Queue, change_queue, list_queues, read_queue, remove_queue
from hookrouter.queue.items import QUEUED
from hookrouter.sessions.records import (
    GONE,
    SessionRecord,
    change_record,
    is_client_gone,
    list_records,
    read_record,
    remove_record,
)
from hookrouter.util.claude_process import client_pid, process_space
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Context
    from hookrouter.events.event import Event
    from hookrouter.queue.items import Item

__all__ = ["CLEARED", "Followed", "changed_queue", "follow", "has_screen", "noted"]

_WITHOUT_SCREEN = ("sdk-cli", "sdk-py", "sdk-ts")
"""``CLAUDE_CODE_ENTRYPOINT`` of ``claude -p`` and of the SDKs."""

_FORMER_NAMES = 10
"""How many former names of a session are kept."""

CLEARED = "SessionEnd"
"""The last event of a record whose session has ended in a client that goes on with another one."""


class Followed(NamedTuple):
    """The session that an event is about."""

    session: str
    """Its name."""
    record: SessionRecord | None
    """What was known of it before this event."""
    pid: int
    """The process id of the client; 0 if the environment does not say (2.1.150 and older)."""


def follow(event: Event, context: Context, *, begins: bool = False, ends: bool = False) -> Followed | None:
    """Return the session of an event; None if the event is none of its own, or no agent manages the session.

    ``begins``: the event is SessionStart, with which a session may take another one's place. ``ends``: it is
    SessionEnd, which leaves a session its name: of a client that ends with its terminal nobody can say in which it was
    drawn. Raises StoreError.
    """
    if event.agent_id:
        return None
    if not has_screen(context):
        entrypoint = context.environ.get("CLAUDE_CODE_ENTRYPOINT")
        context.debug(f"CLAUDE_CODE_ENTRYPOINT {entrypoint}: a client without a screen has no queue")
        return None
    if context.agent is None:
        return None
    pid = client_pid(context.environ)
    record = read_record(context.store, context.session)
    if record is None or not _is_of(record, event.session_id, pid):
        if _has_first_client(context, event.session_id, pid):
            context.debug("the session is that of another client, which runs: this one has it beside that one")
            return None
        former = _former(context, event.session_id, pid, context.session)
        if former is not None and (record is None or _is_over(record)):
            if ends:
                return Followed(former.session, former, pid or former.client_pid)
            record = _moved(context, former, context.session)
    if record is not None and _is_another(record, event.session_id, pid, begins=begins):
        if not _was_renamed(context, record):
            context.debug(f"session {context.session} is that of the client {record.client_pid or record.session_id}")
            return None
        record = None
    return Followed(context.session, record, pid or (record.client_pid if record is not None else 0))


def has_screen(context: Context) -> bool:
    """Whether the client of an event draws something: ``claude -p`` and the SDKs do not."""
    return context.environ.get("CLAUDE_CODE_ENTRYPOINT", "") not in _WITHOUT_SCREEN


def noted(
    event: Event, context: Context, followed: Followed, change: Callable[[SessionRecord], SessionRecord]
) -> SessionRecord:
    """Note in the session's record what an event tells, and ``change``; return the record. Raises StoreError."""
    fresh = SessionRecord(session=followed.session, session_id=event.session_id, state="", since="")

    def changed(there: SessionRecord | None) -> SessionRecord:
        record = (there or fresh)._replace(
            session_id=event.session_id,
            client_pid=followed.pid,
            client_host=process_space(),
            terminal=context.terminal,
            cwd=context.cwd,
            transcript_path=event.transcript_path,
            event=event.hook_event_name,
            since=iso(),
        )
        if event.permission_mode:
            record = record._replace(permission_mode=event.permission_mode)
        if event.prompt_id:
            record = record._replace(prompt_id=event.prompt_id)
        return change(record)

    record = change_record(context.store, followed.session, changed)
    if record is None:
        raise LookupError("a record that was written is not there")
    return record


def changed_queue(
    context: Context, session: str, change: Callable[[Queue], Queue]
) -> tuple[Queue, Queue, tuple[Item, ...]]:
    """Change a queue that holds something; return it before, after, and the items that have ended with the change.

    One that is empty, and not held, is not touched. Raises StoreError.
    """
    before = read_queue(context.store, session)
    if not before.items and before.hold is None:
        return before, before, ()
    seen: list[tuple[Queue, Queue]] = []

    def apply(queue: Queue) -> Queue:
        seen.append((queue, change(queue)))
        return seen[-1][1]

    after = change_queue(context.store, session, apply)
    before, changed = seen[-1]
    kept = {item.id for item in after.items}
    return before, after, tuple(item for item in changed.items if item.id not in kept)


def _is_of(record: SessionRecord, session_id: str, pid: int) -> bool:
    """Whether a record is that of a session, or of its client."""
    if record.session_id == session_id:
        return True
    return pid > 0 and record.client_pid == pid and record.client_host == process_space()


def _is_over(record: SessionRecord) -> bool:
    return record.state == GONE or is_client_gone(record)


def _is_another(record: SessionRecord, session_id: str, pid: int, *, begins: bool) -> bool:
    """Whether an event comes from another client than the one that a record is of, and that still runs."""
    if _is_over(record) or _is_of(record, session_id, pid):
        return pid > 0 and _runs_beside(record, pid)
    if pid > 0 and record.client_pid > 0:
        return True
    # Without process ids only the beginning of a session tells that it takes another one's place.
    return not begins


def _runs_beside(record: SessionRecord, pid: int) -> bool:
    known = record.client_pid > 0 and record.client_host == process_space()
    return known and record.client_pid != pid and not _is_over(record)


def _has_first_client(context: Context, session_id: str, pid: int) -> bool:
    """Whether a session is known by another name, of a client that runs, and the event comes from a second one.

    So it is once the client's view of agents was opened: the session goes on in a process in the background (2.1.330).
    """
    if pid <= 0:
        return False
    return any(one.session_id == session_id and _runs_beside(one, pid) for one in list_records(context.store))


def _former(context: Context, session_id: str, pid: int, session: str) -> SessionRecord | None:
    """Return the record of the same client under another name: after ``/clear`` outside terminals, or a rename."""
    for record in list_records(context.store):
        if record.session != session and not _is_over(record) and _is_of(record, session_id, pid):
            return record
    if pid > 0:
        return None
    # Without process ids: the session that has just ended in this folder so that another one could begin.
    left = [one for one in list_records(context.store) if one.event == CLEARED and one.cwd == context.cwd]
    left = [one for one in left if one.session != session and one.state != GONE and one.client_pid == 0]
    return left[0] if len(left) == 1 else None


def _was_renamed(context: Context, record: SessionRecord) -> bool:
    """Whether another client has this event's session because the one of the record is in a session renamed since.

    Its record and queue have the new name then, of which no event of its own has told yet.
    """
    # Rare, and nothing that each event should load.
    from hookrouter.queue.names import called_now

    name = called_now(context, record)
    if name in ("", record.session):
        return False
    there = read_record(context.store, name)
    if there is not None and not _is_over(there):
        return False
    _moved(context, record, name)
    return True


def _moved(context: Context, former: SessionRecord, session: str) -> SessionRecord:
    """Give record and queue their new name; return the record. Killed at any moment, it loses and doubles nothing."""
    store = context.store
    # Without its record nobody delivers the queue under the old name.
    remove_record(store, former.session)
    _move_queue(context, former.session, session)
    names = (*(name for name in former.former_names if name not in (session, former.session)), former.session)
    moved = former._replace(session=session, former_names=names[-_FORMER_NAMES:])
    return change_record(store, session, lambda _there: moved) or moved


def _move_queue(context: Context, name: str, session: str) -> None:
    store = context.store
    left = read_queue(store, name)
    if left.items or left.hold is not None:

        def joined(queue: Queue) -> Queue:
            known = {item.id for item in queue.items}
            added = tuple(item for item in left.items if item.id not in known)
            # What is under way stands first.
            items = (*added, *queue.items) if any(item.state != QUEUED for item in added) else (*queue.items, *added)
            hold = queue.hold or left.hold
            return queue._replace(
                items=items, hold=hold, session_id=left.session_id, client_pid=queue.client_pid or left.client_pid
            )

        change_queue(store, session, joined)
        remove_queue(store, name)


def take_up_left_queue(context: Context, pid: int) -> None:
    """Move here the queue of this client that has no record any more: its move was cut off."""
    if pid <= 0:
        return
    for queue in list_queues(context.store):
        if queue.session != context.session and queue.client_pid == pid:
            record = read_record(context.store, queue.session)
            if record is None:
                _move_queue(context, queue.session, context.session)
