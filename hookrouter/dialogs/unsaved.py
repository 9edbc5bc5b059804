"""Dialogs that clients show and of which nothing was saved: the disk was full, or could not be written to.

No hook tells of them again. The client's registry says that its session waits, and its transcript what for; what can be
made of that, the kind of the dialog says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter.answering.locating import locate
from hookrouter.dialogs import documents
from hookrouter.dialogs.kinds import Stalled, dialog_kinds
from hookrouter.dialogs.opening import note_asked, open_dialog
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.sessions.records import list_records
from hookrouter.sessions.running_clients import DIALOG_OPEN, WAITING, process_environ, running_clients, transcript_path
from hookrouter.util.clock import now, seconds

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.sessions.running_clients import RunningClient

__all__ = ["open_unsaved"]

EVENT = "Watch"
"""What the journal calls it where a hook's event stands."""

_HOOK_SECONDS = 5.0
"""Seconds after which the hook of a dialog that the client shows has saved it."""


def open_unsaved(services: Services) -> bool:
    """Open each dialog that a client of a managed session shows and that was not saved; return whether one was.

    Its agent is woken. Raises StoreError if one can still not be saved.
    """
    found = False
    for client in running_clients(services.environ):
        since = seconds(client.changed_at)
        is_young = since is not None and now() - since < _HOOK_SECONDS
        if client.status == WAITING and client.waiting_for != DIALOG_OPEN and not is_young:
            found = _open(services, client) or found
    return found


def _open(services: Services, client: RunningClient) -> bool:
    # With one that is known open, this may be the next of the same message, which the client does not show yet.
    if not client.session_id or documents.near(services.store, client.session_id):
        return False
    known = [one.transcript_path for one in list_records(services.store) if one.session_id == client.session_id]
    path = next(filter(os.path.isfile, known), "") or transcript_path(services.environ, client.session_id)
    terminal, _ = locate(services, process_environ(client.pid))
    record: dict[str, object] = {}
    context = services.at_session(
        terminal, event=EVENT, session_id=client.session_id, cwd=client.folder or "/", pid=client.pid, record=record
    )
    if context.agent is None:
        return False
    stalled = Stalled(context, client.waiting_for, path)
    openings = (kind.unsaved(stalled) for kind in dialog_kinds(services.plugins).values())
    opening = next((one for one in openings if one is not None), None)
    if opening is None or _was_known(services, client.session_id, opening.tool_use_id):
        return False
    question = open_dialog(context, opening._replace(transcript_path=path))
    if "repeated" not in record:
        note_asked(context, question)
    return True


def _was_known(services: Services, session_id: str, own_id: str) -> bool:
    """Whether it was saved, and has ended as far as anything has told."""
    return any((one.session_id, one.tool_use_id) == (session_id, own_id) for one in list_verdicts(services.store))
