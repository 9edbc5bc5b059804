"""What is known of installed plugins, and when it is looked at anew."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from hookrouter._inspection.inspector import describe
from hookrouter._plugins import discovery
from hookrouter._plugins.discovery import load_index
from hookrouter._plugins.index import cache_file, read_cache, read_fresh
from hookrouter._plugins.registry import Plugins
from hookrouter.config import Config, PluginConfig
from hookrouter.storage.home import Home
from hookrouter.terminals import terminal_backends
from hookrouter.testing.plugins import write_plugin

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = "from halfway_base import Base\nclass Plugin(Base):\n    def pre_tool_use_bash(self, event):\n        return\n"
BASE = "class Base:\n    def stop(self, event):\n        return None\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with a plugin whose class and base stand in modules of their own, without a marker anywhere."""
    folder = tmp_path / "site"
    write_plugin(folder, "halfway", "from halfway_impl import Plugin\n", attribute="Plugin")
    (folder / "halfway_impl.py").write_text(PLUGIN)
    (folder / "halfway_base.py").write_text(BASE)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("halfway", "halfway_impl", "halfway_base"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return Home.in_folder(str(tmp_path / "home"))


def found(home: Home, *, anew: bool = False) -> tuple[list[str], list[str]]:
    (plugin,) = [plugin for plugin in load_index(home, os.environ, anew=anew) if plugin.name == "halfway"]
    return list(plugin.hooks or ()), [hint.partition(" ")[0] for hint in plugin.hints]


@pytest.mark.parametrize("file", ["halfway_impl.py", "halfway_base.py"])
def test_a_marker_that_is_added_anywhere_in_the_class_is_seen(home: Home, tmp_path: Path, file: str) -> None:
    assert found(home) == ([], ["pre_tool_use_bash"])
    path = tmp_path / "site" / file
    path.write_text("from hookrouter import hookimpl\n" + path.read_text().replace("    def", "    @hookimpl\n    def"))
    hook = "stop" if "base" in file else "pre_tool_use_bash"
    assert hook in found(home)[0]


def test_the_files_of_hinted_functions_are_watched(home: Home) -> None:
    description = describe("halfway", "halfway:Plugin", {})
    files = {os.path.basename(path) for path, _ in description["files"]}  # type: ignore[attr-defined]
    assert {"halfway.py", "halfway_impl.py", "halfway_base.py"} <= files


def test_a_command_may_look_anew(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    found(home)
    scanned = []
    monkeypatch.setattr("hookrouter._plugins.scan.scan", lambda home: scanned.append(home) or ())
    assert discovery.load_index(home, {}) != ()
    assert not scanned
    assert discovery.load_index(home, {}, anew=True) == ()
    assert scanned


STATELESS = """
from hookrouter import hookimpl, stateless

@hookimpl
@stateless
def stop(event):
    return None

@hookimpl
def terminal_backend():
    return None
"""


def test_which_hooks_leave_nothing_is_known_without_the_plugin(home: Home, tmp_path: Path) -> None:
    write_plugin(tmp_path / "site", "halfway", STATELESS)
    plugins = Plugins(load_index(home, os.environ, anew=True), Config(), lambda _plugin, _text: None)
    [info] = [info for info in plugins.listing() if info.name == "halfway"]
    assert (set(info.hooks), info.stateless) == ({"stop", "terminal_backend"}, {"stop"})


MATCHING = """
from hookrouter import hookimpl
from hookrouter.markers import matching, wakes

@hookimpl
@matching("idle_prompt", "auth_success")
def notification(event):
    return None

@hookimpl
@matching("bell")
@wakes
def file_changed(event):
    return None

@hookimpl
def stop(event):
    return None
"""


def test_which_calls_a_hook_is_about_is_known_without_the_plugin(home: Home, tmp_path: Path) -> None:
    write_plugin(tmp_path / "site", "halfway", MATCHING)
    load_index(home, os.environ, anew=True)
    plugins = Plugins(load_index(home, os.environ), Config(), lambda _plugin, _text: None)
    [info] = [info for info in plugins.listing() if info.name == "halfway"]
    assert info.matching == {"notification": ("idle_prompt", "auth_success"), "file_changed": ("bell",)}
    assert info.wakes == {"file_changed"}
    asked = [("notification", "idle_prompt", False), ("notification", "other", False), ("notification", None, False)]
    asked += [
        ("stop", None, False),
        ("stop", None, True),
        ("file_changed", "bell", False),
        ("file_changed", "bell", True),
    ]
    assert [info.takes(hook, value, wakes=wakes) for hook, value, wakes in asked] == [
        *(True, False, True),
        *(True, False, False, True),
    ]
    called = plugins.called(["notification", "raw_event"], "other")
    assert "halfway" not in [one.name for one in called]


@pytest.mark.parametrize("is_marked", [True, False])
def test_it_is_noted_if_a_plugin_contributes_that_may_leave_something(
    home: Home, tmp_path: Path, is_marked: bool
) -> None:
    source = STATELESS.replace("@hookimpl\ndef terminal", "@hookimpl\n@stateless\ndef terminal")
    write_plugin(tmp_path / "site", "halfway", source if is_marked else STATELESS)
    plugins = Plugins(load_index(home, os.environ, anew=True), Config(), lambda _plugin, _text: None)
    assert not plugins.has_called_unmarked
    assert "tmux" in terminal_backends(plugins)
    assert plugins.has_called_unmarked is not is_marked


def test_an_index_with_stamps_of_an_older_version_is_read_and_stale(home: Home) -> None:
    index = load_index(home, os.environ)
    path = cache_file(home)
    with open(path, "rb") as file:
        document = json.load(file)
    for record in document["plugins"]:
        record["files"] = [[name, 1700000000000000000] for name, _ in record.get("files", [])]
    with open(path, "w") as file:
        json.dump(document, file)
    assert [(plugin.name, plugin.hooks) for plugin in read_cache(home)] == [
        (plugin.name, plugin.hooks) for plugin in index
    ]
    assert read_fresh(home) is None


CLOSED = Config(plugins={"halfway": PluginConfig(on_error="closed")})

GUARD = """
from hookrouter import hookimpl
from hookrouter.markers import if_known, matching, waits, wakes

@hookimpl
def user_prompt_submit(event):
    return None

@hookimpl
@if_known
def worktree_create(event):
    return None

@hookimpl
@matching("idle_prompt")
def notification(event):
    return None

@hookimpl
@waits(5, setting="ask")
def pre_tool_use(event):
    return None
"""


@pytest.mark.parametrize("source", ["", "from hookrouter import hookimpl\n", "def broken(\n"])
def test_a_guard_whose_file_is_half_written_guards_what_it_did(home: Home, tmp_path: Path, source: str) -> None:
    write_plugin(tmp_path / "site", "halfway", GUARD.partition("@hookimpl\n@if_known")[0])
    load_index(home, os.environ, anew=True)
    write_plugin(tmp_path / "site", "halfway", source)
    # However often it is looked into.
    for _ in range(2):
        index = load_index(home, os.environ, anew=True)
        plugins = Plugins(index, CLOSED, lambda _plugin, _text: None)
        assert [info.name for info in plugins.broken_fail_closed(["user_prompt_submit"])] == ["halfway"]
        assert plugins.broken_fail_closed(["pre_tool_use"]) == []
    assert plugins.fail_closed("user_prompt_submit") == ["halfway"]


def test_a_plugin_without_hooks_that_may_fail_open_is_active_and_has_none(home: Home, tmp_path: Path) -> None:
    write_plugin(tmp_path / "site", "halfway", GUARD)
    load_index(home, os.environ, anew=True)
    write_plugin(tmp_path / "site", "halfway", "")
    plugins = Plugins(load_index(home, os.environ, anew=True), Config(), lambda _plugin, _text: None)
    [info] = [info for info in plugins.listing() if info.name == "halfway"]
    assert (info.status, info.hooks) == ("active", ())


@pytest.mark.parametrize("how", ["gone", "broken", "empty"])
def test_what_is_known_of_the_hooks_of_a_guard_stays_known(home: Home, tmp_path: Path, how: str) -> None:
    write_plugin(tmp_path / "site", "halfway", GUARD)
    load_index(home, os.environ, anew=True)
    if how == "gone":
        for folder in (tmp_path / "site").glob("*.dist-info"):
            shutil.rmtree(folder)
    else:
        write_plugin(tmp_path / "site", "halfway", "def broken(\n" if how == "broken" else "")
    for _ in range(2):
        plugins = Plugins(load_index(home, os.environ, anew=True), CLOSED, lambda _plugin, _text: None)
        [info] = [info for info in plugins.listing() if info.name == "halfway"]
        assert info.status == "broken"
        # Its settings are not known any more, so that none says that it does not wait.
        assert set(info.hooks) == {"user_prompt_submit", "worktree_create", "notification", "pre_tool_use"}
        assert (info.if_known, info.matching) == ({"worktree_create"}, {"notification": ("idle_prompt",)})


def announcing(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    for folder in reversed(folders):
        monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, folders)))


