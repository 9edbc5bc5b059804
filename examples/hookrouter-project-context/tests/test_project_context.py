"""The plugin with hookrouter's fixtures, in real git repositories."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrouter_project_context import ProjectContext

if TYPE_CHECKING:
    from pathlib import Path

    from hookrouter.testing import Hooks


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository on the branch ``work`` with one file that git does not know."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=work", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("x")
    return tmp_path


def test_a_session_starts_with_the_state_of_git(hooks: Hooks, project: Path) -> None:
    hooks.add(ProjectContext)
    told = hooks.fire("SessionStart", cwd=str(project)).context
    assert "## No commits yet on work" in told
    assert "?? new.txt" in told
    assert hooks.fire("UserPromptSubmit", cwd=str(project)).stdout == ""


def test_a_program_that_the_project_names_is_not_started(hooks: Hooks, project: Path) -> None:
    script = project / "monitor"
    script.write_text(f"#!/bin/sh\ntouch {project}/started\n")
    script.chmod(0o700)
    subprocess.run(["git", "-C", str(project), "config", "core.fsmonitor", str(script)], check=True)
    hooks.add(ProjectContext)
    assert "new.txt" in hooks.fire("SessionStart", cwd=str(project)).context
    assert not (project / "started").exists()


def test_long_lists_are_cut(hooks: Hooks, project: Path) -> None:
    for number in range(40):
        (project / f"{number}.txt").write_text("x")
    hooks.add(ProjectContext)
    assert hooks.fire("SessionStart", cwd=str(project)).context.endswith("... and 12 more")


def test_files_are_told_as_far_as_they_are_there(hooks: Hooks, tmp_path: Path) -> None:
    (tmp_path / "TODO.md").write_text("Mend the roof.")
    hooks.add(ProjectContext)
    hooks.configure("[plugins.project-context.settings]\nfiles = ['TODO.md', 'missing.md']\nlength = 8\n")
    assert hooks.fire("SessionStart", cwd=str(tmp_path)).context == f"{tmp_path}/TODO.md:\nMend the [cut]"


def test_nothing_is_said_where_there_is_nothing_to_say(hooks: Hooks, tmp_path: Path) -> None:
    hooks.add(ProjectContext)
    assert hooks.fire("SessionStart", cwd=str(tmp_path)).stdout == ""


def test_prompts_carry_the_state_of_git_on_wish(hooks: Hooks, project: Path) -> None:
    hooks.add(ProjectContext)
    hooks.configure("[plugins.project-context.settings]\ngit_with_prompts = true\n")
    assert "new.txt" in hooks.fire("UserPromptSubmit", cwd=str(project)).context
