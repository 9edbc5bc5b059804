from __future__ import annotations

import os
import pwd
import stat
from types import SimpleNamespace

import pytest

from hookrouter.storage.home import Home, HomeError, ensure, ensure_once


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


def test_a_home_that_is_not_absolute_does_not_count(monkeypatch):
    users = pwd.getpwuid(os.getuid()).pw_dir
    for environ in ({}, {"HOME": ""}, {"HOME": "relative"}, {"HOME": "~"}):
        monkeypatch.setenv("HOME", environ.get("HOME", ""))
        home = Home.from_environ(environ, platform="linux")
        assert home.state == os.path.join(users, ".local/state/hookrouter/state")
        assert Home.from_environ({**environ, "HOOKROUTER_HOME": "~/h"}).root == os.path.join(users, "h")


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_user_without_a_home_is_told_so(monkeypatch, platform):
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setenv("HOME", "")
    for environ in ({}, {"HOME": ""}, {"HOME": "relative"}, {"HOOKROUTER_HOME": "~/h"}):
        with pytest.raises(HomeError, match="set HOME or HOOKROUTER_HOME to an absolute folder"):
            Home.from_environ(environ, platform=platform)
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: SimpleNamespace(pw_dir=""))
    with pytest.raises(HomeError):
        Home.from_environ({}, platform=platform)
    assert Home.from_environ({"HOOKROUTER_HOME": "/h"}, platform=platform).state == "/h/state"


def test_absolute_xdg_folders_need_no_home(monkeypatch):
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: pytest.fail("looked up"))
    environ = {"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k"}
    assert Home.from_environ(environ, platform="linux").logs == "/s/hookrouter/logs"


def test_a_relative_home_in_a_folder_that_is_gone_is_told(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(HomeError, match="HOOKROUTER_HOME is 'h'"):
        Home.from_environ({"HOOKROUTER_HOME": "h"})
    assert issubclass(HomeError, OSError)


def test_the_root_is_the_folder_of_the_config():
    assert Home.from_environ({"HOOKROUTER_HOME": "/h"}).root == "/h"
    assert Home.from_environ({"HOME": "/home/me"}, platform="linux").root == "/home/me/.config/hookrouter"


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o755)
    owner = os.stat(folder).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    for check in (ensure, ensure_once):
        with pytest.raises(PermissionError, match=f"belongs to the user {owner}"):
            check(str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    ensure(str(folder))


def test_a_folder_is_looked_at_once(tmp_path, monkeypatch):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    ensure_once(str(folder))
    assert mode(folder) == 0o700
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", lambda *_: pytest.fail("looked again"))
        ensure_once(str(folder))
