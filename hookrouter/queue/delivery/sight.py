"""What a deliverer sees of a session, when the next item of its queue may be delivered, and the queue as it changes it.

The rule stands here alone: the queue is not held, the session is not paused and no dialog of it is open, hooks say that
its turn is over, and so does the client's registry, where there is one. A channel looks at the screen besides. Nothing
here knows a channel or a transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs.documents import near
from hookrouter.messaging.pauses import is_paused
from hookrouter.queue import transitions
from hookrouter.queue.documents import change_queue, read_queue
from hookrouter.queue.telling import queue_emptied, queue_stopped, queue_waits, turn_failed
from hookrouter.sessions.records import (
    BUSY,
    GONE,
    IDLE,
    is_client_gone,
    is_client_suspended,
    read_record,
)
from hookrouter.sessions.running_clients import WAITING, process_environ, running_client
from hookrouter.terminals import terminal_backends
from hookrouter.util.clock import seconds
from hookrouter.util.system import boot_id
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.failures import FailedTurn
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord
    from hookrouter.sessions.running_clients import RunningClient
    from hookrouter.terminals import Screen, TerminalBackend

__all__ = [
    "AT_REST",
    "LAG_SECONDS",
    "SessionQueue",
    "Sight",
    "age",
    "backend_of",
    "client_mark",
    "is_held_for_good",
    "is_over_unsaid",
    "kept_untold",
    "look_at",
    "waits_for",
    "why_not",
    "why_not_by_hooks",
    "why_not_yet",
    "why_withdrawn",
]

LAG_SECONDS = 3.0
"""Seconds after a hook for which the registry is asked often: it follows within half a second (2.1.330)."""

AT_REST = ("idle", "shell")
"""What the registry says of a session that awaits a prompt: with ``shell`` something of it runs in the background."""


class Sight(NamedTuple):
    """What is known of a session at one moment."""

    queue: Queue
    """Its queue."""
    record: SessionRecord | None
    """What hooks have told; None if no hook has come yet."""
    client: RunningClient | None
    """What the client's registry says; None without one, and of a client that has ended."""
    paused: str
    """Which pause holds for the session, in words; empty for none."""
    dialogs: int
    """How many dialogs of the session are open."""

    @property
    def is_gone(self) -> bool:
        """Whether its client has certainly ended."""
        return self.record is not None and (self.record.state == GONE or is_client_gone(self.record))


def look_at(services: Services, session: str) -> Sight:
    """Return what is known of a session now. Raises StoreError."""
    store = services.store
    queue, record = read_queue(store, session), read_record(store, session)
    pause = is_paused(store, session)
    client, dialogs = None, 0
    if record is not None:
        environ = process_environ(record.client_pid) or services.environ
        client = running_client(environ, record.client_pid, record.session_id)
        dialogs = sum(not _is_over(question, record, client) for question in near(store, record.session_id, session))
    return Sight(queue, record, client, "" if pause is None else pause.described(), dialogs)


def _is_over(question: Dialog, record: SessionRecord, client: RunningClient | None) -> bool:
    """Whether a dialog cannot be on the screen any more, though no hook has told of its end, as after Escape.

    Its turn is over, and so says the registry, which tells of every dialog that is open.
    """
    is_at_rest = client is not None and client.status in AT_REST and client.session_id == record.session_id
    return is_at_rest and record.state == IDLE and question.saved_at < record.since


def why_not(sight: Sight) -> str:
    """Return why nothing may be delivered into a session now, in one sentence; empty if the next item may be."""
    return why_not_by_hooks(sight) or _why_not_by_registry(sight)


def why_not_yet(sight: Sight, at: float) -> str:
    """Return the same for a channel that sees by itself when the client is ready: a registry that lags is not asked.

    ``at`` is the time in seconds since 1970.
    """
    record = sight.record
    lags = record is not None and age(record, at) < LAG_SECONDS
    return why_not_by_hooks(sight) or ("" if lags else _why_not_by_registry(sight))


