"""The tmux backend under the published contract, on a private tmux server."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxError
from hookrouter._sandbox.waiting import wait_until
from hookrouter.testing.contracts import TerminalBackendContract
from hookrouter.testing.contracts.terminal_backend import starter
from hookrouter_tmux.backend import TmuxBackend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookrouter.answering.interfaces import Screen, TerminalAddress


class Host:
    def __init__(self, server: PrivateTmux) -> None:
        self._server = server

    def start(self, session: str, command: Sequence[str], width: int, height: int) -> None:
        self._server.start(session, command, width=width, height=height)

    def resize(self, address: TerminalAddress, width: int, height: int) -> None:
        self._server.run("resize-window", "-t", address.target, "-x", str(width), "-y", str(height))

    def enter_mode(self, address: TerminalAddress, mode: str) -> None:
        self._server.run(mode, "-t", address.target)

    def close(self, address: TerminalAddress) -> None:
        self._server.run("kill-pane", "-t", address.target)

    def stop(self) -> None:
        self._server.run("kill-server")

        def ended() -> bool:
            try:
                self._server.run("list-sessions")
            except TmuxError:
                return True
            return False

        wait_until(ended, 10, "end of the server")


class OneName(TmuxBackend):
    """Calls every session alike."""

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        address = super().locate(environ)
        return None if address is None else address._replace(session="x")


class Brackets(TmuxBackend):
    """Puts brackets around every paste, whatever the program asked for."""

    def paste(self, address: TerminalAddress, text: str) -> None:
        self._tmux(address, "send-keys", "-t", address.target, "-l", f"\x1b[200~{text}\x1b[201~")


class Reuses(TmuxBackend):
    """Finds its panes by the session's name."""

    def _pane_of(self, address: TerminalAddress) -> TerminalAddress:
        pane = self._tmux(address, "display-message", "-p", "-t", f"={address.session}:", "#{pane_id}").strip()
        return address._replace(target=pane or address.target)

    def capture(self, address: TerminalAddress) -> Screen:
        return super().capture(self._pane_of(address))


class Misspelt(TmuxBackend):
    """Has a method that nobody calls."""

    probe = None  # type: ignore[assignment]

    def probes(self) -> None:
        pass


@pytest.mark.tmux
@pytest.mark.parametrize(
    ("backend", "test"),
    [
        (OneName(), "test_the_environment_inside_a_pane_names_it"),
        (Brackets(), "test_a_program_that_asked_for_no_brackets_gets_none"),
        (Reuses(), "test_an_address_never_leads_to_a_later_pane"),
        (Misspelt(), "test_optional_methods_are_whole_and_spelt_right"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_contract_catches_a_bad_backend(
    backend: TmuxBackend, test: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with PrivateTmux() as server:
        host = Host(server)
        given = {"backend": backend, "host": host, "start": starter(backend, host, tmp_path_factory)}
        method = getattr(TerminalBackendContract(), test)
        wanted = inspect.signature(method).parameters
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            method(**{name: value for name, value in given.items() if name in wanted})


@pytest.mark.tmux
class TestTmuxBackend(TerminalBackendContract):
    modes = ("copy-mode", "clock-mode", "choose-tree")

    @pytest.fixture
    def backend(self) -> TmuxBackend:
        return TmuxBackend()

    @pytest.fixture
    def host(self) -> Iterator[Host]:
        with PrivateTmux() as server:
            yield Host(server)
