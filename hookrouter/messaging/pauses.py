"""Which sessions are paused: their questions wake nobody, nothing is delivered to their agents, and no answer is given.

All pauses are one document, ``paused-sessions.json`` in ``state/``, which is there only while something is paused: to
see that nothing is, costs one look for a file. Its keys are ``version`` (1), ``all`` (null, or what pauses every
session) and ``sessions`` (by session name); each pause has ``since`` (ISO 8601, UTC) and ``reason``.

Whoever acts for a session asks :func:`is_paused` before each act: hooks, the deliverer, answer channels.
"""

from __future__ import annotations

from typing import NamedTuple

from hookrouter.storage.home import DocumentKind
from hookrouter.util.clock import iso, local

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from hookrouter.storage.interface import DocumentStore

__all__ = ["Pause", "begin", "end", "is_paused", "pauses"]

KIND = DocumentKind("paused", shared=True)
NAME = "sessions"
VERSION = 1

MAX_REASON = 500
"""Characters of a reason that are kept."""

_LOCK_SECONDS = 5.0


class Pause(NamedTuple):
    """One pause."""

    session: str | None
    """The session's name; None for a pause of all sessions."""
    since: str
    """ISO 8601, UTC."""
    reason: str
    """Why, as whoever paused it said; may be empty."""

    def described(self) -> str:
        """Return in words what is paused, since when (local time) and why."""
        what = "every session is paused" if self.session is None else f"session {self.session} is paused"
        return f"{what} since {local(self.since)}{f' ({self.reason})' if self.reason else ''}"


def is_paused(store: DocumentStore, session: str) -> Pause | None:
    """Return the pause that holds for a session, one of all sessions first; None if it is not paused.

    ``store`` is the one of ``state/``. Raises StoreError if the document is there and cannot be read.
    """
    document = store.read(KIND, NAME)
    if document is None:
        return None
    found = [pause for pause in _pauses(document) if pause.session in (None, session)]
    return found[0] if found else None


def pauses(store: DocumentStore) -> list[Pause]:
    """Return all pauses: the one of all sessions first, then by session name. Raises StoreError."""
    document = store.read(KIND, NAME)
    return [] if document is None else _pauses(document)


def begin(store: DocumentStore, session: str | None, reason: str = "") -> Pause:
    """Pause one session, or with None all of them, durably; return the pause. Raises StoreError.

    One that is paused already keeps its time, and its reason unless a new one is given.
    """
    with store.lock(KIND, NAME, _LOCK_SECONDS):
        known = {pause.session: pause for pause in pauses(store)}
        former = known.get(session)
        pause = Pause(session, iso(), reason[:MAX_REASON])
        if former is not None:
            pause = former._replace(reason=pause.reason or former.reason)
        known[session] = pause
        _save(store, known)
    return pause


def end(store: DocumentStore, session: str | None) -> list[Pause]:
    """End the pause of one session, or with None every pause there is; return those that were ended. Raises StoreError.

    A session stays paused as long as all of them are.
    """
    with store.lock(KIND, NAME, _LOCK_SECONDS):
        known = {pause.session: pause for pause in pauses(store)}
        ended = [pause for pause in known.values() if session in (None, pause.session)]
        _save(store, {name: pause for name, pause in known.items() if pause not in ended})
    return ended


def _save(store: DocumentStore, known: dict[str | None, Pause]) -> None:
    if not known:
        store.delete(KIND, NAME)
        return
    tables = {name: {"since": pause.since, "reason": pause.reason} for name, pause in known.items()}
    every = tables.pop(None, None)
    store.write(KIND, NAME, {"version": VERSION, "all": every, "sessions": tables})


def _pauses(document: dict[str, Any]) -> list[Pause]:
    """Read the document; an entry that an edit by hand has broken still pauses."""
    found = []
    if document.get("all"):
        found.append(_pause(None, document["all"]))
    sessions = document.get("sessions")
    if isinstance(sessions, dict):
        found += [_pause(name, sessions[name]) for name in sorted(sessions)]
    return found


def _pause(session: str | None, table: object) -> Pause:
    values = table if isinstance(table, dict) else {}
    since, reason = values.get("since"), values.get("reason")
    return Pause(session, since if isinstance(since, str) else "", reason if isinstance(reason, str) else "")
