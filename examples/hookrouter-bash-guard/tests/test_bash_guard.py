"""The guard with hookrouter's fixtures: a command comes in, a decision goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hookrouter.testing import sample

from hookrouter_bash_guard import BashGuard

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
        ("git push '--for''ce'", "deny"),
        ("git rebase -x 'rm x' main", "deny"),
        ("$x y", "ask"),
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
