"""What the mod takes the place of, the folder that it lies in, and the keys of the settings that install it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from hookrouter._installation.mod_keys import enabled_folder, with_mod, without_mod
from hookrouter._installation.registrations import RegistrationSource, http_registrations, registrations
from hookrouter._installation.settings_edit import SettingsError
from hookrouter._mod.folder import ModError, gate_socket, mod_files, mod_folder, remove_mod, write_mod
from hookrouter._mod.routes import Route, routes
from hookrouter.storage.home import Home

SCRIPT = ["/bin/hookrouter"]


def found(*plugins: RegistrationSource) -> list[tuple[str, str | None]]:
    wanted = registrations(plugins, SCRIPT, None)
    return [(route.event, route.matcher) for route in routes(wanted, plugins)]


def plugin(*hooks: str, closed: bool = False) -> RegistrationSource:
    return RegistrationSource(hooks, 5.0, closed)


def test_entries_whose_replies_a_module_can_give_become_routes() -> None:
    hooks = ("session_start", "session_end", "pre_tool_use_bash", "stop", "pre_compact", "elicitation")
    assert found(plugin(*hooks)) == [("PreToolUse", "Bash"), ("Stop", None)]


def test_a_guards_entry_stays_and_those_beside_it_do_not() -> None:
    both = (plugin("pre_tool_use_bash", closed=True), plugin("pre_tool_use_read"))
    assert found(*both) == [("PreToolUse", "Read")]
    assert found(plugin("pre_tool_use", closed=True), plugin("pre_tool_use_read")) == []


@pytest.mark.parametrize("hook", ["permission_request", "permission_request_bash", "stop"])
def test_a_guard_at_an_event_whose_entry_cannot_say_so_keeps_them_all(hook: str) -> None:
    event = "Stop" if hook == "stop" else "PermissionRequest"
    beside = plugin("stop", "permission_request_read")
    assert event not in {name for name, _ in found(plugin(hook, closed=True), beside)}
    assert event in {name for name, _ in found(plugin(hook), beside)}


def test_an_entry_for_some_calls_is_a_route_and_one_that_wakes_is_none() -> None:
    idle = RegistrationSource(("notification",), 5.0, False, matching={"notification": ("idle_prompt",)})
    assert found(idle) == [("Notification", "idle_prompt")]
    bell = {"matching": {"file_changed": ("bell",)}, "wakes": frozenset(["file_changed"])}
    assert found(RegistrationSource(("file_changed",), 5.0, False, **bell)) == []  # type: ignore[arg-type]


def test_http_hooks_are_no_routes() -> None:
    plugins = [plugin("stop")]
    wanted = http_registrations(registrations(plugins, SCRIPT, None), "127.0.0.1:8787")
    assert routes(wanted, plugins) == []


def test_a_tools_former_name_is_taken_too() -> None:
    assert Route("PreToolUse", "Task", "c").to_json()["names"] == ["Agent", "Task"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.in_folder(str(tmp_path))


def test_the_folder_is_a_plugin_and_its_marketplace(home: Home) -> None:
    folder = Path(write_mod(home, mod_files(home, [Route("Stop", None, "c")], SCRIPT, None)))
    assert str(folder) == mod_folder(home)
    market = json.loads((folder / ".claude-plugin" / "marketplace.json").read_text())
    plugin_file = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert [entry["name"] for entry in market["plugins"]] == [plugin_file["name"]]
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())
    assert (folder / "hooks" / hooks["modules"][0]).is_file()
    assert gate_socket(home) in (folder / "hooks" / "bridge.js").read_text()
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_the_folder_is_written_anew_and_removed(home: Home) -> None:
    for event in ("Stop", "PreToolUse"):
        folder = Path(write_mod(home, mod_files(home, [Route(event, None, "c")], SCRIPT, None)))
    assert 'on("classic.PreToolUse"' in (folder / "hooks" / "bridge.js").read_text()
    assert sorted(path.name for path in (folder / "hooks").iterdir()) == ["bridge.js", "hooks.json"]
    assert remove_mod(home)
    assert not folder.exists()
    assert not remove_mod(home)


def test_a_socket_that_a_client_cannot_reach_is_refused(tmp_path: Path) -> None:
    home = Home.in_folder(str(tmp_path / ("x" * 100)))
    with pytest.raises(ModError, match="a socket's path may have 103"):
        mod_files(home, [], SCRIPT, None)


def test_a_folder_that_cannot_be_written_is_told(home: Home) -> None:
    os.makedirs(home.state)
    Path(mod_folder(home)).write_text("a file")
    with pytest.raises(ModError, match="cannot be written"):
        write_mod(home, mod_files(home, [], SCRIPT, None))


KEYS = {
    "extraKnownMarketplaces": {"hookrouter-local": {"source": {"source": "directory", "path": "/m"}}},
    "enabledPlugins": {"hookrouter-mod@hookrouter-local": True},
}
OTHERS = """{
  // not JSON
}"""


@pytest.mark.parametrize(
    "text",
    [
        "{}\n",
        '{\n  "model": "x"\n}\n',
        '{"enabledPlugins": {"a@b": true}, "z": 1.50}',
        '{\n\t"extraKnownMarketplaces": {\n\t\t"a": {"source": {}}\n\t}\n}\n',
        '\ufeff{\n  "model": "x"\n}\n',
    ],
)
def test_the_keys_come_and_go_and_all_else_stays(text: str) -> None:
    there = with_mod(text, "/m")
    settings = json.loads(there.removeprefix("\ufeff"))
    for key, value in KEYS.items():
        assert value.items() <= settings[key].items()
    assert enabled_folder(there) == "/m"
    assert with_mod(there, "/m") == there
    assert without_mod(there) == text
    assert enabled_folder(text) is None


def test_an_empty_text_and_another_folder() -> None:
    assert json.loads(with_mod("", "/m")) == KEYS
    assert enabled_folder(with_mod(with_mod("", "/old"), "/new")) == "/new"


def test_a_mod_that_was_switched_off_is_not_installed() -> None:
    off = with_mod("", "/m").replace("true", "false")
    assert enabled_folder(off) is None
    assert enabled_folder(with_mod(off, "/m")) == "/m"


@pytest.mark.parametrize("text", [OTHERS, "[]", '{"enabledPlugins": []}', '{"extraKnownMarketplaces": "x"}'])
def test_a_text_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        with_mod(text, "/m")
