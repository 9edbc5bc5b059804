"""A watcher of one kind of dialogs that the client draws by itself: no hook tells of them, so screens are looked at.

Every few seconds each client that says that a dialog is open is looked at. What a plugin adds is what its dialog looks
like, and what the agent is told of it; :class:`DialogWatcher` opens it once, and ends it when it is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from hookrouter.dialogs import documents
from hookrouter.dialogs.closing import close_of_gone_clients, end, gone
from hookrouter.dialogs.opening import note_asked, open_dialog
from hookrouter.sessions.running_clients import DIALOG_OPEN, process_environ, running_clients
from hookrouter.terminals import TerminalError, terminal_backends
from hookrouter.util.filenames import digest

if TYPE_CHECKING:
    from hookrouter.context import Context, Services
    from hookrouter.dialogs.closing import End
    from hookrouter.dialogs.documents import Dialog, PendingAnswer
    from hookrouter.dialogs.opening import Opening
    from hookrouter.sessions.running_clients import RunningClient
    from hookrouter.terminals import Screen, TerminalAddress

__all__ = ["EVENT", "DialogWatcher"]

EVENT = "Watch"
"""What the journal calls a look where a hook's event stands."""

Seen = TypeVar("Seen")
"""What a plugin reads off a screen that shows its dialog."""


class DialogWatcher(Generic[Seen]):
    """Opens a dialog for what a managed session's client shows, once, and ends it when it is gone. Derive from it.

    Its :class:`hookrouter.dialogs.kinds.DialogKind` has the same name, and ``is_of_turn = False``: otherwise the next
    end of a turn closes what this has opened. See :class:`hookrouter.sessions.watching.SessionWatcher`.
    """

    name: str
    """The kind of the dialogs."""

    def read(self, screen: Screen) -> Seen | None:
        """Return what the screen shows of the dialog; None if it does not show it. Raises nothing, on any screen."""
        raise NotImplementedError

    def opening(self, own_id: str, seen: Seen) -> Opening | None:
        """Return what to open, with ``own_id`` as the id of its tool call; None for what is not to be opened.

        Asked only while no dialog of this kind is open in the session.
        """
        raise NotImplementedError

    def compare(self, dialog: Dialog, pending: PendingAnswer | None) -> End:  # noqa: ARG002 - for those that override it
        """Return how a dialog has ended that is gone from the screen, and that no ``hookrouter answer`` looks at.

        ``pending`` is the decision that was being brought to it, if one was.
        """
        return gone(pending, "the dialog is gone from the screen")

    def look(self, services: Services) -> None:
        """Look once at every client that shows a dialog. Raises StoreError."""
        known = {one.session_id: one for one in documents.list_questions(services.store) if one.kind == self.name}
        for client in running_clients(services.environ):
            if client.waiting_for != DIALOG_OPEN:
                continue
            address, looks = self._looks(services, client)
            if client.session_id in known:
                if address is None or any(seen is not None for seen in looks):
                    # Still there, or nobody can say.
                    del known[client.session_id]
            elif address is not None and looks[0] is not None and looks[0] == looks[1]:
                self._open(services, client, address, looks[0])
        for dialog in known.values():
            if documents.is_client_gone(dialog):
                close_of_gone_clients(services, [dialog])
            elif not documents.is_being_answered(services.store, dialog):
                context = _context(services, dialog.terminal, dialog.session_id, dialog.cwd, dialog.client_pid, {})
                ended = end(context, dialog, self.compare, EVENT)
                if ended is not None and ended.message:
                    context.start_delivery()

    def _looks(self, services: Services, client: RunningClient) -> tuple[TerminalAddress | None, list[Seen | None]]:
        """Return where a client is drawn, None if that cannot be seen, and what it shows of the dialog at two looks.

        A screen that is being drawn may show anything: what both see opens a dialog, what neither sees ends one.
        """
        environ = process_environ(client.pid)
        for backend in terminal_backends(services.plugins).values():
            try:
                address = backend.locate(environ)
                if address is not None:
                    return address, [self.read(backend.capture(address)) for _ in range(2)]
            except TerminalError:
                continue
        return None, []

    def _open(self, services: Services, client: RunningClient, address: TerminalAddress, seen: Seen) -> None:
        record: dict[str, object] = {}
        context = _context(services, address, client.session_id, client.folder, client.pid, record)
        if context.agent is None:
            return
        # The same from look to look, and another for the next dialog of the same client.
        own_id = f"{self.name}_{digest(f'{client.session_id} {client.changed_at}')[:16]}"
        opening = self.opening(own_id, seen)
        if opening is None:
            return
        dialog = open_dialog(context, opening)
        if "repeated" not in record:
            note_asked(context, dialog)


def _context(
    services: Services,
    terminal: TerminalAddress | None,
    session_id: str,
    folder: str,
    pid: int,
    record: dict[str, object],
) -> Context:
    return services.at_session(terminal, event=EVENT, session_id=session_id, cwd=folder or "/", pid=pid, record=record)
