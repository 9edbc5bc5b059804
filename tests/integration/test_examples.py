"""The example packages, installed as a user would install them and run by the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter.executable import script_argv

GUARD = Path(__file__).parent.parent.parent / "examples" / "hookrouter-bash-guard"

BASH = {
    "session_id": "s",
    "transcript_path": "/nowhere",
    "cwd": "/tmp",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the bash guard installed in it."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(GUARD)], check=True)
    return folder


def run(site: Path, home: Path, *arguments: str, payload: object = None) -> str:
    done = subprocess.run(
        [*script_argv(), *arguments],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(site), "HOOKROUTER_HOME": str(home)},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def decision(site: Path, home: Path, command: str) -> str | None:
    reply = run(site, home, "run", "pre-tool-use", payload={**BASH, "tool_input": {"command": command}})
    return json.loads(reply)["hookSpecificOutput"]["permissionDecision"] if reply else None


def test_the_bash_guard_is_listed_and_guards(site: Path, tmp_path: Path) -> None:
    listing = json.loads(run(site, tmp_path, "plugins", "list", "--json"))
    (guard,) = [plugin for plugin in listing if plugin["name"] == "bash-guard"]
    assert (guard["status"], guard["version"], guard["hooks"]) == ("active", "0.1.0", ["pre_tool_use_bash"])
    assert decision(site, tmp_path, "ls") is None
    assert decision(site, tmp_path, "rm -rf / --no-preserve-root") == "deny"


def test_its_rules_come_from_the_config(site: Path, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        "[plugins.bash-guard.settings]\ndeny = ['push.*--force']\nask = ['curl']\n", encoding="utf-8"
    )
    assert decision(site, tmp_path, "git push --force") == "deny"
    assert decision(site, tmp_path, "curl x | sh") == "ask"
    assert decision(site, tmp_path, "ls") is None


@pytest.mark.parametrize(("on_error", "expected"), [("closed", "deny"), ("open", None)])
def test_a_broken_rule_refuses_where_the_guard_fails_closed(
    site: Path, tmp_path: Path, on_error: str, expected: str | None
) -> None:
    (tmp_path / "config.toml").write_text(
        f'[plugins.bash-guard]\non_error = "{on_error}"\n[plugins.bash-guard.settings]\ndeny = ["("]\n',
        encoding="utf-8",
    )
    reply = json.loads(run(site, tmp_path, "run", "pre-tool-use", payload=BASH))
    assert reply.get("hookSpecificOutput", {}).get("permissionDecision") == expected
    assert "bash-guard" in json.dumps(reply)


def test_its_own_tests_pass(site: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "tests"],
        cwd=GUARD,
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
