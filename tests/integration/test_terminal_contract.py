"""The tmux backend under the published contract, on a private tmux server."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxError
from hookrouter._sandbox.waiting import PATIENCE_VARIABLE, WaitTimeoutError, wait_until
from hookrouter.terminals import TerminalBackend, TerminalError
from hookrouter.testing.contracts import TerminalBackendContract
from hookrouter.testing.contracts._panes import starter
from hookrouter.testing.contracts.terminal_backend import NAMED_KEYS
from hookrouter_tmux.backend import TmuxBackend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookrouter.terminals import Screen, TerminalAddress


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

    def type_text(self, address: TerminalAddress, text: str) -> None:
        self._server.run("send-keys", "-t", address.target, "-l", text)

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

    probe = TerminalBackend.probe

    def probes(self) -> None:
        pass


class Unguarded(TmuxBackend):
    """Sends to whatever program is there."""

    def guard_program(self, address: TerminalAddress, client_pid: int = 0) -> None:
        pass


class ForgetsClient(TmuxBackend):
    """Knows programs by the terminal's word alone."""

    def guard_program(self, address: TerminalAddress, client_pid: int = 0) -> None:
        super().guard_program(address)


class HoldsNothing(TmuxBackend):
    """Lets everybody into a pane that it says it holds."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[TerminalAddress] = set()

    def hold(self, address: TerminalAddress, seconds: float) -> bool:
        was_held = address in self._said
        self._said.add(address)
        return was_held

    def release(self, address: TerminalAddress) -> None:
        self._said.discard(address)


class OutlivesHold(TmuxBackend):
    """Presses keys on when its hold is over."""

    def press(self, address: TerminalAddress, key: str) -> None:
        try:
            super().press(address, key)
        except TerminalError:
            self.release(address)
            super().press(address, key)


class OneArrow(TmuxBackend):
    """Sends the same for an arrow in every mode of the program."""

    def press(self, address: TerminalAddress, key: str) -> None:
        if key in ("Up", "Down", "Right", "Left"):
            self._tmux(address, "send-keys", "-t", address.target, "-l", NAMED_KEYS[key][0].decode())
        else:
            super().press(address, key)


class MainScreen(TmuxBackend):
    """Reads what lies under a program's alternate screen."""

    def capture(self, address: TerminalAddress) -> Screen:
        is_alternate = self._tmux(address, "display-message", "-p", "-t", address.target, "#{alternate_on}")
        return self._captured(address, *(["-a"] if is_alternate.strip() == "1" else []))


class Opens(TmuxBackend):
    """Opens panes, in a tmux server for each; a test breaks one thing."""

    can_open = True

    def __init__(self) -> None:
        super().__init__()
        self.servers: dict[TerminalAddress, PrivateTmux] = {}

    def open_pane(
        self, command: Sequence[str], environ: Mapping[str, str], folder: str, size: tuple[int, int]
    ) -> TerminalAddress:
        server = PrivateTmux(environ)
        pane = server.start("opened", command, cwd=folder, environ=environ, width=size[0], height=size[1])
        address = self.locate(server.pane_environ(pane))
        assert address is not None
        self.servers[address] = server
        return address

    def close_pane(self, address: TerminalAddress) -> None:
        self.servers[address].stop()


class ByShell(Opens):
    """Gives the program to a shell."""

    def open_pane(
        self, command: Sequence[str], environ: Mapping[str, str], folder: str, size: tuple[int, int]
    ) -> TerminalAddress:
        return super().open_pane(["sh", "-c", " ".join(command)], environ, folder, size)


class Leaks(Opens):
    """Gives the program the caller's environment."""

    def open_pane(
        self, command: Sequence[str], environ: Mapping[str, str], folder: str, size: tuple[int, int]
    ) -> TerminalAddress:
        return super().open_pane(command, {**os.environ, **environ}, folder, size)


class OneSize(Opens):
    """Opens panes of one size."""

    def open_pane(
        self, command: Sequence[str], environ: Mapping[str, str], folder: str, size: tuple[int, int]
    ) -> TerminalAddress:
        return super().open_pane(command, environ, folder, (80, 24))


class Elsewhere(Opens):
    """Runs programs in a folder of its own."""

    def open_pane(
        self, command: Sequence[str], environ: Mapping[str, str], folder: str, size: tuple[int, int]
    ) -> TerminalAddress:
        return super().open_pane(command, environ, os.path.dirname(folder), size)


class NeverCloses(Opens):
    """Leaves its panes open."""

    def close_pane(self, address: TerminalAddress) -> None:
        pass


class ClosesOnce(Opens):
    """Raises for a pane that is gone."""

    def close_pane(self, address: TerminalAddress) -> None:
        self.servers.pop(address).stop()


OPENS = "test_a_pane_that_it_opens_runs_the_program_as_told"


@pytest.mark.tmux
@pytest.mark.parametrize("kind", [ByShell, Leaks, OneSize, Elsewhere, NeverCloses, ClosesOnce])
def test_the_contract_catches_a_backend_that_opens_panes_wrongly(
    kind: type[Opens], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = kind()
    # Waited for in vain.
    monkeypatch.setenv(PATIENCE_VARIABLE, "0.3")
    try:
        with pytest.raises((AssertionError, KeyError, WaitTimeoutError)):
            getattr(TerminalBackendContract(), OPENS)(backend, tmp_path_factory, monkeypatch)
    finally:
        for server in backend.servers.values():
            server.stop()


@pytest.mark.tmux
def test_a_backend_that_opens_panes_rightly_passes(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Opens()
    getattr(TerminalBackendContract(), OPENS)(backend, tmp_path_factory, monkeypatch)
    assert len(backend.servers) == 2


@pytest.mark.tmux
@pytest.mark.parametrize(
    ("backend", "test"),
    [
        (OneName(), "test_the_environment_inside_a_pane_names_it"),
        (Brackets(), "test_a_program_that_asked_for_no_brackets_gets_none"),
        (Reuses(), "test_an_address_never_leads_to_a_later_pane"),
        (Unguarded(), "test_what_is_sent_reaches_only_the_program_that_was_there"),
        (ForgetsClient(), "test_what_is_sent_reaches_nobody_once_the_client_has_ended"),
        (HoldsNothing(), "test_a_held_pane_takes_nothing_from_others"),
        (OutlivesHold(), "test_a_hold_that_is_over_takes_the_holders_keys_no_more"),
        (OneArrow(), "test_arrows_have_the_bytes_of_the_mode_that_the_program_has_chosen"),
        (MainScreen(), "test_capture_shows_the_alternate_screen_of_a_program_that_uses_one"),
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
        with pytest.raises((AssertionError, WaitTimeoutError, pytest.fail.Exception)):
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
