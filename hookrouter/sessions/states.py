"""What a session does: weighs what hooks have told, what the client's registry says, and which dialogs are open.

Each is right only so far. Hooks tell when a turn begins and ends, and why it ended in an error, but none comes after
Esc; then the registry is right. The registry follows a hook by up to half a second (measured on 2.1.330), and knows
nothing of limits and errors. A dialog's document stays until a later event sweeps it. This module reads nothing:
whoever has the three asks :func:`weigh`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.sessions.records import BUSY, GONE, IDLE, LIMITED, STOPPED, WAITING
from hookrouter.util.clock import iso, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.sessions.records import SessionRecord
    from hookrouter.sessions.running_clients import RunningClient

__all__ = ["REGISTRY_LAG_SECONDS", "UNKNOWN", "OpenDialog", "SessionState", "weigh"]

UNKNOWN = "unknown"
"""A client runs, and nothing says what its session does: no hook came, and its registry has no states (2.1.30)."""

REGISTRY_LAG_SECONDS = 2.0
"""Seconds for which a hook, or a dialog's document, is believed against a registry that has not changed since."""

_SEEN = {"idle": IDLE, "shell": IDLE, "busy": BUSY, "waiting": WAITING}
"""What the registry's words mean. With ``shell`` the turn is over, and a shell runs in the background."""

_ENDED_TURNS = (IDLE, LIMITED, STOPPED)
"""What hooks may have told of a session that the registry calls idle."""


class OpenDialog(NamedTuple):
    """A dialog that is open, as its document says."""

    kind: str
    """``question``, ``permission``, ``plan``, ``elicitation`` or ``blocked``."""
    since: str
    """Since when, ISO 8601 in UTC."""


class SessionState(NamedTuple):
    """What a session does. Times are ISO 8601 in UTC, empty if they are not known."""

    state: str
    """``idle``, ``busy``, ``waiting``, ``limited``, ``stopped``, ``gone`` or ``unknown``."""
    since: str = ""
    """Since when."""
    waiting_for: str = ""
    """What it waits for if it does: the kinds of its open dialogs, else what the registry calls it, else ``dialog``."""
    until: str = ""
    """When a usage limit ends."""


def weigh(
    record: SessionRecord | None,
    client: RunningClient | None,
    dialogs: Sequence[OpenDialog] = (),
    *,
    is_gone: bool = False,
    at: float,
) -> SessionState:
    """Return what a session does, from what is known of it.

    ``client`` is the client's entry in its registry, None without one; ``dialogs`` are those of which nothing shows
    that they are over; ``is_gone`` says that its client has certainly ended; ``at`` is the time of the look, in seconds
    since 1970.
    """
    told = _told(record, at)
    if is_gone or (client is None and told.state == GONE):
        return SessionState(GONE, told.since if told.state == GONE else "")
    seen = None if client is None else _SEEN.get(client.status)
    if client is None or seen is None:
        return _waiting(dialogs) if dialogs else SessionState(UNKNOWN) if told.state == GONE else told
    if seen != WAITING and _is_behind(client, _newest(dialogs), at):
        return _waiting(dialogs)
    if record is not None and told.state != UNKNOWN and _is_behind(client, record.since, at):
        return _waiting(dialogs) if dialogs and told.state == BUSY else told
    if seen == WAITING:
        return _waiting(dialogs, client)
    if seen == BUSY:
        return _waiting(dialogs) if dialogs else told if told.state == BUSY else SessionState(BUSY, client.changed_at)
    return told if told.state in _ENDED_TURNS else SessionState(IDLE, client.changed_at)


def _told(record: SessionRecord | None, at: float) -> SessionState:
    """Return what hooks have told."""
    if record is None or record.state not in (BUSY, GONE, *_ENDED_TURNS):
        return SessionState(UNKNOWN)
    if record.state != LIMITED:
        return SessionState(record.state, record.since)
    over = seconds(record.limited_until)
    if over is not None and over <= at:
        return SessionState(IDLE, record.limited_until)
    return SessionState(LIMITED, record.since, until=record.limited_until)


def _is_behind(client: RunningClient, since: str, at: float) -> bool:
    """Whether the registry has not changed since something that is so young that it may be late."""
    then = seconds(since)
    return then is not None and 0 <= at - then < REGISTRY_LAG_SECONDS and client.changed_at < iso(then)


def _newest(dialogs: Sequence[OpenDialog]) -> str:
    return max((one.since for one in dialogs), default="")


def _waiting(dialogs: Sequence[OpenDialog], client: RunningClient | None = None) -> SessionState:
    if dialogs:
        kinds = ", ".join(dict.fromkeys(one.kind for one in dialogs))
        return SessionState(WAITING, min(one.since for one in dialogs), kinds)
    if client is None:
        return SessionState(WAITING, "", "dialog")
    return SessionState(WAITING, client.changed_at, client.waiting_for or "dialog")