def why_not_by_hooks(sight: Sight) -> str:
    """Return what hookrouter itself knows that keeps everything from being delivered; empty for nothing."""
    record = sight.record
    if kept := why_withdrawn(sight):
        return kept
    if record is None:
        return "no hook of the session has come yet"
    if sight.is_gone:
        return "the session's client has ended"
    if is_client_suspended(record):
        return "Claude Code is suspended, such as after Ctrl-Z"
    if sight.dialogs:
        return "a dialog of the session is open"
    return "Claude works" if record.state == BUSY else ""


def _why_not_by_registry(sight: Sight) -> str:
    record, client = sight.record, sight.client
    if record is None or client is None:
        return ""
    if client.parked_job:
        return "the session continues in the background"
    if client.session_id and client.session_id != record.session_id:
        return "the client shows another session"
    if client.status == WAITING:
        return f"the session waits: {client.waiting_for or 'a dialog is open'}"
    if client.status and client.status not in AT_REST:
        return f"the client is {client.status}"
    return ""


def waits_for(services: Services, session: str, item: Item) -> str:
    """Return what an item of a session's queue waits for now, in one sentence; empty if its delivery is due.

    Raises StoreError.
    """
    sight = look_at(services, session)
    under_way, first = sight.queue.under_way, sight.queue.next
    if under_way is not None:
        return f"item {under_way.id} is under way"
    if first is not None and first.id != item.id:
        return f"item {first.id} is the next one"
    return why_not(sight) or item.reason


def kept_untold(sight: Sight) -> str:
    """Return what keeps items back and may do so for ever, and of which nobody is told otherwise; empty for nothing.

    So is a client that is suspended, and a dialog of the client's own of which the registry alone tells. A turn that
    runs ends, and who has paused or held the session, or opened a dialog that is known, has been heard of.
    """
    record, client = sight.record, sight.client
    if record is None or sight.is_gone or sight.dialogs or why_withdrawn(sight):
        return ""
    if is_client_suspended(record):
        return why_not_by_hooks(sight)
    if record.state == BUSY or client is None:
        return ""
    is_other = client.session_id not in ("", record.session_id)
    return _why_not_by_registry(sight) if is_other or client.status == WAITING else ""


def why_withdrawn(sight: Sight) -> str:
    """Return what somebody has done that keeps items back, whatever the client does, in one sentence; empty if nothing.

    Somebody has paused the session, or something holds its queue.
    """
    hold = sight.queue.hold
    return f"the queue is held: {hold.reason}" if hold is not None else sight.paused


def is_over_unsaid(sight: Sight) -> bool:
    """Whether the registry says that the turn is over of which hooks have told the beginning only.

    So it is after Escape. One look is not enough: the end's hook may be on its way.
    """
    record, client = sight.record, sight.client
    if record is None or client is None or record.state != BUSY or client.status != "idle":
        return False
    if client.session_id != record.session_id:
        return False
    # 2.1.150 does not say since when.
    return not client.changed_at or client.changed_at > record.since


def client_mark(record: SessionRecord) -> str:
    """Return which start of the machine, and which client on it, a delivery is begun for."""
    who = str(record.client_pid) if record.client_pid else record.session_id
    # Without it a delivery of before a restart counts as one of now; process ids differ then, most likely.
    return f"{boot_id() or 'unknown'} {who}"


def age(record: SessionRecord, at: float) -> float:
    """Return the seconds since a record's last change, at a time in seconds since 1970."""
    since = seconds(record.since)
    return 0.0 if since is None else max(0.0, at - since)


def is_held_for_good(queue: Queue) -> bool:
    """Whether a queue goes on only if somebody resumes it."""
    return queue.hold is not None and not queue.hold.until


def backend_of(services: Services, record: SessionRecord | None) -> TerminalBackend | None:
    """Return the backend of a session's terminal; None outside any known one."""
    address = None if record is None else record.terminal
    return None if address is None else terminal_backends(services.plugins).get(address.backend)


