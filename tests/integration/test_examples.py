"""The examples, installed or added as a user would and run by the real program: packages, and single files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookrouter.samples import sample
from hookrouter.util.program import script_argv
from support.code_lines import code_lines
from support.fronts import THROUGH_FRONTS

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
HOOKS = {
    "bash-guard": ["plugin_settings", "pre_tool_use_bash"],
    "git-state": ["plugin_settings", "web_pages"],
    "gnu-screen": ["terminal_backend"],
    "redis": ["storage_engine"],
    "project-context": ["plugin_settings", "session_start", "user_prompt_submit"],
}
FILES = {
    "audit": ["raw_event"],
    "branch_in_prompt": ["user_prompt_submit"],
    "cost_limit": ["post_tool_batch", "user_prompt_submit"],
    "format_edits": ["post_tool_use_edit", "post_tool_use_write"],
    "mcp_guard": ["plugin_settings", "pre_tool_use_mcp"],
    "no_force_push": ["pre_tool_use_bash"],
    "no_secrets": ["pre_tool_use_bash", "pre_tool_use_edit", "pre_tool_use_notebook_edit", "pre_tool_use_write"],
    "notify_idle": ["notification"],
    "protect_paths": ["pre_tool_use", "pre_tool_use_bash"],
    "tests_before_stop": ["stop"],
}
SMALL = sorted(set(HOOKS) - {"gnu-screen", "redis"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the examples installed in it."""
    folder = tmp_path_factory.mktemp("site")
    packages = [str(EXAMPLES / f"hookrouter-{name}") for name in HOOKS]
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


def reply(site: Path, home: Path, event: str, payload: dict[str, Any]) -> dict[str, Any]:
    said = run(site, home, "run", event, payload=payload)
    found: dict[str, Any] = json.loads(said) if said else {}
    return found.get("hookSpecificOutput", found)


def decision(site: Path, home: Path, command: str) -> str | None:
    payload = {**sample("PreToolUse", "Bash"), "tool_input": {"command": command}}
    return reply(site, home, "pre-tool-use", payload).get("permissionDecision")


def configure(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text, encoding="utf-8")


def test_all_are_listed_as_active_with_their_hooks(site: Path, tmp_path: Path) -> None:
    listing = {entry["name"]: entry for entry in json.loads(run(site, tmp_path, "plugins", "list", "--json"))}
    for name, hooks in HOOKS.items():
        entry = listing[name]
        assert (entry["status"], entry["version"], sorted(entry["hooks"])) == ("active", "0.1.0", hooks)


@THROUGH_FRONTS
def test_the_bash_guard_guards_by_the_rules_of_the_config(site: Path, tmp_path: Path) -> None:
    assert decision(site, tmp_path, "ls") is None
    assert decision(site, tmp_path, "rm -rf / --no-preserve-root") == "deny"
    configure(tmp_path, "[plugins.bash-guard.settings]\ndeny = ['^git push .*--force']\nask = ['^curl']\n")
    assert decision(site, tmp_path, "cd x && git push --force") == "deny"
    assert decision(site, tmp_path, "curl x | sh") == "ask"
    assert decision(site, tmp_path, "ls") is None


@THROUGH_FRONTS
@pytest.mark.parametrize(("on_error", "expected"), [("closed", "deny"), ("open", None)])
def test_a_broken_rule_refuses_where_the_guard_fails_closed(
    site: Path, tmp_path: Path, on_error: str, expected: str | None
) -> None:
    settings = '[plugins.bash-guard.settings]\ndeny = ["("]\n'
    configure(tmp_path, f'[plugins.bash-guard]\non_error = "{on_error}"\n{settings}')
    assert decision(site, tmp_path, "ls") == expected


def add(site: Path, home: Path, *names: str) -> None:
    """Add single files, as the README of examples/hooks does."""
    for name in names:
        run(site, home, "plugins", "add", str(EXAMPLES / "hooks" / f"{name}.py"))


def test_every_single_file_is_added_and_active_with_its_hooks(site: Path, tmp_path: Path) -> None:
    assert sorted(FILES) == sorted(file.stem for file in (EXAMPLES / "hooks").glob("*.py"))
    add(site, tmp_path, *FILES)
    listing = {entry["name"]: entry for entry in json.loads(run(site, tmp_path, "plugins", "list", "--json"))}
    assert {name: (listing[name]["status"], sorted(listing[name]["hooks"])) for name in FILES} == {
        name: ("active", hooks) for name, hooks in FILES.items()
    }


