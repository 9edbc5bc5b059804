"""What commands do with the real terminal, or the closed stream, that they write to."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.util.program import script_argv


@pytest.mark.parametrize("no_color", ["", "1"])
def test_logs_on_a_terminal_are_coloured_and_as_wide_as_it(tmp_path: Path, no_color: str) -> None:
    home = str(tmp_path / "home")
    Journal(Home.in_folder(home).logs).write({"event": "Stop", "level": "error", "reason": "x" * 500}, "s-1")
    environ = {**os.environ, "HOOKROUTER_HOME": home, "NO_COLOR": no_color, "COLUMNS": "80", "TERM": "xterm"}
    leader, follower = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "hookrouter", "logs"], stdout=follower, env=environ) as process:
        os.close(follower)
        shown = b"".join(iter(lambda: _read(leader), b""))
    os.close(leader)
    assert process.returncode == 0
    text = shown.decode()
    assert ("\x1b[31merror" in text) is (no_color == "")
    assert "…" in text
    assert text.count("\n") == 1


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        # Nobody has the other end any more.
        return b""


@pytest.mark.parametrize("command", ["doctor", "stats", "questions", "outbox list", "plugins list", "config show"])
def test_a_command_whose_output_is_closed_ends_without_a_traceback(command: str, tmp_path: Path) -> None:
    line = f"{shlex.join([*script_argv(), *command.split()])} >&- 2>{tmp_path}/errors"
    subprocess.run(["/bin/sh", "-c", line], check=False, timeout=60)
    assert "Traceback" not in (tmp_path / "errors").read_text()
