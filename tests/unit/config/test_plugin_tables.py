"""A plugin's own table of config.toml: read, checked, shown and told of like the settings that it holds."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from hookrouter import Context, hookimpl
from hookrouter._config.reader import survey
from hookrouter._inspection.inspector import own_table
from hookrouter._plugins.discovery import load_config
from hookrouter._plugins.index import DiscoveredPlugin, write_cache
from hookrouter.cli.main import main
from hookrouter.replies import StopReply
from hookrouter.storage.home import Home
from hookrouter.testing import Hooks, write_plugin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CARRIER = """
import attrs
from hookrouter import hookimpl

@attrs.frozen
class Settings:
    speed: int = attrs.field(default=3, metadata={"help": "how fast"})
    token: str = ""

@hookimpl
def plugin_settings():
    return Settings

@hookimpl
def config_table():
    return "carrier"
"""


@attrs.frozen
class Settings:
    speed: int = 3


class Truck:
    """A plugin with a table of its own."""

    @hookimpl
    def plugin_settings(self) -> type[Settings]:
        return Settings

    @hookimpl
    def config_table(self) -> str:
        return "carrier"

    @hookimpl
    def stop(self, context: Context) -> StopReply:
        return StopReply.block(f"speed {context.settings(Settings).speed}")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of plugins that are installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@pytest.fixture
def run(
    hookrouter_home: Path, site: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, list[str]], tuple[int, Any]]:
    """Runs a command with --json on a config.toml, beside the plugin ``truck`` with a table of its own."""
    write_plugin(site, "truck", CARRIER)

    def run(text: str, arguments: list[str]) -> tuple[int, Any]:
        (hookrouter_home / "config.toml").write_text(text)
        code = main([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def problems(document: Any) -> list[tuple[str, str, int | None]]:
    return [(one["level"], one["key"], one["line"]) for one in document["problems"]]


def test_its_values_hold_and_are_shown_with_their_lines(run: Any) -> None:
    code, document = run("[carrier]\nspeed = 5\n", ["config", "check"])
    assert (code, document["problems"]) == (0, [])
    values = {one["key"]: one for one in run("[carrier]\nspeed = 5\n", ["config", "show", "--all"])[1]["values"]}
    assert (values["carrier.speed"]["value"], values["carrier.speed"]["line"]) == (5, 2)
    assert values["carrier.token"]["source"] == "plugin default"
    assert not any(key.startswith("plugins.truck.settings") for key in values)
    described = run("[carrier]\nspeed = 5\n", ["plugins", "info", "truck"])[1]
    assert [(one["key"], one["value"], one["line"]) for one in described["settings"]] == [
        ("speed", 5, 2),
        ("token", "(hidden)", None),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[carrier]\n\nspeed = 'x'\n", ("error", "carrier.speed", 3)),
        ("[carrier]\nsped = 1\n", ("error", "carrier.sped", 2)),
        ("carrier = 3\n", ("error", "carrier", 1)),
        ("carrier = {}\nplugins.truck = 3\n", ("error", "plugins.truck", 2)),
        ("carrier = {}\nplugins = 3\n", ("error", "plugins", 2)),
        ("[carrrier]\nspeed = 1\n", ("error", "carrrier", 1)),
        ("[carrier]\n[plugins.truck.settings]\nspeed = 1\n", ("error", "plugins.truck.settings", 2)),
        ("[carrier]\nspeed = 1\n[plugins.truck]\nenabled = false\n", ("warning", "carrier", 1)),
    ],
)
def test_what_is_wrong_with_it_is_told_at_its_place(run: Any, text: str, found: tuple[str, str, int]) -> None:
    assert found in problems(run(text, ["config", "check"])[1])


def test_a_table_of_a_plugin_that_is_switched_off_is_no_mistake_of_the_file(run: Any) -> None:
    code, document = run("[carrier]\nspeed = 1\n[plugins.truck]\nenabled = false\n", ["config", "check"])
    assert code == 0
    (told,) = [one for one in document["problems"] if one["key"] == "carrier"]
    assert "switched off" in told["message"]


def test_a_plugin_is_given_what_its_table_says(hooks: Hooks) -> None:
    hooks.add(Truck(), "truck")
    hooks.configure("[carrier]\nspeed = 5")
    assert hooks.fire("Stop").reason == "truck: speed 5"
    with pytest.raises(ValueError, match=r"did you mean 'carrier'\?; allowed: agents, .*, carrier$"):
        hooks.configure("[carrrier]\nspeed = 5")


def test_a_guard_of_a_file_with_a_mistake_keeps_what_its_table_says(run: Any, hookrouter_home: Path) -> None:
    run('[carrier]\nspeed = 5\n[plugins.truck]\non_error = "closed"\n[answer]\nwait = "x"\n', ["config", "check"])
    config = load_config(Home.in_folder(str(hookrouter_home)), os.environ)
    assert config.problems
    assert (config.plugin("truck").on_error, config.plugin("truck").settings) == ("closed", {"speed": 5})


def test_a_file_is_read_anew_once_its_plugin_is_there(run: Any, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "[lorry]\nspeed = 1\n"
    assert ("error", "lorry", 1) in problems(run(text, ["config", "check"])[1])
    write_plugin(site, "lorry", CARRIER.replace('"carrier"', '"lorry"'))
    # The first command looks at the plugins, and what the file may hold is known to the next.
    main(["plugins", "list"])
    capsys.readouterr()
    assert run(text, ["config", "check"])[1]["problems"] == []


@pytest.mark.parametrize("knows", [True, False])
def test_a_guard_stays_closed_while_it_is_not_known_who_has_a_table(
    hookrouter_home: Path, monkeypatch: pytest.MonkeyPatch, knows: bool
) -> None:
    home = Home.in_folder(str(hookrouter_home))
    if knows:
        plugin = DiscoveredPlugin(name="truck", value="truck", table="carrier")
        write_cache(home, (plugin,), {})

    def not_whole(_home: Home) -> None:
        raise ImportError("hookrouter is being installed")

    monkeypatch.setattr("hookrouter._plugins.scan.scan", not_whole)
    (hookrouter_home / "config.toml").write_text('[carrier]\nspeed = 4\n[plugins.guard]\non_error = "closed"\n')
    config = load_config(home, {"HOOKROUTER_NO_CACHE": "1"})
    assert config.plugin("guard").on_error == "closed"
    assert config.plugin("truck").settings == ({"speed": 4} if knows else {})


def test_of_two_plugins_with_one_table_the_second_is_broken(run: Any, site: Path) -> None:
    write_plugin(site, "van", CARRIER)
    listed = {one["name"]: one for one in run("[carrier]\nspeed = 5\n", ["plugins", "list"])[1]}
    assert listed["truck"]["status"] == "active"
    assert listed["van"]["status"] == "broken"
    assert "the table of the plugin truck" in listed["van"]["reason"]


@pytest.mark.parametrize("name", ["answer", "plugins", "Carrier", "", "a.b", 3])
def test_no_table_of_hookrouters_and_no_odd_name(name: object) -> None:
    with pytest.raises(TypeError, match="config_table"):
        own_table({"config_table": lambda: name, "plugin_settings": lambda: None})


def test_it_needs_a_class() -> None:
    assert own_table({}) == own_table({"config_table": lambda: None}) == ""
    with pytest.raises(TypeError, match="plugin_settings"):
        own_table({"config_table": lambda: "carrier"})


def test_it_stands_where_the_settings_of_other_plugins_do() -> None:
    content = b"[carrier]\nspeed = 5\n[plugins.truck]\ntimeout = 3\n[answer]\nwait = 0\n"
    found, config = survey(content, {"carrier": "truck"})
    assert (found, config is not None) == ([], True)
    assert config is not None
    assert (config.plugin("truck").settings, config.plugin("truck").timeout) == ({"speed": 5}, 3.0)
    assert survey(content)[0][0].key == "carrier"
    assert DiscoveredPlugin(name="truck", value="", table="carrier").settings_key == "carrier"
    assert DiscoveredPlugin(name="truck", value="").settings_key == "plugins.truck.settings"
