import sys
from pathlib import Path

import pytest

from hookrouter.testing import HookResult, Hooks, sample

UPPER = "import sys; p = sys.argv[1]; t = open(p).read(); t == 'bad' and sys.exit('no'); open(p, 'w').write(t.upper())"


@pytest.fixture
def edit(hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    hooks.add("./format_edits.py")
    formatters = {".txt": [sys.executable, "-c", UPPER], ".py": ["/no/such/program"]}
    monkeypatch.setattr("hookrouter_files.format_edits.FORMATTERS", formatters)
    return tmp_path / "a.txt"


def fire(hooks: Hooks, file: Path, tool: str = "Write") -> HookResult:
    payload = sample("PostToolUse", tool)
    payload["tool_input"]["file_path"] = str(file)
    return hooks.fire({**payload, "cwd": str(file.parent)}, check=False)


@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_claude_is_told_that_the_file_has_changed(hooks: Hooks, edit: Path, tool: str) -> None:
    edit.write_text("words")
    assert "read it again" in fire(hooks, edit, tool).context
    assert edit.read_text() == "WORDS"
    assert fire(hooks, edit, tool).context == ""


def test_claude_is_told_what_the_formatter_says(hooks: Hooks, edit: Path) -> None:
    edit.write_text("bad")
    assert fire(hooks, edit).context.endswith("cannot format " + str(edit) + ":\nno\n")


def test_a_missing_formatter_is_a_warning(hooks: Hooks, edit: Path) -> None:
    other = edit.with_suffix(".py")
    other.touch()
    result = fire(hooks, other)
    assert result.context == ""
    assert "/no/such/program could not format" in result.failures[0]
