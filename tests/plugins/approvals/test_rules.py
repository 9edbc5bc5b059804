"""Who decides on a call, by the rules of config.toml."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.config import ApprovalRule
from hookrouter_approvals.rules import ruling

RULES = (
    ApprovalRule(tool="Bash(rm:*)", decide="deny"),
    ApprovalRule(tool="Bash(git push:*)", decide="person"),
    ApprovalRule(tool="Bash(ls:*)", decide="allow"),
    ApprovalRule(tool="Bash(git:*)", decide="agent"),
    ApprovalRule(tool="Edit(/src/**)", decide="agent"),
    ApprovalRule(tool="mcp__demo", decide="agent"),
)


def decided(tool: str, rules: tuple[ApprovalRule, ...] = RULES, **tool_input: Any) -> str:
    return ruling(rules, tool, tool_input, "/project").decide


@pytest.mark.parametrize(
    ("command", "decide"),
    [
        ("ls -la", "allow"),
        ("ls && ls", "allow"),
        ("ls && git log", "agent"),
        ("git log | wc", "person"),
        ("git log && git push", "person"),
        ("git push; rm x", "deny"),
        ("ls; sudo rm x", "deny"),
        ("/bin/rm x", "deny"),
        ("make", "person"),
        ("ls $(git push)", "person"),
        ("ls > x", "person"),
        ("LD_PRELOAD=x ls", "person"),
        ("`ls`", "person"),
        ("", "person"),
    ],
)
def test_the_strictest_of_the_commands_counts(command: str, decide: str) -> None:
    assert decided("Bash", command=command) == decide


def test_other_tools() -> None:
    assert decided("Edit", file_path="/project/src/a.py") == "agent"
    assert decided("Edit", file_path="/project/a.py") == "person"
    assert decided("mcp__demo__echo") == "agent"
    assert decided("Read", file_path="/project/src/a.py") == "person"


def test_a_rule_for_the_whole_tool_covers_what_cannot_be_taken_apart_unless_a_stricter_one_stands_before_it() -> None:
    every = ApprovalRule(tool="Bash", decide="agent")
    assert decided("Bash", (every,), command="ls > x") == "agent"
    assert decided("Bash", (RULES[0], every), command="ls > x") == "agent"
    assert decided("Bash", (RULES[0], every), command="ls; $x") == "person"
    assert decided("Bash", (RULES[2], every), command="ls > x") == "agent"
    assert decided("Bash", (ApprovalRule(tool="*", decide="deny"),), command="ls > x") == "deny"


GUARDED = (
    ApprovalRule(tool="Bash(rm:*)", decide="deny"),
    ApprovalRule(tool="Bash(git push --force:*)", decide="deny"),
    ApprovalRule(tool="Bash", decide="allow"),
)


@pytest.mark.parametrize(
    ("command", "decide"),
    [
        ("bash -c 'rm -rf x > y'", "deny"),
        ("sudo bash -c 'X=1 cp x y'", "allow"),
        ("env -S 'rm $HOME'", "person"),
        ("eval 'echo $(rm x)'", "deny"),
        ("eval r'm x'", "deny"),
        ("eval \"r'm' x\"", "deny"),
        ("bash -c 'bash -c \"rm x\"'", "deny"),
        ("timeout 5 bash -c 'sudo rm x'", "deny"),
        ("su -c 'rm x'", "person"),
        ("flock /tmp/x rm y", "deny"),
        ("trap 'rm x' EXIT", "deny"),
        ("strace /bin/rm x", "person"),
        ("eval " * 3000 + "rm x", "person"),
        ("eval " * 9 + "'a b'", "person"),
        # What bash makes of {a,b} and of * is not known before it runs.
        ("git push {--force,origin}", "person"),
        ("git push --forc?", "person"),
        ("git push * origin", "person"),
        ("git * origin", "person"),
        ("sudo /bin/r? x", "person"),
        ("sudo [qr]m x", "person"),
        ("git push '--forc?'", "allow"),
        ("git add *.py", "allow"),
        ("git push main*", "allow"),
        ("sudo ls *.py", "allow"),
        ("env FOO=1 make -- *.o", "allow"),
        ("find . -name '*.py'", "allow"),
        ("git show stash@{0}", "allow"),
        ("echo rm", "allow"),
    ],
)
def test_nothing_hides_a_forbidden_command(command: str, decide: str) -> None:
    assert decided("Bash", GUARDED, command=command) == decide


def test_the_first_rule_counts() -> None:
    first = ApprovalRule(tool="Bash(rm build)", decide="allow")
    assert decided("Bash", (first, RULES[0]), command="rm build") == "allow"
    assert decided("Bash", (first, RULES[0]), command="rm build x") == "deny"


TEXTS = st.text(alphabet="lsrmgit push;&|$()`'\"\\\n <>*", max_size=30)


@given(TEXTS)
def test_nothing_that_holds_a_forbidden_command_is_allowed(text: str) -> None:
    for line in (f"rm {text}", f"{text}; rm x", f"ls && rm {text}", f"ls $(rm {text})", f"ls '{text}' & rm x"):
        assert decided("Bash", command=line) != "allow", line
