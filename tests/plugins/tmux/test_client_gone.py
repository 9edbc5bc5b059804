"""A client below a shell without job control, which tmux takes for the pane's program: the client's process tells."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence

import pytest

from hookrouter.terminals import TerminalAddress, TerminalGone
from hookrouter_tmux import flushing
from hookrouter_tmux.backend import TmuxBackend
from support.stepped_time import SteppedTime

ADDRESS = TerminalAddress("tmux", "work", "%1", "/tmp/tmux")
CLIENT, SHELL = 4711, 4710


class Tmux(TmuxBackend):
    """Has a pane whose shell leads the foreground all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Sequence[str]] = []

    def _call(self, arguments: list[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        self.calls.append(arguments)
        said = f"%1 0 {SHELL} /dev/null\n{SHELL} bash\n" if "display-message" in arguments else ""
        return subprocess.CompletedProcess(arguments, 0, said.encode(), b"")


class Flusher:
    watched: list[tuple[str, int]] = []

    def __init__(self, path: str, pid: int) -> None:
        self.watched.append((path, pid))

    def start(self) -> None: ...

    def stop(self) -> None: ...


@pytest.mark.parametrize(("known", "watched"), [(CLIENT, CLIENT), (0, SHELL)])
def test_no_key_is_sent_once_the_client_has_ended(monkeypatch: pytest.MonkeyPatch, known: int, watched: int) -> None:
    gone: set[int] = set()
    monkeypatch.setattr("hookrouter.util.claude_process.is_gone", lambda pid: pid in gone)
    monkeypatch.setattr(flushing, "foreground", lambda _: SHELL)
    monkeypatch.setattr(flushing, "InputFlusher", Flusher)
    monkeypatch.setattr(Flusher, "watched", [])
    tmux = Tmux()
    tmux.guard_program(ADDRESS, known)
    assert Flusher.watched == [("/dev/null", watched)]
    tmux.press(ADDRESS, "Enter")
    sent = len(tmux.calls)
    gone.add(CLIENT)
    if known:
        with pytest.raises(TerminalGone, match="has ended"):
            tmux.press(ADDRESS, "Enter")
        assert len(tmux.calls) == sent
    tmux.release(ADDRESS)
    tmux.press(ADDRESS, "Enter")
    assert len(tmux.calls) > sent


@pytest.mark.linux
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_process_that_does_not_come_to_its_end_is_flushed_for_a_second_at_most(
    monkeypatch: pytest.MonkeyPatch, is_stopped: bool
) -> None:
    clock = SteppedTime()
    monkeypatch.setattr(flushing, "time", clock)
    monkeypatch.setattr(flushing, "_said", lambda _: [b"D", b"1", b"1", b"1", b"1", b"1", b"4"])
    monkeypatch.setattr(flushing, "_POLL_SECONDS", 0.0)
    flushed: list[int] = []
    flusher = flushing.InputFlusher("/dev/null", 1)

    def flush(terminal: int, queue: int) -> None:
        flushed.append(queue)
        clock.sleep(0.01)
        if is_stopped:
            flusher.stop()
        assert clock.slept < 2

    monkeypatch.setattr(flushing.termios, "tcflush", flush)
    flusher.run()
    # What tmux is about to write is waited for in any case.
    assert len(flushed) <= (3 if is_stopped else 101)
    assert len(flushed) >= (2 if is_stopped else 50)


@pytest.mark.linux
def test_the_next_program_keeps_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken any more once it has been stopped."""
    monkeypatch.setattr(flushing, "_said", lambda _: [b"Z", b"1", b"1", b"1", b"1", b"1", b"4"])
    begun = threading.Event()
    monkeypatch.setattr(flushing.termios, "tcflush", lambda *_: begun.set())
    flusher = flushing.InputFlusher("/dev/null", 1)
    flusher.start()
    assert begun.wait(30)
    flusher.stop()
    assert not flusher.is_alive()
