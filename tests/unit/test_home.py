from __future__ import annotations

import os
import stat

import pytest

from hookrouter.home import Home, ensure


def test_one_folder_holds_everything(tmp_path):
    home = Home.from_environ({"HOOKROUTER_HOME": str(tmp_path), "XDG_STATE_HOME": "/elsewhere"})
    assert home == Home(
        config_file=f"{tmp_path}/config.toml",
        state=f"{tmp_path}/state",
        logs=f"{tmp_path}/logs",
        cache=f"{tmp_path}/cache",
        prompts=f"{tmp_path}/prompts",
    )


def test_the_folder_may_be_relative_or_below_the_users_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Home.from_environ({"HOOKROUTER_HOME": "h"}).state == f"{tmp_path}/h/state"
    assert Home.from_environ({"HOOKROUTER_HOME": "~/h", "HOME": "/home/me"}).state == "/home/me/h/state"


def test_the_platforms_directories():
    assert Home.from_environ({"HOME": "/home/me"}, platform="linux") == Home(
        config_file="/home/me/.config/hookrouter/config.toml",
        state="/home/me/.local/state/hookrouter/state",
        logs="/home/me/.local/state/hookrouter/logs",
        cache="/home/me/.cache/hookrouter",
        prompts="/home/me/.config/hookrouter/prompts",
    )
    assert Home.from_environ({"HOME": "/Users/me"}, platform="darwin") == Home(
        config_file="/Users/me/Library/Application Support/hookrouter/config.toml",
        state="/Users/me/Library/Application Support/hookrouter/state",
        logs="/Users/me/Library/Logs/hookrouter",
        cache="/Users/me/Library/Caches/hookrouter",
        prompts="/Users/me/Library/Application Support/hookrouter/prompts",
    )


def test_xdg_variables_count_where_they_are_absolute():
    environ = {"HOME": "/home/me", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "relative", "XDG_CACHE_HOME": ""}
    home = Home.from_environ(environ, platform="linux")
    assert home.config_file == "/c/hookrouter/config.toml"
    assert home.state == "/home/me/.local/state/hookrouter/state"
    assert home.cache == "/home/me/.cache/hookrouter"


def mode(path: object) -> int:
    return stat.S_IMODE(os.stat(str(path)).st_mode)


def test_folders_are_the_users_alone(tmp_path):
    folder = tmp_path / "a" / "b" / "state"
    tmp_path.chmod(0o755)
    ensure(str(folder))
    assert [mode(folder), mode(folder.parent), mode(folder.parent.parent)] == [0o700] * 3
    folder.chmod(0o755)
    ensure(str(folder))
    assert mode(folder) == 0o700
    assert mode(tmp_path) == 0o755


def test_what_cannot_be_a_folder_is_an_error(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    for path in (file, file / "below", dangling, dangling / "below" / "deeper"):
        with pytest.raises(OSError, match=str(tmp_path)):
            ensure(str(path))


def test_a_home_does_not_change(tmp_path):
    home = Home.in_folder(str(tmp_path))
    with pytest.raises(AttributeError, match="immutable"):
        home.state = "/"  # type: ignore[misc]
    assert hash(home) == hash(Home.in_folder(str(tmp_path)))
