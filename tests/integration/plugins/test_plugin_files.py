"""Plugins that are single files of the home, in real hook runs and commands."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrouter.samples import sample
from hookrouter.testing import Hooks
from hookrouter.util.program import script_argv

BASH = sample("PreToolUse", "Bash")
GUARD = """
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply

@hookimpl
def pre_tool_use_bash(tool_input):
    return PreToolUseReply.deny("not here")
"""


class Place:
    """A home, and a folder whose files it may add."""

    def __init__(self, folder: Path) -> None:
        self.home, self.here = folder / "home", folder / "here"
        self.here.mkdir()
        self.marks = folder / "marks"

    def file(self, name: str, text: str = GUARD, *, into: Path | None = None) -> Path:
        """Write a file that writes a mark when it is imported."""
        path = (into or self.here) / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mark = f"with open({str(self.marks)!r}, 'a') as marks:\n    marks.write({name!r})\n"
        path.write_text(f"{text}\n{mark}")
        path.chmod(0o600)
        return path

    def was_imported(self) -> bool:
        return self.marks.exists()

    def run(self, *words: str, given: object = None, code: int = 0) -> str:
        done = subprocess.run(
            [*script_argv(), *words],
            input=None if given is None else json.dumps(given),
            capture_output=True,
            text=True,
            env={**os.environ, "HOOKROUTER_HOME": str(self.home)},
            cwd=self.here,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, f"{done.returncode} {done.stdout} {done.stderr}"
        return done.stdout + done.stderr

    def hook(self) -> Any:
        said = self.run("run", "pre-tool-use", given=BASH)
        return json.loads(said)["hookSpecificOutput"]["permissionDecisionReason"] if said else None

    def plugin(self, name: str) -> dict[str, Any]:
        (found,) = [one for one in json.loads(self.run("plugins", "list", "--json")) if one["name"] == name]
        return dict(found)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_file_that_was_added_refuses_changes_and_goes(place: Place) -> None:
    place.file("guard.py")
    added = json.loads(place.run("plugins", "add", "guard.py", "--json"))
    file = place.home / "plugins" / "guard.py"
    assert (added["name"], added["file"], added["status"]) == ("guard", str(file), "active")
    assert added["hooks"] == ["pre_tool_use_bash"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert place.hook() == "guard: not here"
    found = place.plugin("guard")
    assert (found["status"], found["distribution"], found["entry_point"]) == ("active", "", str(file))
    file.write_text(GUARD.replace("not here", "nowhere"))
    assert place.hook() == "guard: nowhere"
    place.run("plugins", "disable", "guard")
    assert place.hook() is None
    place.run("plugins", "enable", "guard")
    assert str(file) in place.run("plugins", "remove", "guard")
    assert place.hook() is None


def test_a_file_put_there_by_hand_is_found_at_the_next_call(place: Place) -> None:
    assert place.hook() is None
    place.file("guard.py", into=place.home / "plugins")
    assert place.hook() == "guard: not here"


def test_settings_order_and_failing_closed_are_as_for_any_plugin(place: Place) -> None:
    text = """
import attrs
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply

@attrs.frozen
class Settings:
    word: str = "no"

@hookimpl
def plugin_settings():
    return Settings

@hookimpl
def pre_tool_use_bash(context):
    if context.settings(Settings).word == "break":
        raise ValueError("broken")
    return PreToolUseReply.deny(context.settings(Settings).word)
