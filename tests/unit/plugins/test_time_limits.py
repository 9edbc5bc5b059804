"""How long a plugin may take in one run: as the user says, else as it declares, else ten seconds."""

from __future__ import annotations

import math
import os
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._inspection.inspector import describe
from hookrouter._inspection.validation import declared_timeout
from hookrouter._installation.registrations import registration_sources, registrations
from hookrouter._plugins.discovery import load_index
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.config import Config, PluginConfig
from hookrouter.markers import LONGEST_TIMEOUT, hookimpl
from hookrouter.storage.home import Home
from hookrouter.testing import PluginFailed

if TYPE_CHECKING:
    from pathlib import Path

    from hookrouter.testing import Hooks

GUARD = """
from hookrouter import hookimpl

hookrouter_timeout = {declared}

@hookimpl
def pre_tool_use_bash(event):
    return None
"""

WRONG = {
    "-1": "-1",
    "0": "0",
    "True": "True",
    "'60'": "'60'",
    "float('nan')": "nan",
    "float('inf')": "inf",
    "600.5": "600.5",
    "10 ** 5000": "an object that cannot be shown",
    "[60]": "[60]",
    "property(lambda self: 60)": "<property object",
}


def plugin_file(folder: Path, declared: str, name: str = "guard") -> str:
    folder.mkdir(mode=0o700)
    (folder / f"{name}.py").write_text(GUARD.format(declared=declared))
    return str(folder / f"{name}.py")


@pytest.mark.parametrize(("declared", "shown"), WRONG.items(), ids=list(WRONG))
def test_what_can_be_no_limit_is_told_with_its_file(tmp_path: Path, declared: str, shown: str) -> None:
    # A name of its own, because a module is loaded once.
    path = plugin_file(tmp_path / "plugins", declared, f"wrong_{list(WRONG).index(declared)}")
    found = describe("guard", path, {})
    error = str(found["error"])
    assert f"{path}: hookrouter_timeout is {shown}" in error
    assert "allowed: a number of seconds, more than 0 and at most 600" in error
    # A guard whose number is wrong guards what it did.
    assert (found["hooks"], found["timeout"]) == (["pre_tool_use_bash"], None)


@given(st.one_of(st.none(), st.integers(), st.floats(), st.text(), st.booleans(), st.complex_numbers()))
def test_a_limit_is_a_number_in_its_range_or_refused(value: object) -> None:
    plugin = ModuleType("some")
    plugin.hookrouter_timeout = value  # type: ignore[attr-defined]
    try:
        found = declared_timeout(plugin)
    except pluggy.PluginValidationError:
        found = math.nan
    is_right = type(value) in (int, float) and 0 < value <= LONGEST_TIMEOUT  # type: ignore[operator]
    assert found == value if is_right else found is None if value is None else math.isnan(found or 0)


def test_an_object_that_has_every_attribute_declares_none() -> None:
    class Anything:
        def __getattr__(self, name: str) -> object:
            return object()

    assert declared_timeout(Anything()) is None


def test_a_limit_in_the_module_of_a_class_is_hinted_at(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("slow_plugin")
    exec("class Plugin:\n    pass\nhookrouter_timeout = 60", vars(module))
    monkeypatch.setitem(sys.modules, "slow_plugin", module)
    assert describe("slow", "slow_plugin:Plugin", {})["hints"] == [
        "hookrouter_timeout does not count in the module: write it in the class"
    ]
    module.Plugin.hookrouter_timeout = 30
    found = describe("slow", "slow_plugin:Plugin", {})
    assert (found["hints"], found["timeout"]) == ([], 30.0)


@pytest.mark.parametrize(
    ("config", "declared", "expected"),
    [
        (None, None, (10.0, "default", "the default, [plugins.slow] timeout sets another")),
        (None, 60.0, (60.0, "plugin", "the plugin's own, [plugins.slow] timeout sets another")),
        (None, 2.0, (2.0, "plugin", "the plugin's own, [plugins.slow] timeout sets another")),
        (10.0, 60.0, (10.0, "config.toml", "[plugins.slow] timeout")),
        (90.0, 60.0, (90.0, "config.toml", "[plugins.slow] timeout")),
        (3.0, None, (3.0, "config.toml", "[plugins.slow] timeout")),
    ],
)
def test_the_user_comes_first_then_the_plugin(
    config: float | None, declared: float | None, expected: tuple[float, str, str]
) -> None:
    index = [DiscoveredPlugin(name="slow", value="slow", hooks=("stop",), timeout=declared)]
    whole = Config(plugins={"slow": PluginConfig(timeout=config)})
    plugins = Plugins(index, whole, lambda _plugin, _text: None)
    seconds, who, words = expected
    [info] = plugins.listing()
    assert (info.timeout, info.timeout_from, plugins.timeout("slow")) == (seconds, who, seconds)
    assert info.allowed == f"its timeout of {seconds:g} s ({words}, for all its calls in a run)"
    [source] = registration_sources(plugins.listing(), whole)
    assert source.timeout == seconds
    # Claude Code is told to wait as long: this, and a margin.
    [entry] = registrations([source], ["hookrouter"], None)
    assert entry.timeout > seconds


@pytest.mark.parametrize("declared", ["-1", "60"])
def test_the_index_knows_it_without_the_plugin_and_a_guard_with_a_wrong_one_refuses(
    tmp_path: Path, declared: str
) -> None:
    home = Home.in_folder(str(tmp_path / "home"))
    (tmp_path / "home").mkdir(mode=0o700)
    plugin_file(tmp_path / "home" / "plugins", declared)
    config = Config(plugins={"guard": PluginConfig(on_error="closed")})
    plugins = Plugins(load_index(home, os.environ, anew=True), config, lambda _plugin, _text: None)
    [info] = [info for info in plugins.listing() if info.name == "guard"]
    assert "hookrouter_timeout is -1" in info.reason if declared == "-1" else info.reason == ""
    refusing = [info.name for info in plugins.broken_fail_closed(["pre_tool_use_bash"])]
    assert (info.timeout, refusing) == ((60.0, []) if declared == "60" else (10.0, ["guard"]))


class Slow:
    hookrouter_timeout = 0.3

    @hookimpl
    def stop(self, event: Any, context: Any) -> None:
        threading.Event().wait(60)


def test_the_message_says_whose_limit_it_was(hooks: Hooks) -> None:
    hooks.add(Slow, "slow")
    said = (
        r"slow: timed out in stop: .* its timeout of 0\.3 s \(the plugin's own, \[plugins\.slow\] timeout sets another"
    )
    with pytest.raises(PluginFailed, match=said):
        hooks.fire("Stop")


def test_the_fixture_refuses_a_wrong_limit(hooks: Hooks) -> None:
    class Wrong:
        hookrouter_timeout = "10"

    with pytest.raises(
        pluggy.PluginValidationError, match=r"test_time_limits\.py: hookrouter_timeout is '10'; allowed"
    ):
        hooks.add(Wrong)
