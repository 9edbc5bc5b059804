"""What hooks have told of each session: one document ``session-<name>``, rewritten as its turns begin and end.

It is as right as hooks are: after Esc no hook comes, and then the client's own registry
(:mod:`hookrouter.sessions.running_clients`) knows better. Whoever wants to know what a session does asks
:mod:`hookrouter.sessions.states`, which weighs both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.storage.home import DocumentKind
from hookrouter.terminals import TerminalAddress
from hookrouter.util import fields
from hookrouter.util.claude_process import is_gone, is_suspended, process_space
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.storage.interface import DocumentStore, DocumentWatch

__all__ = [
    "BUSY",
    "GONE",
    "IDLE",
    "LIMITED",
    "STOPPED",
    "WAITING",
    "SessionRecord",
    "change_record",
    "is_client_gone",
    "is_client_suspended",
    "list_records",
    "prune_records",
    "read_record",
    "remove_record",
    "watch_records",
]

KIND = DocumentKind("session", shared=True)
VERSION = 1

IDLE, BUSY, WAITING, LIMITED, STOPPED, GONE = "idle", "busy", "waiting", "limited", "stopped", "gone"
"""What a session does: it awaits a prompt, works, has a dialog open, waits for the end of a usage limit, has stopped
with an error, or its client has ended."""

LONGEST_MESSAGE = 20_000
"""Characters of Claude's last message that are kept, from its end."""

KEPT_SECONDS = 14 * 24 * 3600.0
"""How long a session is kept whose client has ended."""

_LOCK_SECONDS = 5.0

_LISTS = ("background", "former_names")
"""The fields of a document that are lists of texts."""


class SessionRecord(NamedTuple):
    """One session, as its hooks have told. Times are ISO 8601 in UTC."""

    session: str
    """The session's name."""
    session_id: str
    """Claude Code's id of it; follows ``/clear``."""
    state: str
    """``idle``, ``busy``, ``limited``, ``stopped`` or ``gone``. Hooks do not tell here that it waits."""
    since: str
    """Since when it is in this state."""
    client_pid: int = 0
    """The client's process id; 0 if it is not known."""
    client_host: str = ""
    """The machine or container that this id is one of, see :func:`hookrouter.util.claude_process.process_space`."""
    terminal: TerminalAddress | None = None
    """Where it is drawn; None outside every known terminal."""
    cwd: str = ""
    """Its working folder."""
    transcript_path: str = ""
    """Where the client writes its transcript."""
    permission_mode: str = ""
    """The permission mode of the last event that said one."""
    model: str = ""
    """The model, as the client calls it; empty if nothing has said it."""
    prompt_id: str = ""
    """Claude Code's id of the prompt whose turn runs, or ran last (2.1.196 and newer)."""
    event: str = ""
    """The last event that changed this."""
    last_message: str = ""
    """Claude's last message, or its end if it is long."""
    error: str = ""
    """What kind of error the last turn ended in, as StopFailure says it; empty for none."""
    limited_until: str = ""
    """When a usage limit ends; empty if there is none, or that is not known."""
    background: tuple[str, ...] = ()
    """What went on in the background when the last turn ended, one line each."""
    former_names: tuple[str, ...] = ()
    """What the session was called before, while this client ran, the last one last."""


def read_record(store: DocumentStore, session: str) -> SessionRecord | None:
    """Return what is known of a session by its name; None if nothing is. Raises StoreError."""
    return _record(session, store.read(KIND, session))


def list_records(store: DocumentStore) -> list[SessionRecord]:
    """Return what is known of all sessions, by name. Raises StoreError."""
    # A name that is too long for the store's engine stands in the document alone.
    found = (_record(fields.text(document, "session") or name, document) for name, document in store.entries(KIND))
    return [record for record in found if record is not None]


def change_record(
    store: DocumentStore, session: str, change: Callable[[SessionRecord | None], SessionRecord | None]
) -> SessionRecord | None:
    """Change a session's document in one step; return what it is then. Raises StoreError.

    ``change`` gets what is there, None for nothing, and returns what is to be there; None, or the same, for no change.
    """
    with store.lock(KIND, session, _LOCK_SECONDS):
        before = read_record(store, session)
        after = change(before)
        if after is None or after == before:
            return before
        terminal = None if after.terminal is None else after.terminal._asdict()
        lists = {name: list(getattr(after, name)) for name in _LISTS}
        document = {**after._asdict(), "terminal": terminal, **lists, "version": VERSION}
        store.write(KIND, session, document, durable=False)
        return after


def remove_record(store: DocumentStore, session: str) -> None:
    """Forget a session. Raises StoreError."""
    store.delete(KIND, session)


def prune_records(store: DocumentStore) -> None:
    """Forget the sessions whose client ended more than :data:`KEPT_SECONDS` ago. Raises StoreError."""
    earliest = iso(now() - KEPT_SECONDS)
    for record in list_records(store):
        if record.since < earliest and (record.state == GONE or is_client_gone(record)):
            store.delete(KIND, record.session)


def is_client_gone(record: SessionRecord) -> bool:
    """Whether the session's client has certainly ended; False if that cannot be known from here."""
    return record.client_host == process_space() and is_gone(record.client_pid)


def is_client_suspended(record: SessionRecord) -> bool:
    """Whether the session's client was stopped, as by Ctrl-Z; False if that cannot be known from here."""
    return record.client_host == process_space() and is_suspended(record.client_pid)


def client_here(record: SessionRecord) -> int:
    """Return the process id of the session's client; 0 if it is not known, or does not count here."""
    return record.client_pid if record.client_host == process_space() else 0


def watch_records(store: DocumentStore) -> DocumentWatch:
    """Return a watch on all sessions' documents."""
    return store.watch(KIND)


def _record(session: str, document: Mapping[str, object] | None) -> SessionRecord | None:
    if document is None:
        return None
    table = fields.table(document, "terminal") or {}
    address = fields.record(TerminalAddress, table)
    terminal = address if address.backend and address.target else None
    found = fields.record(SessionRecord, document, session=session, terminal=terminal)
    return found if found.state else None
