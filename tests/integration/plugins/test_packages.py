"""`hookrouter plugins install` and `uninstall` in a real environment, with wheels that are made here."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import tarfile
import venv
from pathlib import Path
from typing import Any

import pytest

from support.wheels import wheel

REPOSITORY = Path(__file__).parents[3]


class Place:
    """A virtual environment that has hookrouter, a home, and a folder with wheels."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir(mode=0o700)
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        self.python = folder / "venv" / "bin" / "python"
        (site,) = (folder / "venv").glob("lib/python3*/site-packages")
        # hookrouter and pip are taken from here.
        here = (sysconfig.get_path("purelib"), REPOSITORY, REPOSITORY / "plugins")
        (site / "here.pth").write_text("".join(f"{one}\n" for one in here))
        self.site = site

    def run(self, *words: object, code: int = 0) -> str:
        return self.hookrouter("plugins", *words, code=code)

    def hookrouter(self, *words: object, code: int = 0) -> str:
        environ = {**os.environ, "HOOKROUTER_HOME": str(self.home), "HOME": str(self.folder), "PIP_NO_INDEX": "1"}
        done = subprocess.run(
            [self.python, "-P", "-m", "hookrouter", *map(str, words)],
            capture_output=True,
            text=True,
            env=environ,
            cwd=self.folder,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout if code == 0 else done.stdout + done.stderr

    def json(self, *words: object, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a place with nothing in it."""
    return Place(tmp_path)


def test_a_package_comes_is_found_and_goes(place: Place, tmp_path: Path) -> None:
    (place.home / "config.toml").write_text(
        '[plugins]\nguards_alone = true\nlast = ["night-guard"]\n[plugins.night-guard]\non_error = "closed"\n'
    )
    guard = wheel(tmp_path, "night_guard")
    done = place.json("install", "./night_guard-1.0-py3-none-any.whl")
    assert (done["command"][0], done["command"][-1]) == (str(place.python), str(guard))
    assert str(tmp_path / "venv") in done["environment"]
    (plugin,) = done["plugins"]
    assert (plugin["name"], plugin["distribution"], plugin["status"]) == ("night-guard", "night_guard", "active")
    assert (plugin["hooks"], done["run"]) == (["pre_tool_use_bash"], ["hookrouter install"])
    assert "night-guard: was installed already, night_guard 1.0, active" in place.run("install", guard)
    told = place.run("uninstall", "night_guard")
    assert "night_guard: removed, with the plugins night-guard" in told
    assert "[plugins.night-guard], which fails closed: what it guarded is refused until the table is gone" in told
    assert "'night-guard' in plugins.last" in told
    assert not list(place.site.glob("night_guard*"))


def test_a_package_without_a_plugin_a_broken_one_and_one_that_is_nowhere(place: Place, tmp_path: Path) -> None:
    told = place.run("install", wheel(tmp_path, "nothing", announced=False), code=1)
    assert "no new plugin came with it: it has no entry point of the group 'hookrouter'" in told
    (broken,) = place.json("install", wheel(tmp_path, "broken", "raise ValueError('\\x1b[31m')"), code=1)["plugins"]
    assert (broken["status"], "ValueError" in broken["reason"]) == ("broken", True)
    told = place.run("install", "hookrouter-that-is-nowhere", code=2)
    assert "hookrouter-that-is-nowhere" in told
    assert '--no-input", "install", "--", "hookrouter-that-is-nowhere"] ended with 1' in told


BUILD = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "day-guard"
version = "1.0"
"""

BACKEND = """
import os, shutil

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    (name,) = [name for name in os.listdir(".") if name.endswith(".whl")]
    shutil.copy(name, wheel_directory)
    return name
"""


def project(folder: Path) -> Path:
    """Make a folder that pip builds with a backend of its own, so that nothing is downloaded."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text(BUILD)
    (folder / "backend.py").write_text(BACKEND)
    wheel(folder, "day_guard")
    return folder


@pytest.mark.parametrize("form", ["folder", "source distribution"])
def test_what_pip_has_to_build_is_built_and_found(place: Place, tmp_path: Path, form: str) -> None:
    what = project(tmp_path / "day_guard-1.0")
    if form != "folder":
        (what / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: day-guard\nVersion: 1.0\n")
        with tarfile.open(tmp_path / "day_guard-1.0.tar.gz", "w:gz") as file:
            file.add(what, what.name)
        what = tmp_path / "day_guard-1.0.tar.gz"
    (plugin,) = place.json("install", what)["plugins"]
    assert (plugin["name"], plugin["status"]) == ("day-guard", "active")


def entries(place: Place) -> list[str]:
    settings = json.loads((place.folder / ".claude" / "settings.json").read_text())
    return sorted(settings.get("hooks", {}))


def test_the_users_settings_follow(place: Place, tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    (place.home / "config.toml").write_text("[plugins]\nguards_alone = true\n")
    guard, single = wheel(tmp_path, "night_guard"), tmp_path / "single.py"
    single.write_text("from hookrouter import hookimpl\n@hookimpl\ndef stop(event):\n    return None\n")
    # Not where hookrouter is not registered: it is only said what to run.
    done = place.json("install", single)
    assert (done["registered"], done["run"], settings.exists()) == (None, ["hookrouter install"], False)
    place.hookrouter("install")
    assert entries(place) == ["Stop"]

    done = place.json("install", guard, "--no-register")
    assert (done["registered"], done["run"], entries(place)) == (None, ["hookrouter install"], ["Stop"])
    done = place.json("install", guard)
    assert (done["registered"], done["run"], entries(place)) == (str(settings), [], ["PreToolUse", "Stop"])

    told = place.run("uninstall", "night-guard")
    assert f"  registered: in {settings}" in told
    assert entries(place) == ["Stop"]
    (tmp_path / "other.py").write_text(single.read_text().replace("stop", "session_start"))
    assert f"  registered: in {settings}" in place.run("install", tmp_path / "other.py")
    assert entries(place) == ["SessionStart", "Stop"]


def test_settings_that_cannot_be_changed_are_warned_of(place: Place, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (place.home / "config.toml").write_text("[plugins]\nguards_alone = true\n")
    for name in ("stop", "session_start"):
        (tmp_path / f"{name}.py").write_text(
            f"from hookrouter import hookimpl\n@hookimpl\ndef {name}(event):\n    pass\n"
        )
    place.run("install", tmp_path / "stop.py")
    place.hookrouter("install")
    tmp_path.chmod(0o777)
    told = place.run("install", tmp_path / "session_start.py")
    assert "run now, so that Claude Code knows: hookrouter install" in told
    assert entries(place) == ["Stop"]