"""
    place.file("guard.py", text, into=place.home / "plugins")
    assert place.hook() == "guard: no"
    config = place.home / "config.toml"
    config.write_text('[plugins.guard.settings]\nword = "never"\n')
    assert place.hook() == "guard: never"
    config.write_text('[plugins.guard]\non_error = "closed"\n[plugins.guard.settings]\nword = "break"\n')
    assert "broken" in place.hook()
    # Gone, it still refuses what it guarded.
    (place.home / "plugins" / "guard.py").unlink()
    assert "guard" in place.hook()


def test_a_package_and_a_helper_beside_it(place: Place) -> None:
    plugins = place.home / "plugins"
    place.file("_words.py", "WORD = 'said'", into=plugins)
    text = GUARD.replace(
        "from hookrouter import hookimpl", "from hookrouter import hookimpl\nfrom .._words import WORD"
    )
    place.file("guard/__init__.py", text.replace('"not here"', "WORD"), into=plugins)
    assert place.hook() == "guard: said"


@pytest.mark.parametrize("way", ["mode of the file", "mode of the folder", "needs", "syntax"])
def test_what_must_not_or_cannot_run_is_told_and_costs_nobody_else(place: Place, way: str) -> None:
    plugins = place.home / "plugins"
    head = '# /// script\n# dependencies = ["no-such-thing"]\n# ///\n' if way == "needs" else ""
    bad = place.file("bad.py", head + GUARD + ("def (" if way == "syntax" else ""), into=plugins)
    if way == "mode of the file":
        bad.chmod(0o622)
    if way == "mode of the folder":
        plugins.chmod(0o770)
    else:
        place.file("good.py", GUARD.replace("not here", "good"), into=plugins)
        assert place.hook() == "good: good"
        place.marks.unlink()
    if way == "mode of the folder":
        assert place.hook() is None
    found = place.plugin("bad")
    assert found["status"] == "broken"
    assert found["fix"].startswith(f"correct or remove {bad}")
    for command in (["doctor"], ["plugins", "info", "bad"], ["explain", "PreToolUse", "--tool", "Bash"]):
        done = subprocess.run(
            [*script_argv(), *command],
            capture_output=True,
            text=True,
            env={**os.environ, "HOOKROUTER_HOME": str(place.home)},
            timeout=120,
            check=False,
        )
        assert "bad" in done.stdout or command[0] == "explain", done
    assert "bad.py" not in (place.marks.read_text() if place.was_imported() else "")


def test_two_plugins_of_one_name_are_told(place: Place) -> None:
    place.file("tmux.py", into=place.home / "plugins")
    found = place.plugin("tmux")
    assert found["status"] == "broken"
    assert (
        found["reason"]
        == f"hookrouter, {place.home}/plugins/tmux.py all have a plugin of this name: uninstall or rename all but one"
    )
    assert not place.was_imported()


def test_a_file_and_a_package_of_one_name_are_told(place: Place) -> None:
    plugins = place.home / "plugins"
    place.file("guard.py", into=plugins)
    place.file("__init__.py", GUARD.replace("not here", "a package"), into=plugins / "guard")
    found = place.plugin("guard")
    assert found["status"] == "broken"
    assert found["reason"].startswith(f"{plugins}/guard, {plugins}/guard.py all have a plugin of this name")
    place.run("plugins", "remove", "guard")
    assert not (plugins / "guard.py").exists()
    assert place.hook() == "guard: a package"


@pytest.mark.parametrize("name", ["_guard.py", "guard.txt", "a b.py", "gu.ard.py", "order.py", "tmux.py"])
def test_a_name_that_cannot_be_one_is_refused_and_nothing_is_written(place: Place, name: str) -> None:
    place.file(name)
    said = place.run("plugins", "add", name, code=2)
    assert name.removesuffix(".py") in said
    assert not (place.home / "plugins").exists()
    assert not place.was_imported()


def test_another_file_is_replaced_only_when_that_is_asked_for(place: Place) -> None:
    file = place.file("guard.py")
    place.run("plugins", "add", "guard.py")
    place.run("plugins", "add", "guard.py")
    file.write_text(GUARD.replace("not here", "nowhere"))
    assert "--replace" in place.run("plugins", "add", "guard.py", code=2)
    assert place.hook() == "guard: not here"
    place.run("plugins", "add", "guard.py", "--replace")
    assert place.hook() == "guard: nowhere"


def test_a_file_that_writes_to_every_descriptor_costs_nobody_else(place: Place) -> None:
    writes = """
import os
for number in range(3, 20):
    try:
        os.write(number, b'{"hooks": []}\\n')
    except OSError:
        pass
"""
    place.file("bad.py", writes, into=place.home / "plugins")
    place.file("good.py", into=place.home / "plugins")
    assert place.plugin("bad")["reason"] == "it could not be inspected: something else wrote to its descriptors"
    assert place.hook() == "good: not here"


def test_a_file_that_is_broken_is_added_and_told(place: Place) -> None:
    place.file("guard.py", "def (")
    said = place.run("plugins", "add", "guard.py", code=1)
    assert "broken" in said
    assert "SyntaxError" in said


def test_a_file_in_the_test_kit(place: Place, hooks: Hooks) -> None:
    file = place.file("git-guard.py")
    assert hooks.add(file) == "git-guard"
    assert hooks.fire("PreToolUse", tool="Bash").decision == "deny"


@pytest.mark.parametrize("kind", ["gone", "a named pipe", "no text"])
def test_what_cannot_be_read_is_told_and_nothing_is_written(place: Place, kind: str) -> None:
    path = place.here / "guard.py"
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "no text":
        path.write_bytes(b"\xff")
    assert "FILE guard.py: " in place.run("plugins", "add", "guard.py", code=2)
    assert not (place.home / "plugins").exists()
