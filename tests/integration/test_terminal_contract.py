"""The tmux backend under the published contract, on a private tmux server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrouter.testing.contracts import TerminalBackendContract
from hookrouter.testing.terminal import PrivateTmux, TmuxError, wait_until
from hookrouter_tmux.backend import TmuxBackend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter.answering import TerminalAddress


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
