"""Which scripts are about a call, and what is registered for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import hookrouter_scripts
from hookrouter._diagnostics.configuration import check
from hookrouter._installation.registrations import registration_sources, registrations
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.cli.application import Application
from hookrouter.config import Config, Script
from hookrouter.testing.hooks import HookResult, Hooks

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def scripts(hooks: Hooks) -> Hooks:
    hooks.add(hookrouter_scripts, "scripts")
    return hooks


def table(event: str, command: str, **keys: Any) -> str:
    lines = {"event": event, "command": command, **keys}
    return "[[scripts]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())


def bash(hooks: Hooks, command: str = "ls", **more: Any) -> HookResult:
    return hooks.fire("PreToolUse", tool_name="Bash", tool_input={"command": command}, **more)


SCRIPT = Script(event="PreToolUse", command="x")


@pytest.mark.parametrize(
    ("matcher", "value", "takes"),
    [
        # As seen on Claude Code 2.1.332.
        *((matcher, "Bash", True) for matcher in ("", "*", "Bash", "Bash|Edit", "Bash, Edit", "^Bash$", "B.*")),
        *((matcher, "Bash", True) for matcher in ("Task|Bash", "Bash |Write", ".*", "Bash|")),
        *((matcher, "Bash", False) for matcher in ("bash", "ash", "Ba", "(")),
        ("Task", "Agent", True),
        ("Bash", None, True),
    ],
)
def test_a_matcher_is_read_as_the_client_reads_it(matcher: str, value: str | None, takes: bool) -> None:
    assert SCRIPT._with(matcher=matcher).takes({}, value, "") is takes


def test_a_script_of_bash_is_about_what_monitor_runs() -> None:
    one = SCRIPT._with(matcher="Bash")
    assert one.takes({"tool_input": {"command": "ls"}}, "Monitor", "")
    assert not one.takes({"tool_input": {"ws": {}}}, "Monitor", "")


def test_a_script_of_a_project_runs_there_alone() -> None:
    one = SCRIPT._with(project="/a")
    assert one.takes({}, "Bash", "/a")
    assert not one.takes({}, "Bash", "/a/b")


@pytest.mark.parametrize("written", ["shop/", "link", "link/../shop", "./shop"])
def test_a_project_is_the_same_by_whatever_path_it_is_named(tmp_path: Path, written: str) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to("shop")
    one = SCRIPT._with(project=f"{tmp_path}/{written}")
    assert one.takes({}, "Bash", str(tmp_path / "shop"))
    assert one.takes({}, "Bash", str(tmp_path / "link"))
    assert not one.takes({}, "Bash", str(tmp_path))
    assert not SCRIPT._with(project="/a\0b").takes({}, "Bash", "/a")


def test_of_two_of_one_command_the_last_one_says_how_long_and_the_stricter_what_a_failure_means() -> None:
    """As seen on Claude Code 2.1.332, whatever their matchers are."""
    tables = [
        SCRIPT._with(timeout=1.0, on_error="closed"),
        SCRIPT._with(command="y"),
        SCRIPT._with(timeout=10.0, matcher="Bash"),
    ]
    found = Config(scripts=tuple(tables)).scripts_for("PreToolUse", {"tool_name": "Bash", "tool_input": {}}, "")
    assert [(one.command, one.timeout, one.on_error) for one in found] == [("x", 10.0, "closed"), ("y", 600.0, "open")]


def plugins(config: Config) -> Plugins:
    names = tuple(hookrouter_scripts._HOOKS)
    found = DiscoveredPlugin(name="scripts", value="hookrouter_scripts", hooks=names, scripted=names)
    return Plugins([found], config, lambda _plugin, _text: None)


def registered(hooks: Hooks, config: str) -> dict[tuple[str, str | None], Any]:
    found = hooks.configure(config)
    sources = registration_sources(plugins(found).listing(), found)
    return {(one.event, one.matcher): one for one in registrations(sources, ["hookrouter"], None)}


def test_only_what_scripts_listen_to_is_registered(scripts: Hooks) -> None:
    assert registered(scripts, "") == {}
    found = registered(
        scripts,
        table("PreToolUse", "a", matcher="Edit|Write", timeout=5)
        + table("PreToolUse", "b", matcher="mcp__.*__write.*", on_error="closed")
        + table("Stop", "c", matcher="ignored")
        + table("WorktreeCreate", "d")
        + table("SessionEnd", "e", timeout=20)
        + table("FileChanged", "f", matcher=".env|.envrc"),
    )
    assert set(found) == {
        ("PreToolUse", "Edit|Write"),
        ("PreToolUse", "mcp__.*__write.*"),
        ("Stop", None),
        ("WorktreeCreate", None),
        ("SessionEnd", None),
        ("FileChanged", ".env|.envrc"),
    }
    # Of entries that may have calls in common Claude Code runs one: both must be the same.
    assert all(found["PreToolUse", matcher].block_on_failure for matcher in ("Edit|Write", "mcp__.*__write.*"))
    assert found["PreToolUse", "Edit|Write"].timeout > 605
    assert found["SessionEnd", None].timeout == 20
    assert all(one.is_scripted for one in found.values())


def test_no_call_that_no_script_is_about_loads_the_plugin(scripts: Hooks) -> None:
    found = plugins(scripts.configure(table("PreToolUse", "exit 2", matcher="Edit|Write|Task")))
    assert [found.called(("pre_tool_use",), tool) != [] for tool in ("Edit", "Agent", "Bash")] == [True, True, False]
    assert found.called(("stop",), None) == []


def test_a_script_of_a_project_that_is_not_there_is_told(hookrouter_home: Path) -> None:
    tables = [
        f'[[scripts]]\nevent = "Stop"\ncommand = "true"\nproject = "{folder}"\n'
        for folder in (hookrouter_home, hookrouter_home / "gone")
    ]
    (hookrouter_home / "config.toml").write_text("".join(tables))
    (found,) = check(Application.from_environ())
    assert (found.level, found.line, found.problem.key) == ("warning", 8, "scripts[1].project")
    assert "there is no such folder, so the script runs in no session" in found.problem.text
