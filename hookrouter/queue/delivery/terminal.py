"""The terminal in which a session is drawn. Knows its record and the backends, and no queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import Screen, TerminalBackend
    from hookrouter.context import Services
    from hookrouter.sessions.records import SessionRecord

__all__ = ["backend_of", "screen_of"]


def backend_of(services: Services, record: SessionRecord | None) -> TerminalBackend | None:
    """Return the backend of a session's terminal; None outside any known one."""
    address = None if record is None else record.terminal
    return None if address is None else services.plugins.terminal_backends().get(address.backend)


def screen_of(services: Services, session: str, record: SessionRecord | None) -> Screen | None:
    """Return what a session shows, for a person; None if that cannot be looked at, which is a warning if it fails."""
    backend = backend_of(services, record)
    if backend is None or record is None or record.terminal is None:
        return None
    try:
        return backend.capture(record.terminal)
    except Exception as error:  # noqa: BLE001 - it is a plugin's, and what it would show is for a person only
        services.warn(f"the screen of session {session} could not be looked at: {describe_error(error)}")
        return None
