"""The formatter with hookrouter's fixtures: a file was written, a program formats it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from hookrouter_formatter import Formatter
from hookrouter_formatter.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from hookrouter.testing import HookResult, Hooks

UPPER = "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t.upper())"
FAILS = "import sys; sys.exit('line 1: no')"


def written(hooks: Hooks, path: Path, text: str, program: str) -> HookResult:
    words = json.dumps([sys.executable, "-c", program, "{file}"])
    hooks.configure(f"[plugins.formatter.settings]\nformatters = {{ '.txt' = {words} }}\n")
    hooks.add(Formatter)
    path.write_text(text)
    return hooks.fire(
        "PostToolUse", "Write", tool_input={"file_path": str(path), "content": text}, cwd=str(path.parent)
    )


def test_claude_is_told_to_read_a_file_again_that_was_changed(hooks: Hooks, tmp_path: Path) -> None:
    file = tmp_path / "a file.txt"
    result = written(hooks, file, "hello", UPPER)
    assert file.read_text() == "HELLO"
    assert str(file) in result.context
    assert "read it again" in result.context


def test_nothing_is_said_where_nothing_changed(hooks: Hooks, tmp_path: Path) -> None:
    assert written(hooks, tmp_path / "a.txt", "HELLO", UPPER).stdout == ""


def test_other_suffixes_are_left_alone(hooks: Hooks, tmp_path: Path) -> None:
    assert written(hooks, tmp_path / "a.md", "hello", UPPER).stdout == ""
    assert (tmp_path / "a.md").read_text() == "hello"


def test_claude_reads_why_a_file_cannot_be_formatted(hooks: Hooks, tmp_path: Path) -> None:
    assert "line 1: no" in written(hooks, tmp_path / "a.txt", "hello", FAILS).context


def test_a_missing_formatter_is_a_warning(hooks: Hooks, tmp_path: Path) -> None:
    hooks.configure("[plugins.formatter.settings]\nformatters = { '.txt' = ['/nowhere/format', '{file}'] }")
    hooks.add(Formatter)
    file = tmp_path / "a.txt"
    file.write_text("x")
    payload = {"file_path": str(file), "old_string": "y", "new_string": "x"}
    result = hooks.fire("PostToolUse", "Edit", tool_input=payload, cwd=str(tmp_path), check=False)
    assert result.stdout == ""
    assert "/nowhere/format" in str(result.journal["warnings"])


@pytest.mark.parametrize("formatters", [{"py": ["x", "{file}"]}, {".py": ["x"]}, {".py": []}])
def test_a_formatter_that_could_never_work_is_named(formatters: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match="formatters: "):
        Settings(formatters=formatters)