@pytest.mark.parametrize("spelling", ["halfway", "Halfway"])
def test_a_distribution_that_comes_first_hides_another_one_of_its_name(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    metadata = tmp_path / "first" / f"{spelling}-0.9.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: halfway\nVersion: 0.9\n")
    announcing(monkeypatch, tmp_path / "first", tmp_path / "site")
    assert "halfway" not in [plugin.name for plugin in load_index(home, os.environ, anew=True)]


@pytest.mark.parametrize("left", [b"", b"Name:\n", b"\xff\x00"], ids=ascii)
def test_what_is_left_of_a_distribution_hides_none(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: bytes
) -> None:
    metadata = tmp_path / "first" / "halfway-0.9.dist-info"
    metadata.mkdir(parents=True)
    if left:
        (metadata / "METADATA").write_bytes(left)
    announcing(monkeypatch, tmp_path / "first", tmp_path / "site")
    assert "halfway" in [plugin.name for plugin in load_index(home, os.environ, anew=True)]


def test_the_metadata_of_a_stranger_is_not_read(home: Home, tmp_path: Path) -> None:
    before = load_index(home, os.environ, anew=True)
    for number in range(3):
        metadata = tmp_path / "site" / f"stranger{number}-1.0.dist-info"
        (metadata / "METADATA").mkdir(parents=True)
        (metadata / "entry_points.txt").write_text("[console_scripts]\nstranger = stranger:main\n")
    assert load_index(home, os.environ, anew=True) == before
