"""The tmux backend against a real, private tmux server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter.terminals import TerminalAddress, TerminalError, TerminalGone
from hookrouter_tmux.backend import KEYS, TmuxBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.tmux, pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux program")]

# Reads raw bytes as a full-screen program does, asks for bracketed paste, and writes what it got to a file.
READER = """
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"\\x1b[?2004hready\\r\\n")
got = b""
while True:
    got += os.read(0, 65536)
    with open(sys.argv[1] + ".new", "wb") as file:
        file.write(got)
    os.replace(sys.argv[1] + ".new", sys.argv[1])
"""


def until(look: Callable[[], Any], what: str, seconds: float = 10.0) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"not seen within {seconds} s: {what}")


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = str(folder / "tmux.sock")
        self.reader = folder / "reader.py"
        self.reader.write_text(READER)

    def tmux(self, *arguments: str) -> str:
        environ = {**os.environ, "TMUX": "", "LC_ALL": "C.UTF-8"}
        command = ["tmux", "-f", "/dev/null", "-S", self.socket, *arguments]
        return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout.rstrip("\n")

    def session(self, name: str, *command: str) -> TerminalAddress:
        made = self.tmux(
            "new-session", "-d", "-s", name, "-x", "80", "-y", "24", "-P", "-F", "#{pane_id}", *(command or ("cat",))
        )
        return TerminalAddress("tmux", name, made, self.socket)

    def reading(self, name: str) -> tuple[TerminalAddress, Path]:
        got = self.folder / f"{name}.bytes"
        address = self.session(name, sys.executable, str(self.reader), str(got))
        until(lambda: "ready" in TmuxBackend().capture(address).lines, "the reader's first line")
        return address, got


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    private = Server(tmp_path)
    yield private
    subprocess.run(["tmux", "-S", private.socket, "kill-server"], check=False, capture_output=True)


def received(path: Path, expected: bytes) -> bytes:
    def look() -> bytes | None:
        got = path.read_bytes() if path.exists() else b""
        return got if len(got) >= len(expected) else None

    return until(look, f"{len(expected)} bytes")


@pytest.mark.parametrize(
    "text",
    [
        "-l looks like an option",
        "do this; then that;",
        ";",
        'it\'s "quoted" `here` $HOME \\ #{pane_id}',
        "first\nsecond\n\nfourth",
        "日本語テキスト ✓ Ω naïve",
        "ok 👍 family 👨‍👩‍👧‍👦 flag 🇩🇪 end",
        "tab\there",
        "x" * 100_000,
    ],
    ids=["dash", "semicolon", "only-semicolon", "quotes", "newlines", "cjk", "emoji", "tab", "long"],
)
def test_pasted_text_arrives_exactly_and_in_one_piece(server: Server, text: str) -> None:
    address, got = server.reading("paste")

    TmuxBackend().paste(address, text)

    expected = b"\x1b[200~" + text.encode() + b"\x1b[201~"
    assert received(got, expected) == expected
    assert server.tmux("list-buffers") == ""


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("Enter", b"\r"),
        ("Escape", b"\x1b"),
        ("Tab", b"\t"),
        ("BTab", b"\x1b[Z"),
        ("Space", b" "),
        ("Up", b"\x1b[A"),
        ("Down", b"\x1b[B"),
        ("C-e", b"\x05"),
        ("C-s", b"\x13"),
        ("C-u", b"\x15"),
        ("BSpace", b"\x7f"),
        (";", b";"),
        ("-", b"-"),
        ("\\", b"\\"),
        ("n", b"n"),
        ("7", b"7"),
        ("ß", "ß".encode()),
    ],
)
def test_a_key_arrives_as_its_bytes(server: Server, key: str, sent: bytes) -> None:
    address, got = server.reading("keys")

    TmuxBackend().press(address, key)

    assert received(got, sent) == sent


@pytest.mark.parametrize("key", ["C-c", "F1", "ab", "", "\n", "\x1b", "kill-server"])
def test_other_keys_are_refused(server: Server, key: str) -> None:
    address, got = server.reading("refused")

    with pytest.raises(TerminalError, match="not a key"):
        TmuxBackend().press(address, key)

    assert not got.exists()


@pytest.mark.parametrize("text", ["", "a\x1b[201~b", "a\rb", "a\x03", "a\x9b", "a\ud800"])
def test_text_that_would_act_as_keys_is_refused(server: Server, text: str) -> None:
    address, got = server.reading("refused")

    with pytest.raises(TerminalError):
        TmuxBackend().paste(address, text)

    assert not got.exists()
    assert server.tmux("list-buffers") == ""


@pytest.mark.parametrize("mode", ["copy-mode", "clock-mode", "choose-tree"])
def test_modes_are_left_before_keys_and_text(server: Server, mode: str) -> None:
    address, got = server.reading("mode")
    for act, sent in (
        (lambda: TmuxBackend().press(address, "Down"), b"\x1b[B"),
        (lambda: TmuxBackend().paste(address, "x"), b"\x1b[200~x\x1b[201~"),
    ):
        server.tmux(mode, "-t", address.target)
        before = got.read_bytes() if got.exists() else b""

        act()

        assert received(got, before + sent) == before + sent
        assert server.tmux("display-message", "-p", "-t", address.target, "#{pane_in_mode}") == "0"


def test_capture_shows_the_live_screen_in_copy_mode(server: Server) -> None:
    shown = "ab \\033[1mbold\\033[0m 日本 ❯ ☐\\n\\nlast   \\n"
    address = server.session("capture", "sh", "-c", f"printf '{shown}'; exec cat")
    screen = until(
        lambda: seen if "last" in (seen := TmuxBackend().capture(address)).lines else None, "the program's output"
    )
    server.tmux("copy-mode", "-t", address.target)

    assert TmuxBackend().capture(address) == screen
    assert screen.lines[:4] == ("ab bold 日本 ❯ ☐", "", "last", "")
    assert (screen.width, screen.height, len(screen.lines)) == (80, 24, 24)


def test_only_the_addressed_pane_gets_keys_even_when_it_is_hidden_by_a_zoom(server: Server) -> None:
    address, got = server.reading("two")
    other = server.tmux("split-window", "-t", address.target, "-P", "-F", "#{pane_id}", "cat")
    server.tmux("resize-pane", "-Z", "-t", other)

    TmuxBackend().press(address, "n")
    TmuxBackend().paste(address, "yes")

    expected = b"n\x1b[200~yes\x1b[201~"
    assert received(got, expected) == expected
    assert "yes" not in "".join(TmuxBackend().capture(address._replace(target=other)).lines)


def test_locate_names_the_session_of_the_pane_not_of_a_client(server: Server) -> None:
    main, longer = server.session("warden-main"), server.session("warden-main-2")
    environ = {"TMUX": f"{server.socket},1,0", "TMUX_PANE": longer.target}

    assert TmuxBackend().locate(environ) == longer
    assert TmuxBackend().locate({**environ, "TMUX_PANE": main.target}) == main

    server.tmux("kill-session", "-t", "=warden-main")
    with pytest.raises(TerminalGone):
        TmuxBackend().locate({**environ, "TMUX_PANE": main.target})


def test_locate_outside_tmux_is_none(server: Server) -> None:
    address = server.session("any")
    socket = f"{server.socket},1,0"

    assert TmuxBackend().locate({}) is None
    assert TmuxBackend().locate({"TMUX": socket}) is None
    assert TmuxBackend().locate({"TMUX_PANE": address.target}) is None
    assert TmuxBackend().locate({"TMUX": socket, "TMUX_PANE": "any"}) is None


def test_a_pane_that_is_gone_is_told_from_other_errors(server: Server) -> None:
    gone, left = server.session("warden-main"), server.session("warden-main-2")
    server.tmux("kill-session", "-t", "=warden-main")
    backend = TmuxBackend()

    for act in (
        lambda: backend.capture(gone),
        lambda: backend.press(gone, "Enter"),
        lambda: backend.paste(gone, "text"),
        lambda: backend.capture(left._replace(server=left.server + ".other")),
    ):
        with pytest.raises(TerminalGone):
            act()
    assert server.tmux("list-buffers") == ""
    assert backend.capture(left).lines[0] == ""

    with pytest.raises(TerminalError) as refused:
        backend.capture(left._replace(target="warden-main"))
    assert not isinstance(refused.value, TerminalGone)

    server.tmux("kill-server")
    with pytest.raises(TerminalGone):
        backend.press(left, "Enter")


def test_a_program_that_has_ended_in_a_kept_pane_is_gone(server: Server) -> None:
    address = server.session("kept")
    server.tmux("set-option", "-t", "kept", "remain-on-exit", "on")
    pid = int(server.tmux("display-message", "-p", "-t", address.target, "#{pane_pid}"))
    os.kill(pid, signal.SIGTERM)

    def look() -> bool:
        try:
            TmuxBackend().capture(address)
        except TerminalGone as gone:
            return "has ended" in str(gone)
        return False

    until(look, "TerminalGone")


def test_the_callers_own_tmux_does_not_matter(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address, got = server.reading("inside")
    monkeypatch.setenv("TMUX", "/nowhere,1,0")
    monkeypatch.setenv("TMUX_PANE", "%99")
    monkeypatch.setenv("LC_ALL", "C")

    TmuxBackend().paste(address, "日本")

    assert received(got, b"\x1b[200~\xe6\x97\xa5\xe6\x9c\xac\x1b[201~") == b"\x1b[200~\xe6\x97\xa5\xe6\x9c\xac\x1b[201~"


def program(folder: Path, script: str) -> None:
    """Put a program in the place of tmux into ``folder``."""
    file = folder / "tmux"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o700)


def test_a_hanging_or_missing_program_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    address = TerminalAddress("tmux", "s", "%0", "/nowhere")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program(tmp_path, "exec sleep 60")
    with pytest.raises(TerminalError, match=r"did not answer within 0\.05 s"):
        TmuxBackend(timeout=0.05).capture(address)

    (tmp_path / "tmux").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TerminalError, match="no tmux program"):
        TmuxBackend().capture(address)


def test_probe_tells_the_version_of_the_real_tmux(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "TMUX_PANE"):
        monkeypatch.delenv(name, raising=False)
    backend = TmuxBackend()

    probe = backend.probe()
    assert (probe.usable, probe.fix) == (True, "")
    assert probe.message.startswith("tmux ")


def test_sessions_are_those_of_the_server_that_the_environment_names(tmp_path: Path) -> None:
    backend = TmuxBackend()
    with PrivateTmux() as server:
        assert backend.sessions({"TMUX": f"{server.socket},1,0"}) == []
        for name in ("work-1", "with space"):
            server.start(name, ["sleep", "60"])
        assert sorted(backend.sessions({"TMUX": f"{server.socket},1,0"})) == ["with space", "work-1"]
    assert backend.sessions({"TMUX": f"{tmp_path}/none,1,0"}) == []


@pytest.mark.parametrize(
    ("said", "usable", "message"),
    [
        ("echo tmux 3.2", True, "tmux 3.2"),
        ("echo tmux 3.2a", True, "tmux 3.2a"),
        ("echo tmux next-3.5", True, "tmux next-3.5"),
        ("echo tmux 3.10", True, "tmux 3.10"),
        ("echo tmux 3.1c", False, "3.2 is needed"),
        ("echo tmux 3.0a", False, "3.2 is needed"),
        ("echo tmux 2.9", False, "3.2 is needed"),
        ("echo master", False, "does not tell its version: master"),
        ("echo broken >&2; exit 1", False, "does not tell its version: broken"),
        ("exit 3", False, "exit status 3"),
    ],
)
def test_probe_refuses_a_tmux_that_cannot_hold_a_pane(
    said: str, usable: bool, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path, said)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    probe = TmuxBackend().probe()

    assert probe.usable is usable
    assert message in probe.message
    assert bool(probe.fix) is not usable


def test_probe_says_that_there_is_no_tmux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert TmuxBackend().probe() == (False, "there is no tmux program on PATH", "install tmux 3.2 or newer")


def test_the_backend_is_light_to_import() -> None:
    heavy = "json", "attr", "pathlib", "shutil", "tempfile"
    code = (
        "import sys; old = set(sys.modules); import hookrouter_tmux.backend;"
        f"print([name for name in {heavy!r} if name in sys.modules and name not in old])"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-S", "-c", code], env=environ, check=True, capture_output=True, text=True)

    assert result.stdout == "[]\n"


@pytest.fixture
def sibling(server: Server) -> tuple[TerminalAddress, Path, Path]:
    """Return a pane that reads, what it got, and what its synchronized neighbour got."""
    address, got = server.reading("sibling")
    file = server.folder / "neighbour.bytes"
    other = server.tmux(
        *("split-window", "-d", "-t", address.target, "-P", "-F", "#{pane_id}"),
        *(sys.executable, str(server.reader), str(file)),
    )
    until(lambda: "ready" in server.tmux("capture-pane", "-p", "-t", other), "the neighbour's first line")
    server.tmux("set-option", "-w", "-t", address.target, "synchronize-panes", "on")
    return address, got, file


def test_keys_and_text_reach_no_synchronized_pane(server: Server, sibling: tuple[TerminalAddress, Path, Path]) -> None:
    address, got, neighbour = sibling
    backend = TmuxBackend()
    sent = b""
    for key in (*KEYS, ";", "'", '"', "\\", "#", "7", "ß", "👍"):
        backend.press(address, key)
        sent += KEYS.get(key, key).encode()
        assert received(got, sent) == sent
    backend.paste(address, "text")
    received(got, sent + b"\x1b[200~text\x1b[201~")

    server.tmux("send-keys", "-t", address.target, "x")
    assert received(neighbour, b"x") == b"x"
    assert server.tmux("list-buffers") == ""


@pytest.mark.parametrize("key", KEYS)
def test_a_key_has_the_same_bytes_with_and_without_synchronized_panes(server: Server, key: str) -> None:
    address, got = server.reading("same")

    TmuxBackend().press(address, key)

    assert received(got, KEYS[key].encode()) == KEYS[key].encode()


def test_a_pane_whose_input_is_off_is_told(server: Server) -> None:
    address, got = server.reading("off")
    server.tmux("select-pane", "-d", "-t", address.target)

    for act in (
        lambda: TmuxBackend().press(address, "Enter"),
        lambda: TmuxBackend().paste(address, "x"),
        lambda: TmuxBackend().hold(address, 5),
    ):
        with pytest.raises(TerminalError, match="switched off"):
            act()

    assert not got.exists()
    assert server.tmux("list-buffers") == ""
    assert server.tmux("display-message", "-p", "-t", address.target, "#{pane_input_off}") == "1"


def test_a_hold_keeps_all_other_keys_out_and_leaves_nothing_behind(server: Server) -> None:
    address, got = server.reading("held")
    server.tmux("split-window", "-t", address.target)
    server.tmux("resize-pane", "-Z")
    panes = "#{pane_id} #{pane_active} #{window_zoomed_flag} #{pane_input_off}"
    before = server.tmux("list-panes", "-F", panes)
    backend = TmuxBackend()

    assert backend.hold(address, 20) is False
    server.tmux("send-keys", "-t", address.target, "p")
    backend.press(address, "Up")
    server.tmux("send-keys", "-t", address.target, "q")
    assert backend.hold(address, 20) is True
    backend.paste(address, "text")
    server.tmux("send-keys", "-t", address.target, "r")
    backend.release(address)
    server.tmux("send-keys", "-t", address.target, "s")

    expected = b"\x1b[A\x1b[200~text\x1b[201~s"
    assert received(got, expected) == expected
    assert server.tmux("list-panes", "-F", panes) == before
    assert server.tmux("show-options", "-p", "-t", address.target) == ""


def test_a_hold_ends_by_itself_and_is_then_lost(server: Server) -> None:
    address, got = server.reading("expired")
    backend = TmuxBackend()
    backend.hold(address, 0.1)
    until(lambda: server.tmux("display-message", "-p", "-t", address.target, "#{pane_input_off}") == "0", "the end")
    server.tmux("send-keys", "-t", address.target, "p")

    with pytest.raises(TerminalError, match="other keys may have come"):
        backend.press(address, "Enter")

    assert backend.hold(address, 20) is False
    backend.press(address, "Enter")
    assert received(got, b"p\r") == b"p\r"


def test_a_hold_of_a_process_that_was_killed_is_taken_over(server: Server) -> None:
    address, got = server.reading("taken")
    killed, backend = TmuxBackend(), TmuxBackend()
    killed.hold(address, 60)

    assert backend.hold(address, 20) is False
    backend.press(address, "Enter")
    with pytest.raises(TerminalError):
        killed.press(address, "Escape")
    killed.release(address)
    server.tmux("send-keys", "-t", address.target, "p")
    backend.release(address)
    server.tmux("send-keys", "-t", address.target, "q")

    assert received(got, b"\rq") == b"\rq"


def test_a_key_without_a_hold_ends_that_of_a_process_that_was_killed(server: Server) -> None:
    address, got = server.reading("freed")
    TmuxBackend().hold(address, 60)

    TmuxBackend().press(address, "Enter")
    server.tmux("send-keys", "-t", address.target, "p")

    assert received(got, b"\rp") == b"\rp"
    assert server.tmux("show-options", "-p", "-t", address.target) == ""
