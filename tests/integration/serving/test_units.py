"""The files that make the router a service of the user, as programs of the system take them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hookrouter._serving.units import UnitError, service, switch
from hookrouter.storage.home import Home


def test_systemd_finds_nothing_wrong_with_the_files(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    program = tmp_path / "a b$c%d" / "hookrouter"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environ = {"HOME": str(tmp_path), "HOOKROUTER_HOME": str(tmp_path / "h %i")}
    try:
        unit = service(Home.from_environ(environ), environ, [str(program)], "linux")
    except UnitError:
        pytest.skip("the folder for this test has too long a name for a socket")
    unit.write()
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *unit.files],
        env={**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not [line for line in done.stderr.splitlines() if "hookrouter" in line], done.stderr
    assert done.returncode == 0, done.stderr


def test_the_first_command_that_fails_is_told(tmp_path: Path) -> None:
    assert switch([["true"]]) == ""
    assert switch([["true"], ["sh", "-c", "echo no bus >&2; exit 1"], ["touch", str(tmp_path / "x")]]) == "no bus"
    assert switch([["false"]]) == "false ended with 1"
    assert "there is no /nowhere/systemctl" in switch([["/nowhere/systemctl"]])
    assert not (tmp_path / "x").exists()
