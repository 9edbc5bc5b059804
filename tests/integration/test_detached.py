"""Processes that outlive the hook which starts them."""

from __future__ import annotations

import os
import select
import signal
import stat
from pathlib import Path

import pytest

from hookrouter.util.detached import spawn_detached

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@pytest.fixture
def environ(hookrouter_home: Path) -> dict[str, str]:
    return {**os.environ, "HOOKROUTER_HOME": str(hookrouter_home)}


def test_what_it_says_is_in_its_log_which_nobody_else_reads(
    environ: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    for times in (1, 2):
        pid = spawn_detached(["no-such-command"], environ, str(log), FLAGS)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
        assert log.read_text().count("no-such-command") >= times
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert capfd.readouterr() == ("", "")


def test_it_has_a_session_of_its_own_and_holds_nothing_of_its_parents(environ: dict[str, str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    pid = spawn_detached(["logs", "--follow"], environ, str(tmp_path / "log"), FLAGS)
    try:
        os.close(writing)
        # The end of the pipe is seen although the process goes on.
        assert select.select([reading], [], [], 30)[0] == [reading]
        assert os.read(reading, 1) == b""
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)
        assert os.getsid(pid) == pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)


def test_a_log_that_cannot_be_opened_is_an_error(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        spawn_detached(["version"], environ, str(tmp_path / "none" / "log"), FLAGS)
