"""``[plugins] guards_alone``: which plugins it switches off, and how one is switched on again."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter._diagnostics.configuration import check
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.cli.application import Application
from hookrouter.config import Config, PluginConfig


def off(config: Config, *plugins: DiscoveredPlugin) -> list[str]:
    """Return the names of the plugins that are off."""
    return [info.name for info in Plugins(plugins, config, pytest.fail).listing() if info.status == "disabled"]


def own(name: str, *hooks: str, ruled: tuple[str, ...] = ()) -> DiscoveredPlugin:
    return DiscoveredPlugin(name=name, value=f"m_{name}", distribution="hookrouter", hooks=hooks, ruled=ruled)


EVERY = (
    own("listens", "stop"),
    own("listens-to-a-tool", "gateway", "post_tool_use_ask_user_question"),
    own("watches", "session_watcher"),
    own("offers", "gateway", "cli_commands", "resident_process"),
    own("holds-rules", "pre_tool_use", ruled=("pre_tool_use",)),
    DiscoveredPlugin(name="guard", value="/home/me/plugins/guard.py", hooks=("pre_tool_use_bash",)),
    DiscoveredPlugin(name="package", value="package", distribution="hookrouter-package", hooks=("stop",)),
)


def test_what_is_hookrouters_own_and_listens_by_itself_is_off() -> None:
    assert off(Config(), *EVERY) == []
    assert off(Config(guards_alone=True), *EVERY) == ["listens", "listens-to-a-tool", "watches"]


def test_what_the_user_gives_it_keeps_scripts_on(hookrouter_home: Path) -> None:
    (hookrouter_home / "config.toml").write_text("[plugins]\nguards_alone = true\n")
    listing = Application.from_environ().plugins.listing()
    assert [str(info.status) for info in listing if info.name == "scripts"] == ["active"]


def test_a_table_switches_one_on_again() -> None:
    tables = {"listens": PluginConfig(is_asked_for=True), "watches": PluginConfig(timeout=3)}
    assert off(Config(guards_alone=True, plugins=tables), *EVERY) == ["listens-to-a-tool", "watches"]


@pytest.mark.parametrize(("said", "expected"), [("", True), ("enabled = true", False), ("timeout = 5", True)])
def test_only_the_word_enabled_asks_for_a_plugin(said: str, expected: bool, hookrouter_home: Path) -> None:
    (hookrouter_home / "config.toml").write_text(f"[plugins]\nguards_alone = true\n[plugins.dialogs]\n{said}\n")
    app = Application.from_environ()
    assert ("dialogs" in [info.name for info in app.plugins.listing() if info.status == "disabled"]) is expected
    assert [found.problem.line for found in check(app)] == []


def test_agents_that_would_hear_of_nothing_are_named(hookrouter_home: Path) -> None:
    text = '[[agents]]\nid = "a"\n[plugins]\nguards_alone = true\n'
    (hookrouter_home / "config.toml").write_text(text)
    (found,) = check(Application.from_environ())
    assert (found.level, found.line) == ("warning", 4)
    assert found.problem.line.startswith("plugins.guards_alone: true, so 'a' of [[agents]] hear of nothing")


@pytest.mark.parametrize("value", ['"yes"', "1", "[]", "{}"])
def test_another_value_is_refused(value: str, hookrouter_home: Path) -> None:
    (hookrouter_home / "config.toml").write_text(f"[plugins]\nguards_alone = {value}\n")
    (problem,) = Application.from_environ().config.problems
    assert problem.startswith("config.toml: plugins.guards_alone: found ")