def _screen_of(services: Services, session: str, record: SessionRecord | None) -> Screen | None:
    """Return what a session shows, for a person; None if that cannot be looked at, which is a warning if it fails."""
    backend = backend_of(services, record)
    if backend is None or record is None or record.terminal is None:
        return None
    try:
        return backend.capture(record.terminal)
    except Exception as error:  # noqa: BLE001 - it is a plugin's, and what it would show is for a person only
        services.warn(f"the screen of session {session} could not be read: {describe_error(error)}")
        return None


class SessionQueue:
    """The queue of one session. Its methods raise StoreError."""

    def __init__(self, services: Services, session: str) -> None:
        """``session`` is the session's name."""
        self.services = services
        self.session = session
        self.store = services.store

    def look(self) -> Sight:
        """Return what is known of the session now."""
        return look_at(self.services, self.session)

    def item(self, name: str) -> Item | None:
        """Return the item of an id as it is now; None if it has ended."""
        return read_queue(self.store, self.session).item(name)

    def change(self, change: Callable[[Queue], Queue]) -> Queue:
        """Change the queue, and tell nobody; return it as it is then, ended items left out."""
        return change_queue(self.store, self.session, change)

    def put_back(self, item: Item, reason: str) -> None:
        """Make an item of which nothing was submitted the next one again."""
        self.change(lambda queue: transitions.not_now(queue, item.id, reason))

    def change_and_tell(self, change: Callable[[Queue], Queue], record: SessionRecord) -> None:
        """Change the queue by something of which no hook tells; tell if that has held it, or ended the last item."""
        before, after = self._changed(change)
        ended = _ended(before, after)
        if after.hold is not None and after.hold != before.hold:
            queue_stopped(self.services, after, record, items=ended)
        elif ended and not after.items:
            queue_emptied(self.services, after, record, ended)

    def fail_turn(self, record: SessionRecord, change: FailedTurn) -> None:
        """Change the queue by a turn that ended in an error of which no hook has told, and tell."""
        before, after = self._changed(change)
        turn_failed(self.services, after, record, change.decision, _ended(before, after))

    def tell_kept_back(self, sight: Sight, record: SessionRecord, reason: str) -> None:
        """Say that the next item is kept back, by something that is not the queue's; with what the session shows."""
        screen = _screen_of(self.services, self.session, record)
        queue_waits(self.services, sight.queue, record, reason, status=_status(sight), screen=screen)

    def stop_at(self, sight: Sight, change: Callable[[Queue], Queue]) -> None:
        """Hold the queue because of an item, and tell; with what the session shows."""
        self.stop(sight, change, _screen_of(self.services, self.session, sight.record))

    def stop(self, sight: Sight, change: Callable[[Queue], Queue], screen: Screen | None = None) -> None:
        """Hold the queue by a change, and tell if that has changed anything."""
        before, after = self._changed(change)
        if after.hold is None or after == before:
            return
        items, status = _ended(before, after), _status(self.look())
        queue_stopped(self.services, after, sight.record, items=items, status=status, screen=screen)

    def write_journal(self, record: SessionRecord, item: Item, outcome: str, **more: object) -> None:
        """Write down what has come of an item."""
        entry: dict[str, object] = {"level": "info", "event": "queue", "session": self.session, "item": item.id}
        entry |= {"session_id": record.session_id, "outcome": outcome, **more}
        self.services.journal.write(entry, record.session_id or None)

    def _changed(self, change: Callable[[Queue], Queue]) -> tuple[Queue, Queue]:
        """Change the queue; return it as it was under the lock, and with the change, ended items left out."""
        seen: list[Queue] = []

        def apply(queue: Queue) -> Queue:
            seen.append(queue)
            return change(queue)

        after = self.change(apply)
        return seen[0], after


def _status(sight: Sight) -> str:
    """Return what the client's registry says of the session, in words."""
    return "" if sight.client is None else f"{sight.client.status} {sight.client.waiting_for}".strip()


def _ended(before: Queue, after: Queue) -> tuple[Item, ...]:
    return tuple(item for item in before.items if after.item(item.id) is None)
