"""What a session is called now: its terminal's may be renamed, and outside terminals ``/clear`` gives it another name.

Hooks tell of that with the client's next event (the plugin ``sessions`` follows them), which may be long after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.locating import locate
from hookrouter.sessions.records import client_here, is_client_gone, list_records
from hookrouter.sessions.running_clients import process_environ

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.sessions.records import SessionRecord

__all__ = ["called_now", "present_name"]


def called_now(services: Services, record: SessionRecord) -> str:
    """Return what the terminal session of a client is called; empty outside terminals, or if that cannot be known."""
    pid = client_here(record)
    if record.terminal is None or not pid or is_client_gone(record):
        return ""
    terminal, _ = locate(services, process_environ(pid))
    return "" if terminal is None else terminal.session


def present_name(services: Services, former: str) -> str:
    """Return the name of the session that was called ``former`` and whose client runs; empty if there is none.

    Raises StoreError.
    """
    found = [one for one in list_records(services.store) if former in one.former_names and not is_client_gone(one)]
    return max(found, key=lambda one: one.since).session if found else ""
