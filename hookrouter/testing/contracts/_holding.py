"""What a terminal that keeps others out of a pane must do, or holds what is sent to one program."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

from hookrouter.terminals import TerminalBackend, TerminalGone
from hookrouter.testing.contracts._optional import overrides

if TYPE_CHECKING:
    from collections.abc import Callable

from hookrouter.testing.contracts._panes import Pane, TerminalHost, assert_refused, pasted, raised, shown


class HoldingContract:
    """The part of the terminal contract about what comes between a look and a key."""

    def test_what_the_holder_sends_arrives_in_a_held_pane(
        self, backend: TerminalBackend, start: Callable[..., Pane]
    ) -> None:
        if not backend.can_hold:
            return
        pane = start()
        backend.release(pane.address)
        assert backend.hold(pane.address, 30) is False, "a first hold was not there before"
        assert backend.hold(pane.address, 30) is True, "a hold that is prolonged has no gap"
        backend.press(pane.address, "n")
        backend.paste(pane.address, "text")
        pane.wait_received(b"n" + pasted("text"))
        backend.release(pane.address)
        backend.release(pane.address)
        backend.press(pane.address, "y")
        pane.wait_received(b"n" + pasted("text") + b"y")
        assert backend.hold(pane.address, 30) is False
        backend.release(pane.address)

    def test_a_held_pane_takes_nothing_from_others(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., Pane]
    ) -> None:
        if not backend.can_hold:
            return
        held, other = start(), start()
        backend.hold(held.address, 30)
        for pane in (held, other):
            host.type_text(pane.address, "x")
        other.wait_received(b"x", case="type_text('x') in a pane that nobody holds")
        backend.press(held.address, "n")
        backend.paste(held.address, "text")
        host.type_text(held.address, "x")
        backend.press(held.address, "y")
        held.wait_received(b"n" + pasted("text") + b"y", case="type_text('x') in a held pane")
        backend.release(held.address)
        host.type_text(held.address, "z")
        held.wait_received(b"n" + pasted("text") + b"yz", case="release() and type_text('z')")

    def test_a_hold_that_is_over_takes_the_holders_keys_no_more(
        self, backend: TerminalBackend, host: TerminalHost, start: Callable[..., Pane]
    ) -> None:
        if not backend.can_hold:
            return
        pane = start()
        backend.hold(pane.address, 0.1)

        def typed() -> bool:
            host.type_text(pane.address, "x")
            return b"x" in pane.received()

        pane.patience.wait(typed, "what a person types once a hold of 0.1 s has run out")
        for case, act in (
            ("press('n')", partial(backend.press, pane.address, "n")),
            ("paste('text')", partial(backend.paste, pane.address, "text")),
        ):
            assert_refused(act, f"{case} after the hold has run out")
        assert backend.hold(pane.address, 30) is False, "a hold that has run out is a gap"
        backend.press(pane.address, "y")
        backend.release(pane.address)
        pane.patience.wait(lambda: pane.received().endswith(b"y"), "press('y') in a pane that is held again")
        assert pane.received().strip(b"x") == b"y", "what was refused arrived"

    def test_what_is_sent_reaches_nobody_once_the_client_has_ended(
        self, backend: TerminalBackend, start: Callable[..., Pane]
    ) -> None:
        if not overrides(backend, TerminalBackend, "guard_program"):
            return
        pane = start(behind="script")
        backend.guard_program(pane.address, int(pane.environ["PANE_PROGRAM"]))
        backend.press(pane.address, "n")
        pane.wait_received(b"n")
        _end_it(backend, pane, "what was meant for a client reached the shell that ran it")

    def test_what_is_sent_reaches_only_the_program_that_was_there(
        self, backend: TerminalBackend, start: Callable[..., Pane]
    ) -> None:
        if not overrides(backend, TerminalBackend, "guard_program"):
            return
        pane = start(behind="jobs")
        backend.guard_program(pane.address)
        backend.press(pane.address, "n")
        backend.paste(pane.address, "text")
        pane.wait_received(b"n" + pasted("text"))
        _end_it(backend, pane, "what was meant for a program reached the one after it")


def _end_it(backend: TerminalBackend, pane: Pane, fault: str) -> None:
    """Kill the guarded program: what follows it in the pane gets nothing before it is guarded itself."""
    os.kill(int(pane.environ["PANE_PROGRAM"]), signal.SIGKILL)
    shown(backend, pane, "what follows")
    for act in (partial(backend.press, pane.address, "Enter"), partial(backend.paste, pane.address, "text")):
        assert isinstance(raised(act), TerminalGone), fault
    backend.guard_program(pane.address)
    backend.press(pane.address, "x")
    shown(backend, pane, "read b'x'")
