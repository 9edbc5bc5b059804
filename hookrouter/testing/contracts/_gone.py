"""What a terminal says of a pane, a program or a server that is there no more."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from hookrouter.terminals import TerminalBackend, TerminalGone
from hookrouter.testing.contracts._panes import Pane, TerminalHost, assert_gone, shown

if TYPE_CHECKING:
    from collections.abc import Callable


class GoneContract:
    """The part of the terminal contract about what has ended."""

    def test_a_pane_that_is_gone_is_said_to_be_gone(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., Pane]
    ) -> None:
        kept, closed = start("kept"), start("closed")
        shown(backend, closed, "closed")
        host.close(closed.address)
        assert_gone(backend, closed.address)
        assert shown(backend, kept, "kept").lines[0] == "kept"
        backend.press(kept.address, "n")
        kept.wait_received(b"n")

    def test_an_address_never_leads_to_a_later_pane(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., Pane]
    ) -> None:
        kept, closed = start("kept"), start("closed", session="again")
        host.close(closed.address)
        later = start("later", session="again")
        assert later.address != closed.address
        assert_gone(backend, closed.address)
        assert shown(backend, kept, "kept").lines[0] == "kept"
        backend.press(later.address, "n")
        later.wait_received(b"n")

    def test_a_program_that_has_ended_is_gone(self, backend: TerminalBackend, start: Callable[..., Pane]) -> None:
        start("kept")
        ended = start("ended")
        os.kill(int(ended.environ["PANE_PROGRAM"]), signal.SIGKILL)

        def gone() -> bool:
            try:
                backend.capture(ended.address)
            except TerminalGone:
                return True
            return False

        # A terminal may keep the pane; every key is preceded by a look, which is what must tell.
        ended.patience.wait(gone, "TerminalGone")

    def test_a_terminal_that_has_ended_is_gone(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., Pane]
    ) -> None:
        pane = start()
        backend.capture(pane.address)
        host.stop()
        assert_gone(backend, pane.address)
