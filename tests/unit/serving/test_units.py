"""The files that make the router a service of the user."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from hookrouter._serving.units import Service, UnitError, service, started_program, switch
from hookrouter.storage.home import Home

PROGRAM = ["/opt/a b/50%/$x/python", "$y"]


def made(platform: str, **environ: str) -> Service:
    variables = {"HOME": "/home/u", **environ}
    return service(Home.from_environ(variables, platform), variables, PROGRAM, platform)


def test_the_unit_of_the_users_own_home_has_the_plain_name_and_the_folders_of_the_environment() -> None:
    unit = made("linux", XDG_STATE_HOME="/var/u/state", XDG_CACHE_HOME="relative", PYTHONPATH="/p")
    path = "/home/u/.config/systemd/user/hookrouter"
    assert list(unit.files) == [f"{path}.service", f"{path}.socket"]
    starting = unit.files[f"{path}.service"]
    assert 'ExecStart="/opt/a b/50%%/$x/python" "$$y" "serve"\n' in starting
    assert 'Environment="PYTHONPATH=/p"\nEnvironment="XDG_STATE_HOME=/var/u/state"\n#' in starting
    assert "KillMode=process\n" in starting
    listening = unit.files[f"{path}.socket"]
    assert "ListenStream=/var/u/state/hookrouter/state/router/calls\nSocketMode=0600\nDirectoryMode=0700\n" in listening


def test_another_home_has_a_unit_of_its_own_in_the_users_config_folder() -> None:
    one, other = (made("linux", HOOKROUTER_HOME=home, XDG_CONFIG_HOME="/c") for home in ("/h 1/50%", "/h2"))
    assert not set(one.files) & set(other.files)
    assert all(path.startswith("/c/systemd/user/hookrouter-") for path in one.files)
    text = "".join(one.files.values())
    assert 'Environment="HOOKROUTER_HOME=/h 1/50%%"\n' in text
    assert "ListenStream=/h 1/50%%/state/router/calls\n" in text
    assert "XDG_CONFIG_HOME" not in text


def test_the_agent_of_launchd_says_the_same() -> None:
    unit = made("darwin", HOOKROUTER_HOME="/h")
    ((path, text),) = unit.files.items()
    agent = plistlib.loads(text.encode())
    assert path == f"/home/u/Library/LaunchAgents/{agent['Label']}.plist"
    assert agent["ProgramArguments"] == [*PROGRAM, "serve"]
    assert agent["Sockets"] == {"Calls": {"SockPathName": "/h/state/router/calls", "SockPathMode": 0o600}}
    assert agent["EnvironmentVariables"] == {"HOOKROUTER_HOME": "/h"}
    assert unit.enable[-1] == ["launchctl", "bootstrap", f"gui/{os.getuid()}", path]


@pytest.mark.parametrize("home", ["/" + "long" * 30, "/two\nlines"])
def test_a_home_that_no_such_file_can_name_is_refused(home: str) -> None:
    with pytest.raises(UnitError):
        made("linux", HOOKROUTER_HOME=home)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_started_program_tells_one_installation_from_another(platform: str) -> None:
    variables = {"HOME": "/home/u"}
    home = Home.from_environ(variables, platform)
    one, same, other = (
        next(iter(service(home, {**variables, **more}, program, platform).files.values()))
        for program, more in ((PROGRAM, {}), (PROGRAM, {"PYTHONPATH": "/p"}), (["/other"], {}))
    )
    assert started_program(one) == started_program(same) != started_program(other)
    assert started_program(one)


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


def test_files_are_written_and_removed(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    unit = service(Home.in_folder("/h"), environ, PROGRAM, "linux")
    assert set(unit.present().values()) == {None}
    unit.write()
    assert unit.present() == unit.files
    assert all(os.stat(path).st_mode & 0o077 == 0 for path in unit.files)
    unit.remove()
    unit.remove()
    assert set(unit.present().values()) == {None}


def test_the_first_command_that_fails_is_told(tmp_path: Path) -> None:
    assert switch([["true"]]) == ""
    assert switch([["true"], ["sh", "-c", "echo no bus >&2; exit 1"], ["touch", str(tmp_path / "x")]]) == "no bus"
    assert switch([["false"]]) == "false ended with 1"
    assert "there is no /nowhere/systemctl" in switch([["/nowhere/systemctl"]])
    assert not (tmp_path / "x").exists()
