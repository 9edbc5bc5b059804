"""What a folder tells of the project in it, whose repository git itself has made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hookrouter.dialogs.messages.surroundings import git_branch


def git(folder: Path, *arguments: str) -> None:
    folder.mkdir(exist_ok=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    git(folder, "init", "-q", "-b", "feature/one")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_the_branch_is_known_in_folders_below(repository: Path) -> None:
    (repository / "src" / "deep").mkdir(parents=True)
    assert git_branch(str(repository)) == git_branch(str(repository / "src" / "deep")) == "feature/one"


def test_a_branch_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path / "new", "init", "-q", "-b", "main")
    assert git_branch(str(tmp_path / "new")) == "main"


def test_worktrees_and_submodules(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert git_branch(str(tmp_path / "tree")) == "other"
    git(tmp_path / "outer", "init", "-q", "-b", "main")
    git(tmp_path / "outer", "submodule", "add", "-q", "-b", "feature/one", str(repository), "inner")
    assert git_branch(str(tmp_path / "outer" / "inner")) == "feature/one"


def test_no_branch(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert git_branch(str(repository)) == ""
    assert git_branch("relative") == git_branch("") == git_branch("/nowhere/at all") == git_branch("/a\0b") == ""
    for content in (b"", b"gitdir: nowhere\n", b"gitdir: a\0b\n", b"\xff", b"nonsense"):
        (tmp_path / ".git").write_bytes(content)
        assert git_branch(str(tmp_path)) == ""
    (tmp_path / ".git").unlink()
    os.mkfifo(tmp_path / ".git")
    assert git_branch(str(tmp_path)) == ""
