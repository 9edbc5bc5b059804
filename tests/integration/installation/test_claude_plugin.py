"""The program of the plugin of Claude Code: it starts hookrouter, or leaves that to settings.json."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[3] / "claude-plugin" / "hooks" / "run"


@pytest.fixture
def hookrouter(tmp_path: Path) -> Path:
    """Return a folder for PATH with a hookrouter that says how it was called, and what it read."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "hookrouter"
    program.write_text('#!/bin/sh\necho "called with $*"\ncat\n')
    program.chmod(0o755)
    return folder


def call(event: str, tmp_path: Path, path: str) -> str:
    environ = {"HOME": str(tmp_path), "CLAUDE_PROJECT_DIR": str(tmp_path / "project"), "PATH": f"{path}:/usr/bin:/bin"}
    done = subprocess.run([PROGRAM, event], env=environ, input="{}", capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_its_program_starts_hookrouter_with_the_payload(hookrouter: Path, tmp_path: Path) -> None:
    assert call("stop", tmp_path, str(hookrouter)) == "called with run stop\n{}"


def test_its_program_finds_what_pipx_has_installed_although_path_lacks_it(hookrouter: Path, tmp_path: Path) -> None:
    (tmp_path / ".local").mkdir()
    hookrouter.rename(tmp_path / ".local" / "bin")
    assert call("stop", tmp_path, "/nowhere") == "called with run stop\n{}"


@pytest.mark.parametrize("file", [".claude/settings.json", "project/.claude/settings.json"])
@pytest.mark.parametrize(
    "command",
    [
        "/home/me/.local/bin/hookrouter run stop",
        "HOOKROUTER_HOME=/x '/a folder/hookrouter' run stop",
        "/usr/bin/python3 -P -m hookrouter run stop",
        "/site/hookrouter/_fronts/native '/a home/router' /v/bin/hookrouter run stop",
        "HOOKROUTER_HOME=/x /v/bin/python3 -SP /s/hookrouter/_fronts/python_front.py /r /v/bin/hookrouter run stop",
    ],
)
def test_it_leaves_the_work_to_settings_json(file: str, command: str, hookrouter: Path, tmp_path: Path) -> None:
    settings = tmp_path / file
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}))
    assert call("stop", tmp_path, str(hookrouter)) == ""


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "handler",
    [
        {"type": "command", "command": "/home/me/.local/bin/hookrouter", "args": ["run", "stop"]},
        {"args": ["run", "stop"], "timeout": 60, "command": "hookrouter", "type": "command"},
        {"type": "command", "command": "/v/python", "args": ["-P", "-m", "hookrouter", "run", "stop"]},
        {"type": "command", "command": 'timeout 30 hookrouter run stop || echo "{failed}"'},
        {"type": "command", "command": '"/a folder/hookrouter" run stop'},
    ],
)
def test_it_sees_every_form_of_an_entry(
    handler: dict[str, Any], indent: int | None, hookrouter: Path, tmp_path: Path
) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    document = {"permissions": {"allow": ["Bash(echo {)"]}, "hooks": {"Stop": [{"hooks": [handler]}]}}
    settings.write_text(json.dumps(document, indent=indent))
    assert call("stop", tmp_path, str(hookrouter)) == ""


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "document",
    [
        {"permissions": {"allow": ["Bash(hookrouter questions)"]}},
        {"permissions": {"allow": ["Bash(hookrouter run pre-tool-use:*)"]}},
        {"env": {"command": "x", "NOTE": "hookrouter run stop"}},
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "my-hookrouter run stop"}]}]}},
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "hookrouter", "args": ["answer", "run"]}]}]}},
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}, "note": "hookrouter run stop"},
    ],
)
def test_other_words_about_hookrouter_in_settings_json_do_not_stop_it(
    document: dict[str, Any], indent: int | None, hookrouter: Path, tmp_path: Path
) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(document, indent=indent))
    assert call("stop", tmp_path, str(hookrouter)) == "called with run stop\n{}"


def test_a_session_says_once_where_hookrouter_is_not_installed(tmp_path: Path) -> None:
    assert "pipx install hookrouter" in json.loads(call("session-start", tmp_path, ""))["systemMessage"]
    assert call("stop", tmp_path, "") == ""
