"""The example packages, installed as a user would install them and run by the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter.executable import script_argv

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

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
    """Return a folder with the examples installed in it."""
    folder = tmp_path_factory.mktemp("site")
    packages = [str(EXAMPLES / name) for name in ("hookrouter-bash-guard", "hookrouter-gnu-screen")]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(folder), *packages], check=True)
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


def test_the_screen_backend_is_chosen_in_the_config(site: Path, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[answer]\nterminal = "screen"\n', encoding="utf-8")
    listing = json.loads(run(site, tmp_path, "plugins", "list", "--json"))
    (plugin,) = [plugin for plugin in listing if plugin["name"] == "gnu-screen"]
    assert (plugin["status"], plugin["hooks"]) == ("active", ["terminal_backend"])


@pytest.mark.parametrize("name", ["hookrouter-bash-guard", "hookrouter-gnu-screen"])
def test_its_own_tests_pass(site: Path, name: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rs",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
            "--rootdir",
            ".",
            "tests",
        ],
        cwd=EXAMPLES / name,
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )
    said = done.stdout.decode()
    assert done.returncode == 0, said
    if "skipped" in said:
        pytest.skip(said.rpartition("SKIPPED")[2].strip())
