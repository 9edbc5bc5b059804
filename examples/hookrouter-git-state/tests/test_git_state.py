"""What is shown of real git repositories."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hookrouter.pages import Block, Facts, Heading, Page, Preformatted, SessionPanel, Table, Text

from hookrouter_git_state import GitState, git, showing
from hookrouter_git_state.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

AUTHOR = ("-c", "user.name=Ada & Bob", "-c", "user.email=ada@example.org")


def run(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *AUTHOR, *words], check=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository on the branch ``work`` with one commit and one file that git does not know."""
    folder = tmp_path / "project"
    folder.mkdir()
    run(folder, "init", "--quiet", "--initial-branch=work")
    run(folder, "commit", "--quiet", "--allow-empty", "--message=Begin <script>")
    (folder / "new.txt").write_text("x")
    return folder


def panel(folder: Path | str, **settings: int) -> list[Block]:
    view: Any = SimpleNamespace(session="work", cwd=str(folder))
    request: Any = SimpleNamespace(services=SimpleNamespace(settings=lambda kind: kind(**settings)))
    return showing.repository(view, request)


def test_the_plugin_brings_a_panel_and_a_page() -> None:
    brought = GitState().web_pages()
    assert [type(one) for one in brought] == [SessionPanel, Page]
    assert GitState().plugin_settings() is Settings


def test_a_session_in_a_repository_has_its_state(project: Path) -> None:
    facts, files, heading, table = panel(project)
    assert facts == Facts([("Branch", "work"), ("Changed files", "1")])
    assert files == Preformatted("?? new.txt")
    assert heading == Heading("Last commits")
    assert isinstance(table, Table)
    ((_, _, author, subject),) = table.rows
    assert (author, subject) == ("Ada & Bob", "Begin <script>")


def test_long_lists_are_cut(project: Path) -> None:
    for number in range(4):
        (project / f"{number}.txt").write_text("x")
    blocks = panel(project, files=2, commits=0)
    assert blocks[1:] == [Preformatted("?? 0.txt\n?? 1.txt"), Text("And 3 more.")]


def test_a_session_elsewhere_has_no_panel(tmp_path: Path) -> None:
    assert panel(tmp_path) == []
    assert panel(tmp_path / "gone") == []
    assert panel("") == []


def test_a_program_that_the_project_names_is_not_started(project: Path) -> None:
    script = project / "program"
    script.write_text(f"#!/bin/sh\ntouch {project}/started\n")
    script.chmod(0o700)
    for key in ("core.fsmonitor", "gpg.program", "core.pager", "diff.external"):
        run(project, "config", key, str(script))
    run(project, "config", "log.showSignature", "true")
    assert panel(project)
    assert not (project / "started").exists()


def test_git_that_cannot_be_asked_is_told_in_its_row(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert showing._row(str(project))[:2] == ["work", "1"]
    assert showing._row("/") == ["no repository", "", ""]
    monkeypatch.setattr(git, "GIT", ("git-that-is-not-there",))
    assert showing._row(str(project))[0].startswith("git: ")