@THROUGH_FRONTS
def test_the_mcp_guard_refuses_by_globs(site: Path, tmp_path: Path) -> None:
    add(site, tmp_path, "mcp_guard")
    configure(tmp_path, "[plugins.mcp_guard.settings]\nallow = ['*/get_*']\ndeny = ['*/delete_*']\n")
    told = reply(site, tmp_path, "pre-tool-use", sample("PreToolUse", "mcp__github__delete_issue"))
    assert told["permissionDecision"] == "deny"
    assert "github/delete_issue" in told["permissionDecisionReason"]
    assert reply(site, tmp_path, "pre-tool-use", sample("PreToolUse", "mcp__github__get_issue")) == {}


@THROUGH_FRONTS
def test_the_audit_log_keeps_the_payload(site: Path, tmp_path: Path) -> None:
    add(site, tmp_path, "audit")
    log = tmp_path / "logs" / "audit.jsonl"
    payload = sample("PreCompact")
    run(site, tmp_path, "run", "pre-compact", payload=payload)
    run(site, tmp_path, "run", "event-of-tomorrow", payload={**payload, "hook_event_name": "EventOfTomorrow"})
    first, second = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert first.items() >= payload.items()
    assert second["hook_event_name"] == "EventOfTomorrow"
    assert log.stat().st_mode & 0o777 == 0o600


@THROUGH_FRONTS
def test_the_project_context_is_told_at_the_start(site: Path, tmp_path: Path) -> None:
    (tmp_path / "TODO.md").write_text("Mend the roof.", encoding="utf-8")
    home = tmp_path / "home"
    configure(home, "[plugins.project-context.settings]\nfiles = ['TODO.md']\n")
    told = reply(site, home, "session-start", {**sample("SessionStart"), "cwd": str(tmp_path)})
    assert "Mend the roof." in told["additionalContext"]


def test_the_git_state_is_told_in_the_plugins_info(site: Path, tmp_path: Path) -> None:
    info = json.loads(run(site, tmp_path, "plugins", "info", "git-state", "--json"))
    assert info["contributions"] == [{"hook": "web_pages", "names": ["Git", "Folders"], "error": "", "keys": []}]


def test_the_screen_backend_is_chosen_in_the_config(site: Path, tmp_path: Path) -> None:
    configure(tmp_path, '[answer]\nterminal = "screen"\n')
    listing = json.loads(run(site, tmp_path, "plugins", "list", "--json"))
    (plugin,) = [plugin for plugin in listing if plugin["name"] == "gnu-screen"]
    assert plugin["status"] == "active"


@pytest.mark.parametrize("folder", [*(f"hookrouter-{name}" for name in HOOKS), "hooks"])
def test_its_own_tests_pass(site: Path, folder: str, tmp_path: Path) -> None:
    options = ["-q", "-rs", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "tests"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=EXAMPLES / folder,
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )
    said = done.stdout.decode()
    assert done.returncode == 0, said
    if "skipped" in said:
        pytest.skip(said.rpartition("SKIPPED")[2].strip())


def test_all_are_typed(tmp_path: Path) -> None:
    folders = [EXAMPLES / f"hookrouter-{name}" / part for name in HOOKS for part in ("src", "tests")]
    options = ["--strict", "--enable-error-code", "explicit-override", "--cache-dir", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *folders, EXAMPLES / "hooks"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [name for name in HOOKS if not list((EXAMPLES / f"hookrouter-{name}").glob("src/*/py.typed"))] == []


@pytest.mark.parametrize("name", FILES)
def test_a_single_file_has_60_lines_of_code_at_most_and_a_test(name: str) -> None:
    text = (EXAMPLES / "hooks" / f"{name}.py").read_text(encoding="utf-8")
    assert 10 <= len(code_lines(text)) <= 60
    assert (EXAMPLES / "hooks" / "tests" / f"test_{name}.py").is_file()
    assert f"`{name}.py`" in (EXAMPLES / "hooks" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SMALL)
def test_it_has_less_than_a_hundred_lines_of_code(name: str) -> None:
    files = (EXAMPLES / f"hookrouter-{name}" / "src").rglob("*.py")
    counted = sum(len(code_lines(file.read_text(encoding="utf-8"))) for file in files)
    assert 0 < counted < 100


@pytest.mark.parametrize("name", SMALL)
def test_the_configuration_in_its_readme_is_valid(site: Path, name: str, tmp_path: Path) -> None:
    text = (EXAMPLES / f"hookrouter-{name}" / "README.md").read_text(encoding="utf-8")
    blocks = [part.partition("```")[0] for part in text.split("```toml\n")[1:]]
    assert blocks
    for number, block in enumerate(blocks):
        home = tmp_path / str(number)
        configure(home, block)
        found = json.loads(run(site, home, "config", "check", "--json"))
        assert found["ok"], found
