"""Programs that say a little and end soon."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hookrouter.util.short_program import run_short


@pytest.fixture(params=["told", "asked"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the system tell of a program's end, or ask for it."""
    if request.param == "asked":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
        monkeypatch.delattr(os, "memfd_create", raising=False)


def run(code: str, stdin: bytes = b"", seconds: float = 60.0) -> subprocess.CompletedProcess[bytes]:
    return run_short([sys.executable, "-c", code], environ={"WORD": "x"}, stdin=stdin, seconds=seconds)


@pytest.mark.usefixtures("way")
def test_output_and_exit_code_come_back() -> None:
    code = "import os, sys; data = sys.stdin.read(); print(data[::-1] * 50000, os.environ['WORD'])\nsys.exit('no')"
    done = run(code, "äb".encode())
    assert (done.returncode, done.stderr) == (1, b"no\n")
    assert done.stdout.decode() == "bä" * 50000 + " x\n"


@pytest.mark.usefixtures("way")
def test_one_that_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run("import time; time.sleep(3600)", seconds=0.3)


def test_one_that_is_not_there_is_told() -> None:
    with pytest.raises(FileNotFoundError):
        run_short(["no-such-program"], environ={"PATH": "/nowhere"}, seconds=1)
