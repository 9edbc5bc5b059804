"""Claude Code's settings files: found, replaced, and given back as they were."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from typing import TYPE_CHECKING

import pytest

from hookrouter._installation.settings_edit import (
    SettingsError,
    registered,
)
from hookrouter._installation.settings_file import install, is_shared, settings_path, uninstall
from hookrouter.storage.documents import Store

if TYPE_CHECKING:
    from pathlib import Path

from hookrouter.util.time_limit import time_limit
from support.registrations import QUESTION


def test_scopes_name_the_files_that_claude_code_reads(tmp_path: Path) -> None:
    assert settings_path("user", {"CLAUDE_CONFIG_DIR": "/c"}, "/w") == "/c/settings.json"
    assert settings_path("user", {"HOME": "/h"}, "/w") == "/h/.claude/settings.json"
    known = os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".claude", "settings.json")
    assert {settings_path("user", environ, "/w") for environ in ({}, {"HOME": ""}, {"HOME": "x"})} == {known}
    assert settings_path("project", {}, "/w") == "/w/.claude/settings.json"
    assert settings_path("local", {}, "/w") == "/w/.claude/settings.local.json"


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(SettingsError, match=r"HOME is ''.*set HOME"):
        settings_path("user", {}, "/w")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), pytest.fail)


def test_a_missing_file_is_made_private_and_removed_again(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "new" / ".claude" / "settings.json"
    change = install(str(path), QUESTION, store)
    assert (change.changed, change.backup) == (True, None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not install(str(path), QUESTION, store).changed
    assert uninstall(str(path), store).after is None
    assert sorted(tmp_path.iterdir()) == [tmp_path / "state"]
    assert not uninstall(str(path), store).changed


def test_a_folder_that_install_made_goes_whatever_became_of_the_file(tmp_path: Path, store: Store) -> None:
    path = tmp_path / ".claude" / "settings.json"
    install(str(path), QUESTION, store)
    path.unlink()
    install(str(path), QUESTION, store)
    path.unlink()
    assert not uninstall(str(path), store).changed
    assert not path.parent.exists()
    path.parent.mkdir()
    install(str(path), QUESTION, store)
    uninstall(str(path), store)
    assert path.parent.exists()
    path.parent.rmdir()
    install(str(path), QUESTION, store)
    (path.parent / "mine.md").write_text("")
    assert uninstall(str(path), store).after is None
    assert os.listdir(path.parent) == ["mine.md"]


def test_mode_and_former_text_are_kept(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "opus"}\n')
    path.chmod(0o640)
    backup = install(str(path), QUESTION, store).backup
    assert backup is not None
    assert backup.startswith(f"{path}.hookrouter-backup-")
    with open(backup) as file:
        assert file.read() == '{"model": "opus"}\n'
    assert {stat.S_IMODE(os.stat(name).st_mode) for name in (path, backup)} == {0o640}
    unchanged = path.stat()
    assert install(str(path), QUESTION, store).backup is None
    assert path.stat().st_mtime_ns == unchanged.st_mtime_ns
    second = uninstall(str(path), store).backup
    assert second != backup
    assert path.read_text() == '{"model": "opus"}\n'


def test_a_link_stays_a_link(tmp_path: Path, store: Store) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "claude.json"
    real.write_text("{}")
    link = tmp_path / "settings.json"
    link.symlink_to("dotfiles/claude.json")
    change = install(str(link), QUESTION, store)
    assert link.is_symlink()
    assert registered(real.read_text())
    assert os.listdir(real.parent) == ["claude.json"]
    assert change.backup is not None
    uninstall(str(real), store)
    assert real.read_text() == "{}"


@pytest.mark.parametrize("content", [b'{"hooks": []}', b"{broken", b"\xff\xfe", b'{"a": 1, "a": 1}'])
def test_a_file_that_cannot_be_used_is_left_alone(tmp_path: Path, store: Store, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"settings\.json.*; the file was left as it is"):
        install(str(path), QUESTION, store)
    with pytest.raises(SettingsError, match=r"settings\.json.*; the file was left as it is"):
        uninstall(str(path), store)
    assert path.read_bytes() == content
    assert sorted(os.listdir(tmp_path)) == ["settings.json", "state"]


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path: Path, store: Store) -> None:
    with pytest.raises(SettingsError):
        install(str(tmp_path), QUESTION, store)


def test_a_dry_run_shows_the_change_and_makes_none(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "opus"}')
    change = install(str(path), QUESTION, store, dry_run=True)
    assert change.diff().startswith(f"--- {path}\n+++ {path}\n")
    assert "\\ No newline at end of file" in change.diff()
    assert path.read_text() == '{"model": "opus"}'
    assert os.listdir(tmp_path) == ["settings.json"]


def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "settings.json"
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="not a regular file"), time_limit(5):
        install(str(path), QUESTION, store)


def test_a_full_disk_leaves_no_half_backup(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(SettingsError, match="No space left"):
        install(str(path), QUESTION, store)
    assert path.read_text() == "{}"
    assert sorted(os.listdir(tmp_path)) == ["settings.json", "state"]


def test_a_project_s_file_is_shared_and_the_users_own_is_not(tmp_path: Path) -> None:
    project, environ = tmp_path / "project", {"HOME": str(tmp_path)}
    (project / ".git").mkdir(parents=True)
    assert is_shared(str(project / ".claude" / "settings.json"), environ)
    assert is_shared(str(project / "part" / ".claude" / "settings.json"), environ)
    assert not is_shared(str(project / ".claude" / "settings.local.json"), environ)
    assert not is_shared(str(tmp_path / "else" / ".claude" / "settings.json"), environ)
    (tmp_path / ".git").mkdir()
    assert not is_shared(str(tmp_path / ".claude" / "settings.json"), environ)
