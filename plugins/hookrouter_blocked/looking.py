"""Which sessions a dialog has stopped at this moment: the client's registry says so, and the screen what it is.

A client that is at work, or idle, is not looked at. Before a session has begun there is nothing in the registry, so
the other panes of managed sessions are looked at too: there a dialog counts only if it is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.answering.interfaces import seen_dialog
from hookrouter.sessions.running_clients import DIALOG_OPEN, WAITING, process_environ, running_clients
from hookrouter.terminals import TerminalError, TerminalGone, terminal_backends
from hookrouter_blocked.dialog import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hookrouter.answering.interfaces import SeenDialog
    from hookrouter.context import Services
    from hookrouter.sessions.running_clients import RunningClient
    from hookrouter.terminals import RunningPane, Screen, TerminalAddress, TerminalBackend

__all__ = ["Look", "look_around"]

_CLIENT_PROGRAMS = ("claude", "node")
"""How the names of the programs begin that the client runs as; a pane of another one shows no dialog of it."""


class Look(NamedTuple):
    """What was seen."""

    stopped: dict[str, Stopped]
    """The sessions that are stopped, by their keys."""
    unclear: frozenset[str]
    """The keys of those whose terminal could not be asked."""


def look_around(services: Services) -> Look:
    """Look once at every client, and every pane of a managed session. Raises nothing for what it finds there."""
    seen = seen_dialog(services.plugins, services.config.answer.planner)
    return Look({}, frozenset()) if seen is None else _Looking(services, seen).look()


class _Looking:
    def __init__(self, services: Services, seen: Callable[[Screen], SeenDialog | None]) -> None:
        self._services = services
        self._seen = seen
        self._backends = terminal_backends(services.plugins)
        self._stopped: dict[str, Stopped] = {}
        self._unclear: set[str] = set()
        self._environs: list[Mapping[str, str]] = [services.environ]

    def look(self) -> Look:
        places = set()
        for client in running_clients(self._services.environ):
            environ = process_environ(client.pid)
            address, is_known = self._locate(environ)
            if address is not None:
                places.add(address)
                self._environs.append(environ)
            self._at_client(client, address, is_known=is_known)
        for pane in self._other_panes(places):
            self._at_pane(pane)
        return Look(self._stopped, frozenset(self._unclear))

    def _locate(self, environ: Mapping[str, str]) -> tuple[TerminalAddress | None, bool]:
        """Return where a process with this environment runs, and whether that could be found out."""
        is_known = True
        for backend in self._backends.values():
            try:
                address = backend.locate(environ)
            except TerminalGone:
                continue
            except TerminalError:
                is_known = False
                continue
            if address is not None:
                return address, True
        return None, is_known

    def _at_client(self, client: RunningClient, address: TerminalAddress | None, *, is_known: bool) -> None:
        if client.status not in ("", WAITING) or (address is None and not is_known):
            return
        key = f"{client.pid}" if address is None else _key(address)
        is_open = client.status == WAITING and client.waiting_for == DIALOG_OPEN
        screen, dialog = self._see(address, key)
        if key in self._unclear:
            return
        # A question or a permission is told by its hook, whatever it looks like.
        if (dialog is None and not is_open) or (dialog is not None and dialog.is_told):
            return
        self._stopped[key] = Stopped(key, client.pid, client.session_id, client.folder, address, dialog, screen)

    def _other_panes(self, places: set[TerminalAddress]) -> Iterator[RunningPane]:
        for backend in self._backends.values():
            for environ in self._environs:
                try:
                    panes = backend.panes(environ)
                except TerminalError:
                    continue
                for pane in panes:
                    if pane.address not in places and pane.program.startswith(_CLIENT_PROGRAMS):
                        places.add(pane.address)
                        yield pane

    def _at_pane(self, pane: RunningPane) -> None:
        if not self._services.config.may_manage(pane.address.session):
            return
        key = _key(pane.address)
        screen, dialog = self._see(pane.address, key)
        if dialog is not None and not dialog.is_told:
            self._stopped[key] = Stopped(key, 0, "", pane.folder, pane.address, dialog, screen)

    def _see(self, address: TerminalAddress | None, key: str) -> tuple[Screen | None, SeenDialog | None]:
        backend: TerminalBackend | None = None if address is None else self._backends.get(address.backend)
        if address is None or backend is None:
            return None, None
        try:
            screen = backend.capture(address)
        except TerminalGone:
            return None, None
        except TerminalError:
            self._unclear.add(key)
            return None, None
        return screen, self._seen(screen)


def _key(address: TerminalAddress) -> str:
    return f"{address.backend} {address.server} {address.target}"
