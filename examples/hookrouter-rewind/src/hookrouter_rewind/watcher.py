"""Looks for the list on the screens of managed sessions, opens a dialog for it once, and ends it when it is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents
from hookrouter.dialogs.closing import end, gone
from hookrouter.dialogs.messages.answer_schema import answer_schema
from hookrouter.dialogs.messages.ways import way
from hookrouter.dialogs.opening import Opening, note_asked, open_dialog
from hookrouter.sessions.running_clients import DIALOG_OPEN, process_environ, running_clients
from hookrouter.terminals import TerminalError, terminal_backends
from hookrouter.util.filenames import digest

from hookrouter_rewind.planner import KIND
from hookrouter_rewind.screens import RewindList, read

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.sessions.running_clients import RunningClient
    from hookrouter.terminals import TerminalAddress

    from hookrouter_rewind.screens import Confirmation

__all__ = ["RewindWatcher"]

_EVENT = "Watch"
_CLOSE = {"label": "Close the list", "description": "the conversation stays as it is"}


class RewindWatcher:
    """The watcher of this plugin."""

    name = KIND

    def look(self, services: Services) -> None:
        """Look once at every client that shows a dialog. Raises StoreError."""
        known = {one.session_id: one for one in documents.list_questions(services.store) if one.kind == KIND}
        for client in running_clients(services.environ):
            if client.waiting_for != DIALOG_OPEN:
                continue
            address, shown = _seen(services, client)
            dialog = known.get(client.session_id)
            if dialog is not None and (shown is not None or address is None):
                # Still there, or nobody can say.
                del known[client.session_id]
            elif isinstance(shown, RewindList) and address is not None:
                _open(services, client, address, shown)
        for dialog in known.values():
            if not documents.is_being_answered(services.store, dialog):
                end(services, dialog, lambda _, pending: gone(pending, "the list is gone from the screen"), _EVENT)


def _seen(services: Services, client: RunningClient) -> tuple[TerminalAddress | None, RewindList | Confirmation | None]:
    """Return where a client is drawn, None if that cannot be seen, and what it shows of the list."""
    environ = process_environ(client.pid)
    for backend in terminal_backends(services.plugins).values():
        try:
            address = backend.locate(environ)
            if address is not None:
                return address, read(backend.capture(address))
        except TerminalError:
            continue
    return None, None


def _open(services: Services, client: RunningClient, address: TerminalAddress, shown: RewindList) -> None:
    record: dict[str, object] = {}
    context = services.at_session(
        address, event=_EVENT, session_id=client.session_id, cwd=client.folder or "/", pid=client.pid, record=record
    )
    if context.agent is None:
        return
    once = [one for one in shown.prompts if shown.prompts.count(one) == 1]
    options = [*({"label": one, "description": "go back to before it"} for one in once), _CLOSE]
    form = {
        "header": "Rewind",
        "question": "The Rewind list was left open, and the session takes no prompt. Go back to before which prompt?",
        "multiSelect": False,
        "options": options,
    }
    how = [
        way(f'{{"action": "select", "optionIndex": {number}}}', option["description"], option["label"])
        for number, option in enumerate(options)
    ]
    request = {"prompts": once, "how": how, "answer_schema": answer_schema([form])}
    own_id = f"{KIND}_{digest(f'{client.session_id} {client.changed_at}')[:16]}"
    dialog = open_dialog(context, Opening(tool_use_id=own_id, questions=[form], kind=KIND, request=request))
    if "repeated" not in record:
        note_asked(context, dialog)
