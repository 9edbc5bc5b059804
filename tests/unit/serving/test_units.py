"""The files that make the router a service of the user."""

from __future__ import annotations

import os
import plistlib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from hookrouter._serving import units
from hookrouter._serving.units import Service, UnitError, service, started_program
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


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_what_a_service_starts_finds_the_programs_of_the_shell_that_installed_it(platform: str) -> None:
    shell = {"PATH": "/opt/homebrew/bin:/bin", "LANG": "de_DE.UTF-8", "LC_CTYPE": "UTF-8", "LC_ALL": ""}
    text = "".join(made(platform, **shell).files.values())
    for name, value in shell.items():
        assert (name in text) is bool(value)
        assert value in text
    assert "PATH" not in "".join(made(platform, PATH="/a\nb").files.values())


class Launchd:
    """A launchd with one agent, which ends some time after it was told to."""

    def __init__(self, *, is_loaded: bool) -> None:
        self.is_loaded = is_loaded
        self.ends_in = 0

    def switch(self, commands: Sequence[Sequence[str]]) -> str:
        [[_program, what, *_words]] = commands
        self.ends_in -= 1
        if self.ends_in == 0:
            self.is_loaded = False
        if what == "bootout":
            if not self.is_loaded:
                return "Boot-out failed: 3: No such process"
            self.ends_in = 3
            return ""
        if self.is_loaded:
            return "Bootstrap failed: 5: Input/output error"
        self.is_loaded = True
        return ""

    def sleep(self, _seconds: float) -> None:
        """Nobody waits."""

    def monotonic(self) -> float:
        return 0.0


@pytest.mark.parametrize("is_loaded", [False, True])
def test_an_agent_that_is_loaded_is_replaced(monkeypatch: pytest.MonkeyPatch, is_loaded: bool) -> None:
    launchd = Launchd(is_loaded=is_loaded)
    monkeypatch.setattr(units, "switch", launchd.switch)
    monkeypatch.setattr(units, "time", launchd)
    assert units.switch_on(made("darwin")) == ""
    assert launchd.is_loaded


def test_a_launchd_that_takes_no_agent_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(units, "switch", lambda commands: f"{commands[0][1]} failed")
    monkeypatch.setattr(units, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None))
    assert units.switch_on(made("darwin")) == "bootstrap failed"


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
