"""Folders above a home that another user may write."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path

import pytest

from hookrouter.storage._exposure import exposed_folders, remedy
from hookrouter.storage.home import Home


@pytest.mark.parametrize("depth", range(4))
@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (0o777, "can be written by every user"),
        (0o702, "can be written by every user"),
        (0o775, "can be written by the group 4242"),
        (0o1777, ""),
        (0o755, ""),
        (0o750, ""),
    ],
    ids=lambda value: f"{value:o}" if isinstance(value, int) else None,
)
def test_every_folder_on_the_way_counts(
    tmp_path: Path, depth: int, mode: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c", tmp_path / "a" / "b" / "c" / "home"]
    way[-1].mkdir(parents=True)
    way[depth].chmod(mode)
    real = os.stat

    def stat(path: str) -> os.stat_result:
        status = list(real(path))
        status[5] = 4242
        return os.stat_result(status)

    monkeypatch.setattr("hookrouter.storage._exposure.os.stat", stat)
    found = exposed_folders(Home.in_folder(str(way[-1])))
    assert found == ({str(way[depth]): reason} if reason else {})


def test_a_group_of_this_user_alone_is_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "above" / "home").mkdir(parents=True)
    (tmp_path / "above").chmod(0o775)
    found = exposed_folders(Home.in_folder(str(tmp_path / "above" / "home")))
    assert found == {} or os.getgid() != os.getuid()


def test_the_way_behind_a_link_counts_and_so_does_the_link_s(tmp_path: Path) -> None:
    for name in ("open", "other"):
        (tmp_path / name / "home").mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "other" / "link").symlink_to(tmp_path / "open" / "home")
    assert list(exposed_folders(Home.in_folder(str(tmp_path / "other" / "link")))) == [str(tmp_path / "open")]
    (tmp_path / "open" / "link").symlink_to(tmp_path / "other" / "home")
    assert list(exposed_folders(Home.in_folder(str(tmp_path / "open" / "link")))) == [str(tmp_path / "open")]


@pytest.mark.parametrize("target", ["{}/open/second", "../open/second", "../other/../open/./second"])
def test_the_folder_of_a_link_to_which_a_link_leads_counts(tmp_path: Path, target: str) -> None:
    for name in ("other", "open", "own"):
        (tmp_path / name / "home").mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "other" / "first").symlink_to(target.format(tmp_path))
    (tmp_path / "open" / "second").symlink_to(tmp_path / "own")
    for end in ("", "/home", "/home/not/yet"):
        home = Home.in_folder(str(tmp_path / "other" / "first") + end)
        assert list(exposed_folders(home)) == [str(tmp_path / "open")]


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert exposed_folders(Home.in_folder(str(tmp_path / "a" / "home"))) == {}


@pytest.mark.parametrize(
    ("name", "primary", "members", "is_own"),
    [
        ("ann", 4242, [], True),
        ("ann", 4242, ["ann", "root"], True),
        ("ann", 4242, ["bob"], False),
        ("users", 4242, [], False),
        ("ann", 100, [], False),
    ],
)
def test_a_group_is_a_user_s_own_if_it_bears_the_name_and_is_the_primary_one(
    tmp_path: Path, name: str, primary: int, members: list[str], is_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    tmp_path.chmod(0o775)
    real = os.stat

    def stat(path: str) -> os.stat_result:
        status = list(real(path))
        status[5] = 4242
        return os.stat_result(status)

    user = pwd.struct_passwd(("ann", "x", os.geteuid(), primary, "", "/", "/bin/sh"))
    monkeypatch.setattr("hookrouter.storage._exposure.os.stat", stat)
    monkeypatch.setattr(grp, "getgrgid", lambda _group: grp.struct_group((name, "x", 4242, members)))
    monkeypatch.setattr(pwd, "getpwuid", lambda _user: user)
    # Users of a directory need not be listed.
    monkeypatch.setattr(pwd, "getpwall", list)
    found = exposed_folders(Home.in_folder(str(tmp_path / "home")))
    assert found == ({} if is_own else {str(tmp_path): "can be written by the group 4242"})


def test_what_mends_it_helps_against_the_owner_too() -> None:
    open_folder = {"/a b": "can be written by every user"}
    assert remedy(open_folder) == "chmod go-w '/a b', or set HOOKROUTER_HOME to a folder of your own"
    for exposed in ({"/c": "belongs to the user 77"}, {**open_folder, "/c": "belongs to the user 77"}):
        assert remedy(exposed) == "set HOOKROUTER_HOME to a folder of your own"


def test_a_folder_of_another_user_counts_but_not_for_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    home, user = Home.in_folder(str(tmp_path / "home")), os.stat(tmp_path).st_uid
    real = os.stat

    def stat(path: str) -> os.stat_result:
        status = list(real(path))
        status[4] = 0 if path in ("/", "/tmp") else user + 1000
        return os.stat_result(status)

    monkeypatch.setattr("hookrouter.storage._exposure.os.stat", stat)
    monkeypatch.setattr("hookrouter.storage._exposure.os.geteuid", lambda: 77)
    found = exposed_folders(home)
    assert found[str(tmp_path)] == f"belongs to the user {user + 1000}"
    assert remedy(found) == "set HOOKROUTER_HOME to a folder of your own"
    monkeypatch.setattr("hookrouter.storage._exposure.os.geteuid", lambda: 0)
    assert exposed_folders(home) == {}


def test_a_home_that_is_not_there_yet_lies_where_its_folders_will_be(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o700)
    (tmp_path / "open").chmod(0o777)
    home = Home.in_folder(str(tmp_path / "open" / "not" / "yet"))
    assert list(exposed_folders(home)) == [str(tmp_path / "open")]
