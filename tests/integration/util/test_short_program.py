"""Programs that say a little and end soon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter.util.short_program import Finished, run_short


@pytest.fixture(params=["told", "asked"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the system tell of a program's end, or ask for it."""
    if request.param == "asked":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
        monkeypatch.delattr(os, "memfd_create", raising=False)


def run(code: str, stdin: bytes = b"", seconds: float = 60.0) -> Finished:
    return run_short([sys.executable, "-c", code], environ={"WORD": "x"}, stdin=stdin, seconds=seconds)


@pytest.mark.usefixtures("way")
def test_output_and_exit_code_come_back() -> None:
    code = "import os, sys; data = sys.stdin.read(); print(data[::-1] * 50000, os.environ['WORD'])\nsys.exit('no')"
    done = run(code, "äb".encode())
    assert (done.returncode, done.stderr) == (1, b"no\n")
    assert done.stdout.decode() == "bä" * 50000 + " x\n"


@pytest.mark.usefixtures("way")
def test_one_that_takes_too_long_is_ended() -> None:
    with pytest.raises(TimeoutError):
        run("import time; time.sleep(3600)", seconds=0.3)


def test_one_that_is_not_there_is_told() -> None:
    with pytest.raises(FileNotFoundError):
        run_short(["no-such-program"], environ={"PATH": "/nowhere"}, seconds=1)


def test_one_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("#!/bin/true\n")
    with pytest.raises(PermissionError):
        run_short(["program"], environ={"PATH": str(tmp_path)}, seconds=1)


def test_the_first_that_can_be_run_is_run(tmp_path: Path) -> None:
    for folder, mode in (("a", 0o600), ("b", 0o700)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "program").write_text("#!/bin/sh\nkill -KILL $$\n")
        (tmp_path / folder / "program").chmod(mode)
    done = run_short(["program"], environ={"PATH": f"/nowhere:{tmp_path}/a:{tmp_path}/b"}, seconds=60)
    assert done == Finished(-9, b"", b"")


@pytest.mark.usefixtures("way")
def test_it_gets_no_descriptor_and_no_ignored_signal_of_this_process() -> None:
    kept, other = os.pipe()
    os.set_inheritable(other, True)
    try:
        done = run_short(
            ["sh", "-c", "ls /dev/fd; cat /proc/self/status"], environ={"PATH": "/usr/bin:/bin"}, seconds=60
        )
    finally:
        os.close(kept)
        os.close(other)
    descriptors, _, status = done.stdout.decode().partition("Name:")
    ignored = int(status.split("SigIgn:")[1].split()[0], 16)
    # The last one is that of the listing itself.
    assert descriptors.split()[:-1] == ["0", "1", "2"]
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_its_end_counts_where_nobody_hears_of_it() -> None:
    code = (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from hookrouter.util.short_program import run_short\n"
        "print(run_short(['sh', '-c', 'echo said'], environ={'PATH': '/usr/bin:/bin'}, seconds=60))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"Finished(returncode=0, stdout=b'said\\n', stderr=b'')\n"
