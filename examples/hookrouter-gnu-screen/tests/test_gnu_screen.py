"""The backend under hookrouter's contract tests, on a real GNU screen."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.terminals import TerminalAddress, TerminalError, TerminalGone
from hookrouter.testing import wait_until
from hookrouter.testing.contracts import TerminalBackendContract
from hookrouter_gnu_screen import terminal_backend
from hookrouter_gnu_screen.backend import ScreenBackend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    shutil.which("screen") is None and os.environ.get("HOOKROUTER_REQUIRE_LIVE") != "1",
    reason="no screen program on PATH",
)


class Viewer:
    """A person's terminal, attached to one session."""

    def __init__(self, host: Host, session: str, width: int, height: int, *options: str) -> None:
        self._master, terminal = pty.openpty()
        self.resize(width, height)
        self._process = subprocess.Popen(
            ["screen", "-U", "-S", session, *options],
            env=host.environ | {"TERM": "vt100"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        os.read(self._master, 1)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def resize(self, width: int, height: int) -> None:
        import termios

        termios.tcsetwinsize(self._master, (height, width))

    def tell_size(self) -> None:
        self._process.send_signal(signal.SIGWINCH)

    def close(self) -> None:
        os.close(self._master)
        self._process.terminate()
        self._process.wait()


class Host:
    """Private sessions in a socket folder of their own, each with one window, which nobody views unless said."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="hookrouter-screen-host-")
        passed = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.environ = {**passed, "SCREENDIR": self.folder, "LC_ALL": "C.UTF-8", "TERM": "vt100"}
        self.viewers: list[Viewer] = []

    def screen(self, *arguments: str) -> str:
        done = subprocess.run(
            ["screen", *arguments], env=self.environ, capture_output=True, text=True, timeout=10, check=False
        )
        return done.stdout + done.stderr

    def start(self, session: str, command: Sequence[str], width: int, height: int) -> None:
        # A detached session has 80 columns and 24 rows until a terminal of another size has been attached.
        subprocess.run(
            ["screen", "-U", "-c", os.devnull, "-dmS", session, *command], env=self.environ, check=True, timeout=10
        )
        if (width, height) != (80, 24):
            self.give_size(session, width, height)

    def view(self, session: str, width: int, height: int) -> Viewer:
        options = (self, session, width, height, "-x", "-p", "0")
        viewer = Viewer(*options)

        def probe() -> bool:
            nonlocal viewer
            if viewer.has_ended:
                # It came before the session took viewers.
                viewer.close()
                viewer = Viewer(*options)
            viewer.tell_size()
            return self.has_size(session, width, height)

        wait_until(probe, 10, "size", lambda: self.screen("-ls"))
        return viewer

    def has_size(self, session: str, width: int, height: int) -> bool:
        return f"/({width},{height})" in self.screen("-S", session, "-p", "0", "-Q", "info")

    def give_size(self, session: str, width: int, height: int) -> None:
        def keeps_it() -> bool:
            # What the viewer was told last may reach the session after its terminal has gone: then it has 80 columns
            # again. The session answers in order, so it has heard all of it when it says its size.
            self.view(session, width, height).close()
            return self.has_size(session, width, height)

        wait_until(keeps_it, 30, "size without a viewer", lambda: self.screen("-ls"))

    def resize(self, address: TerminalAddress, width: int, height: int) -> None:
        self.give_size(address.target.partition(":")[0], width, height)

    def enter_mode(self, address: TerminalAddress, mode: str) -> None:
        assert mode == "copy"
        if not self.viewers:
            self.viewers.append(self.view(address.target.partition(":")[0], 80, 24))
        self.screen("-S", address.target.partition(":")[0], "-p", "0", "-X", "copy")

    def close(self, address: TerminalAddress) -> None:
        pid = int(address.target.partition(":")[0])
        self.screen("-S", f"{pid}.", "-X", "quit")
        wait_until(lambda: not [name for name in os.listdir(self.folder) if name.startswith(f"{pid}.")], 10, "its end")

    def stop(self) -> None:
        for viewer in self.viewers:
            viewer.close()
        self.viewers.clear()
        if os.path.isdir(self.folder):
            for name in os.listdir(self.folder):
                self.screen("-S", name, "-X", "quit")
            wait_until(lambda: not os.listdir(self.folder), 10, "the end of every session")
            os.rmdir(self.folder)


@pytest.fixture
def host() -> Iterator[Host]:
    private = Host()
    yield private
    private.stop()


@pytest.fixture
def backend() -> Iterator[ScreenBackend]:
    with ScreenBackend() as backend:
        yield backend


class TestScreenBackend(TerminalBackendContract):
    """All of it: screen takes every key and every text. It does not tell what a program asked for."""

    knows_brackets = False
    knows_cursor_mode = False


def started(host: Host, backend: ScreenBackend, text: str, end: str = "") -> TerminalAddress:
    host.start("own", ["sh", "-c", f"printf '{text}{end}'; exec cat"], 80, 24)
    (socket,) = wait_until(lambda: os.listdir(host.folder), 10, "the session")
    address = backend.locate({"STY": socket, "WINDOW": "0", "SCREENDIR": host.folder})
    assert address is not None
    wait_until(lambda: text in backend.capture(address).lines, 10, "the text")
    return address


def test_the_plugin_contributes_the_backend() -> None:
    assert terminal_backend().name == "screen"


def test_a_program_in_the_middle_of_an_escape_sequence_is_read(host: Host, backend: ScreenBackend) -> None:
    """GNU screen then begins what it tells of the window with the state that it is in."""
    address = started(host, backend, "shown", end=r"\033[")

    assert host.screen("-S", "own", "-p", "0", "-Q", "info").startswith("CSI ")
    assert backend.capture(address).lines[0] == "shown"


def test_the_copy_buffer_of_the_person_is_kept(host: Host, backend: ScreenBackend) -> None:
    address = started(host, backend, "shown")
    file = os.path.join(host.folder, "buffer")
    with open(file, "w", encoding="utf-8") as buffer:
        buffer.write("copied before")
    host.screen("-S", "own", "-X", "readbuf", file)

    host.screen("-S", "own", "-p", "0", "-X", "stuff", "more")
    wait_until(lambda: "shownmore" in backend.capture(address).lines, 10, "the change")
    backend.paste(address, "pasted")

    host.screen("-S", "own", "-X", "writebuf", file)
    host.screen("-S", "own", "-p", "0", "-Q", "number")
    with open(file, encoding="utf-8") as buffer:
        assert buffer.read() == "copied before"
    os.remove(file)


def test_an_empty_copy_buffer_stays_empty(host: Host, backend: ScreenBackend) -> None:
    address = started(host, backend, "shown")
    file = os.path.join(host.folder, "buffer")

    backend.capture(address)

    host.screen("-S", "own", "-X", "writebuf", file)
    host.screen("-S", "own", "-p", "0", "-Q", "number")
    assert not os.path.exists(file) or os.path.getsize(file) == 0
    if os.path.exists(file):
        os.remove(file)


def test_a_renamed_session_is_the_same_session(host: Host, backend: ScreenBackend) -> None:
    address = started(host, backend, "shown")
    host.screen("-S", "own", "-X", "sessionname", "renamed")
    wait_until(lambda: [name for name in os.listdir(host.folder) if name.endswith(".renamed")], 10, "the new name")

    assert backend.capture(address).lines[0] == "shown"


def test_a_session_that_only_looks_like_it_gets_nothing(host: Host, backend: ScreenBackend) -> None:
    address = started(host, backend, "shown")
    pid = address.target.partition(":")[0]
    host.close(address)
    host.start(f"{pid}.own", ["cat"], 80, 24)

    with pytest.raises(TerminalGone):
        backend.press(address, "x")


def test_a_person_who_detaches_everybody_does_not_end_it(host: Host, backend: ScreenBackend) -> None:
    address = started(host, backend, "shown")
    host.screen("-d", "own")

    assert backend.capture(address).lines[0] == "shown"
    backend.press(address, "x")
    wait_until(lambda: backend.capture(address).lines[0] == "shownx", 10, "the key")


def test_two_that_drive_one_window_at_once_wait_for_each_other(host: Host, backend: ScreenBackend) -> None:
    address = started(host, backend, "shown")

    def type_and_look(letter: str) -> None:
        with ScreenBackend() as other:
            for _ in range(4):
                other.press(address, letter)
                assert other.capture(address).lines[0].startswith("shown")
                assert other.locate(environ) == address

    (socket,) = os.listdir(host.folder)
    environ = {"STY": socket, "WINDOW": "0", "SCREENDIR": host.folder}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(type_and_look, "xy"))
    typed = wait_until(lambda: backend.capture(address).lines[0].removeprefix("shown"), 10, "the keys")
    assert sorted(typed) == ["x"] * 4 + ["y"] * 4


def test_a_folder_that_is_not_there_is_reported(backend: ScreenBackend, tmp_path: Path) -> None:
    with pytest.raises(TerminalError, match="cannot open a window"):
        backend.open_pane(["cat"], {"PATH": os.defpath}, str(tmp_path / "none"), (80, 24))


def test_a_pane_of_somebody_else_is_closed_and_nothing_removed(host: Host, backend: ScreenBackend) -> None:
    address = started(host, backend, "shown")

    backend.close_pane(address)

    wait_until(lambda: not os.listdir(host.folder), 10, "the end of the session")
    assert os.path.isdir(host.folder)


def test_a_question_that_screen_answers_with_nothing_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, host: Host, backend: ScreenBackend
) -> None:
    address = started(host, backend, "shown")
    ask = ScreenBackend._ask
    lost = ["info"]

    def asked(self: ScreenBackend, window: Any, *command: str) -> str:
        said = ask(self, window, *command)
        if command[0] in lost:
            lost.remove(command[0])
            return ""
        return said

    monkeypatch.setattr(ScreenBackend, "_ask", asked)

    assert any("shown" in line for line in backend.capture(address).lines)
    assert lost == []


def test_a_missing_program_is_reported(monkeypatch: pytest.MonkeyPatch, host: Host, backend: ScreenBackend) -> None:
    address = started(host, backend, "shown")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", host.folder)
        with pytest.raises(TerminalError, match="no screen program"):
            backend.press(address, "x")


@pytest.mark.parametrize("target", ["", "own", "1:x", "x:1", "1"])
def test_an_address_of_something_else_is_refused(target: str) -> None:
    with pytest.raises(TerminalError, match="not the address"):
        ScreenBackend().press(TerminalAddress("screen", "own", target, "/nowhere"), "x")
