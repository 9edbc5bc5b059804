"""The plugin of Claude Code is written by code; its program is tried in tests/integration."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scripts.generate import claude_plugin

REPOSITORY = Path(__file__).parents[3]


def test_its_files_are_what_the_code_says() -> None:
    for name, text in claude_plugin.generate().items():
        file = REPOSITORY / name
        assert file.read_text(encoding="utf-8") == text, "run `python -m scripts.generate.claude_plugin`"
        assert os.access(file, os.X_OK) is text.startswith("#!")


def test_the_check_names_the_file_that_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert claude_plugin.main([str(tmp_path)]) == 0
    assert claude_plugin.main(["--check", str(tmp_path)]) == 0
    (tmp_path / "claude-plugin" / "hooks" / "hooks.json").write_text("{}")
    assert claude_plugin.main(["--check", str(tmp_path)]) == 1
    assert "hooks.json" in capsys.readouterr().err
    assert claude_plugin.main(["--nothing"]) == 2


def test_it_registers_what_the_first_party_plugins_listen_to() -> None:
    hooks: dict[str, Any] = json.loads(claude_plugin.generate()["claude-plugin/hooks/hooks.json"])["hooks"]
    (group,) = hooks["PreToolUse"]
    assert group["matcher"] == "AskUserQuestion"
    assert group["hooks"][0]["command"] == '"${CLAUDE_PLUGIN_ROOT}"/hooks/run pre-tool-use'
    assert {"PermissionRequest", "PostToolUse", "Stop", "SessionStart", "SessionEnd"} <= set(hooks)
