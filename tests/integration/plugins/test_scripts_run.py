"""What ``[[scripts]]`` runs, and what comes of it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import hookrouter_scripts
from hookrouter.cli.main import main
from hookrouter.testing.hooks import HookResult, Hooks
from hookrouter.util.system import process_status
from support.resident import eventually


@pytest.fixture
def scripts(hooks: Hooks) -> Hooks:
    hooks.add(hookrouter_scripts, "scripts")
    return hooks


def table(event: str, command: str, **keys: Any) -> str:
    lines = {"event": event, "command": command, **keys}
    return "[[scripts]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())


def bash(hooks: Hooks, command: str = "ls", **more: Any) -> HookResult:
    return hooks.fire("PreToolUse", tool_name="Bash", tool_input={"command": command}, **more)


def test_a_script_gets_the_payload_as_the_client_writes_it(scripts: Hooks, tmp_path: Path) -> None:
    kept = tmp_path / "payload"
    scripts.configure(table("PreToolUse", f"cat > {kept}"))
    payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "echo ü \udc80"}}
    common = {"session_id": "s", "transcript_path": "", "cwd": "/", "tool_use_id": "t"}
    scripts.fire({**common, **payload, "future": {"a": [1, 2.5]}})
    text = kept.read_text()
    assert text.endswith("}\n")
    assert '"command":"echo ü \\udc80"' in text
    assert json.loads(text)["future"] == {"a": [1, 2.5]}


def test_scripts_that_decide_run_in_order_and_see_what_was_rewritten(scripts: Hooks, tmp_path: Path) -> None:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "ls -l"}}
    first = f"sleep 0.2; printf '%s' '{json.dumps({'hookSpecificOutput': said})}'"
    kept = tmp_path / "second"
    scripts.configure(table("PreToolUse", first, matcher="Bash") + table("PreToolUse", f"cat > {kept}"))
    result = bash(scripts)
    assert json.loads(kept.read_text())["tool_input"] == {"command": "ls -l"}
    assert result.decision == "allow"
    assert "ls -l" in result.stdout


def test_scripts_that_cannot_decide_run_side_by_side(scripts: Hooks, tmp_path: Path) -> None:
    meet = "touch {0}; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do [ -e {1} ] && echo met && exit; sleep 0.25; done"
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    scripts.configure(
        table("SessionStart", meet.format(one, two)) + table("SessionStart", meet.format(two, one) + " # other")
    )
    result = scripts.fire("SessionStart")
    assert json.loads(result.stdout)["hookSpecificOutput"]["additionalContext"] == "met\n\nmet"


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        ("exit 3", {}),
        ("/no/such/program", {}),
        ("kill -9 $$", {}),
        ("echo '{bad}'", {}),
        ("sleep 30", {"timeout": 0.2}),
        ("/no/such/program", {"args": []}),
    ],
)
@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_script_that_fails_refuses_if_it_is_to(
    scripts: Hooks, command: str, keys: dict[str, Any], on_error: str
) -> None:
    scripts.configure(table("PreToolUse", command, on_error=on_error, **keys))
    result = bash(scripts, check=False)
    assert result.decision == ("deny" if on_error == "closed" else None)
    assert "hookrouter: script [" in result.stdout


def is_running(kept: Path) -> bool:
    """Whether the process runs whose id a file holds."""
    status = process_status(int(kept.read_text()))
    return status is not None and status.state != "Z"


def test_what_a_script_started_ends_with_its_time(scripts: Hooks, tmp_path: Path) -> None:
    kept = tmp_path / "pid"
    scripts.configure(table("Stop", f"sleep 600 & echo $! > {kept}; wait", timeout=0.5))
    scripts.fire("Stop", check=False)
    eventually(lambda: not is_running(kept))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sleep 600 & echo $! > {kept}; echo hello", "hello"),
        ("echo $$ > {kept}; echo '{{\"async\": true}}'; exec sleep 600", ""),
    ],
    ids=["in the background", "by its own word"],
)
def test_nobody_waits_for_what_a_script_leaves_behind(scripts: Hooks, tmp_path: Path, command: str, said: str) -> None:
    kept = tmp_path / "pid"
    scripts.configure(table("UserPromptSubmit", command.format(kept=kept)))
    result = scripts.fire("UserPromptSubmit")
    try:
        assert is_running(kept)
        assert said in result.stdout
        assert bool(result.stdout) == bool(said)
    finally:
        os.kill(int(kept.read_text()), signal.SIGKILL)


def test_each_script_has_its_own_file_of_variables(scripts: Hooks, tmp_path: Path, monkeypatch: Any) -> None:
    kept = tmp_path / "variables.sh"
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(kept))
    scripts.configure(
        "".join(table("SessionStart", f'echo "export {name}=1" > "$CLAUDE_ENV_FILE"') for name in ("A", "B"))
    )
    scripts.fire("SessionStart")
    assert kept.read_text() == "export A=1\nexport B=1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["variables.sh"]


def test_a_program_gets_its_arguments_without_a_shell(scripts: Hooks, monkeypatch: Any) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/the/project")
    scripts.configure(table("UserPromptSubmit", "printf", args=["%s|", "${CLAUDE_PROJECT_DIR}/x", "$HOME", "a b"]))
    said = json.loads(scripts.fire("UserPromptSubmit").stdout)
    assert said["hookSpecificOutput"]["additionalContext"] == "/the/project/x|$HOME|a b|"


def test_the_same_command_runs_once(scripts: Hooks, tmp_path: Path) -> None:
    kept = tmp_path / "runs"
    one = f"echo x >> {kept}"
    scripts.configure(table("PreToolUse", one, matcher="Bash") + table("PreToolUse", one, matcher="B.*"))
    bash(scripts)
    assert kept.read_text() == "x\n"


def test_the_journal_says_what_each_script_did(scripts: Hooks) -> None:
    context = '{"systemMessage": "hi", "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "c"}}'
    ones = ["echo no >&2; exit 2", f"echo '{context}'", "true"]
    scripts.configure("".join(table("PreToolUse", one, matcher="Bash") for one in ones))
    rows = bash(scripts).journal["scripts"]
    assert all(row.pop("ms") > 0 for row in rows)
    common = {"event": "PreToolUse", "matcher": "Bash"}
    assert rows == [
        {**common, "command": ones[0], "outcome": "exit code 2", "says": f"deny: [{ones[0]}]: no"},
        {**common, "command": ones[1], "outcome": "exit code 0", "says": "additionalContext, systemMessage"},
        {**common, "command": ones[2], "outcome": "exit code 0"},
    ]


def test_explain_names_each_script(capsys: pytest.CaptureFixture[str], hookrouter_home: Path) -> None:
    tables = table("PreToolUse", "echo no >&2; exit 2", matcher="Bash", on_error="closed", timeout=5)
    tables += table("PreToolUse", "cat", args=["-"]) + table("PreToolUse", "of no call of Bash", matcher="Edit")
    (hookrouter_home / "config.toml").write_text(tables)
    assert main(["explain", "PreToolUse", "--tool", "Bash", "--json"]) == 0
    (call,) = [one for one in json.loads(capsys.readouterr().out)["calls"] if one["plugin"] == "scripts"]
    common = {"event": "PreToolUse", "args": None}
    closed = {"matcher": "Bash", "command": "echo no >&2; exit 2", "timeout": 5, "on_error": "closed"}
    other = {"matcher": "", "command": "cat", "args": ["-"], "timeout": 600, "on_error": "open"}
    assert call["scripts"] == [{**common, **closed}, {**common, **other}]
    assert main(["explain", "PreToolUse", "--tool", "Bash", "--execute"]) == 0
    said = capsys.readouterr().out
    assert "     PreToolUse (Bash): echo no >&2; exit 2: timeout 5 s, on_error closed\n" in said
    assert "\n  PreToolUse (Bash): echo no >&2; exit 2: exit code 2, " in said
    assert "\n    says: deny: [echo no >&2; exit 2]: no\n" in said
    assert "of no call of Bash" not in said
