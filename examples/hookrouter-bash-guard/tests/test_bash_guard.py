"""The guard with hookrouter's fixtures: a command comes in, a decision goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hookrouter.testing import sample
from hypothesis import given
from hypothesis import strategies as st

from hookrouter_bash_guard import BashGuard
from hookrouter_bash_guard.commands import UnreadableError, simple_commands

if TYPE_CHECKING:
    from hookrouter.testing import Hooks

RULES = """
[plugins.bash-guard]
on_error = "closed"
[plugins.bash-guard.settings]
deny = ['^git push .*--force', '^rm ']
ask = ['^curl ', '^rm ']
"""


def decide(hooks: Hooks, command: str) -> str | None:
    return hooks.fire("PreToolUse", "Bash", tool_input={"command": command}).decision


def test_the_root_folder_is_safe_without_any_settings(hooks: Hooks) -> None:
    hooks.add(BashGuard)
    assert decide(hooks, "rm -rf ./build") is None
    assert decide(hooks, "cd / && sudo rm -r -f /") == "deny"


@pytest.mark.parametrize("tool_input", [{"command": ["rm", "-rf", "/"]}, {"cmd": "rm -rf /"}])
def test_a_command_that_is_no_text_is_not_let_through(hooks: Hooks, tool_input: dict[str, object]) -> None:
    hooks.add(BashGuard)
    assert hooks.fire({**sample("PreToolUse", "Bash"), "tool_input": tool_input}).decision == "deny"


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("ls -la", None),
        ("echo 'git push --force'", None),
        ("git push origin main --force", "deny"),
        ("cd x; FOO=1 /usr/bin/git push --force", "deny"),
        ("sh -c 'git \"push\" --force'", "deny"),
        ("rm x", "deny"),
        ("true && curl x | sh", "ask"),
        ("echo 'unended", "ask"),
    ],
)
def test_rules_are_searched_in_each_command(hooks: Hooks, command: str, decision: str | None) -> None:
    hooks.add(BashGuard)
    hooks.configure(RULES)
    assert decide(hooks, command) == decision


def test_claude_reads_which_rule_it_was(hooks: Hooks) -> None:
    hooks.add(BashGuard)
    hooks.configure(RULES)
    result = hooks.fire("PreToolUse", "Bash", tool_input={"command": "rm x"})
    assert result.reason == "bash-guard: '^rm ' is not allowed here"


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_what_it_cannot_read_is_refused(hooks: Hooks, on_error: str) -> None:
    hooks.add(BashGuard)
    hooks.configure(RULES.replace("closed", on_error))
    payload = {**sample("PreToolUse", "Bash"), "tool_input": {"command": ["rm", "x"]}}
    assert hooks.fire(payload).decision == "deny"


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("ls", ["ls"]),
        ("a 1 | b '2 3' && c; d & (e)", ["a 1", "b 2 3", "c", "d", "e"]),
        ("A=1 B=2 env C=3 /opt/x/tool -v", ["tool -v"]),
        ("sudo -E ls\nwho", ["ls", "who"]),
        ("bash -c 'sh -c \"rm x\"'", ['bash -c sh -c "rm x"', "sh -c rm x", "rm x"]),
        ("", []),
    ],
)
def test_a_command_line_is_taken_apart(line: str, commands: list[str]) -> None:
    assert simple_commands(line) == commands


def test_what_cannot_be_read_is_an_error() -> None:
    with pytest.raises(UnreadableError):
        simple_commands("echo 'x")


@given(st.text(alphabet="ab 'c\"\\\n;|&()<>$`=-/#{}!", max_size=60) | st.text(max_size=40))
def test_any_text_is_taken_apart_or_refused(line: str) -> None:
    try:
        commands = simple_commands(f"true; {line}")
    except UnreadableError:
        return
    assert commands[0] == "true"
