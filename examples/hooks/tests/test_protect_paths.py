from pathlib import Path
from typing import Any

import pytest

from hookrouter.testing import Hooks, sample


@pytest.fixture
def project(hooks: Hooks, tmp_path: Path) -> Path:
    hooks.add("./protect_paths.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "link").symlink_to(".env")
    return tmp_path


def decide(hooks: Hooks, project: Path, tool: str, tool_input: dict[str, Any]) -> str | None:
    payload = sample("PreToolUse", "Write")
    return hooks.fire({**payload, "cwd": str(project), "tool_name": tool, "tool_input": tool_input}).decision


@pytest.mark.parametrize("path", [".env", "./src/../.env", ".git/hooks/pre-commit", "link", ["no", "text"]])
@pytest.mark.parametrize(
    ("tool", "key"), [("Write", "file_path"), ("Edit", "file_path"), ("NotebookEdit", "notebook_path")]
)
def test_a_protected_file_is_not_written(hooks: Hooks, project: Path, tool: str, key: str, path: object) -> None:
    assert decide(hooks, project, tool, {key: path}) == "deny"
    assert decide(hooks, project, tool, {key: "src/.env.example"}) is None


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("cat .env package-lock.json", None),
        ("ls -la .git; echo .env", None),
        ("npm install > log", None),
        ("echo x > .env", "deny"),
        ("{ echo x; } >> '.e''nv'", "deny"),
        ("cd src && sed -i s/a/b/ ../.env", "deny"),
        ("sh -c 'rm -rf .git'", "deny"),
        ("rm -rf ../*; rm -rf .", "deny"),
        ("cp x link", "deny"),
        ("git checkout -- package-lock.json", "deny"),
        ("some-program --output=.env", "deny"),
        ("sudo tee -a .env < x", "deny"),
        ("rm $x", "ask"),
        ("python -c 'anything'", "ask"),
    ],
)
def test_command_lines(hooks: Hooks, project: Path, command: str, decision: str | None) -> None:
    assert decide(hooks, project, "Bash", {"command": command}) == decision
