import subprocess
from pathlib import Path

from hookrouter.testing import Hooks


def test_claude_knows_the_branch(hooks: Hooks, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--initial-branch=topic", tmp_path], check=True)
    (tmp_path / "new").touch()
    hooks.add("./branch_in_prompt.py")
    assert hooks.fire("UserPromptSubmit", cwd=str(tmp_path)).context == "git: No commits yet on topic, 1 changed files"


def test_outside_a_repository_it_is_silent(hooks: Hooks, tmp_path: Path) -> None:
    hooks.add("./branch_in_prompt.py")
    assert hooks.fire("UserPromptSubmit", cwd=str(tmp_path)).output == {}
