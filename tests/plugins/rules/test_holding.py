"""What rules say to a call before it runs."""

from __future__ import annotations

from typing import Any

import pytest

import hookrouter_rules
from hookrouter.permission_rules import judging
from hookrouter.testing import sample
from hookrouter.testing.hooks import HookResult, Hooks

CONFIG = """
[[agents]]
id = "night"
workdirs = ["/project"]

[[approvals.rules]]
tool = "Bash(rm:*)"
decide = "deny"

[[approvals.rules]]
tool = "Bash(git push:*)"
decide = "person"

[[approvals.rules]]
tool = "Bash(make:*)"
decide = "agent"
ask = "always"

[[approvals.rules]]
tool = "Bash(git:*)"
decide = "agent"

[[approvals.rules]]
tool = "Bash(ls:*)"
decide = "allow"

[[approvals.rules]]
tool = "Edit(/locked/**)"
decide = "deny"
"""


@pytest.fixture
def rules(hooks: Hooks) -> Hooks:
    hooks.configure(CONFIG)
    hooks.add(hookrouter_rules, "rules")
    return hooks


def bash(rules: Hooks, command: str, event: str = "PreToolUse", **more: Any) -> HookResult:
    return rules.fire(event, tool_name="Bash", tool_input={"command": command}, **{"cwd": "/project", **more})


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"])
@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("ls; rm -rf x", "deny"),
        ("git -C x push", "ask"),
        ("frobnicate; git push", "ask"),
        ("make", "ask"),
        ("git status && make", "ask"),
        ("git status", None),
        ("ls", None),
        ("frobnicate", None),
        ("git $x", "ask"),
        ("echo x > locked/y", "deny"),
    ],
)
def test_a_call_is_refused_asked_about_or_left_to_the_mode(
    rules: Hooks, mode: str, command: str, decision: str | None
) -> None:
    fired = bash(rules, command, permission_mode=mode)
    assert fired.decision == decision
    if decision is not None:
        assert "(Bash(" in fired.reason or "(Edit(" in fired.reason


def test_the_reason_names_the_rule_and_the_journal_has_it(rules: Hooks) -> None:
    fired = bash(rules, "rm x")
    assert fired.reason == "rules: A rule of the user forbids this. (Bash(rm:*))"
    assert fired.journal["rule"] == {"tool": "Bash(rm:*)", "decide": "deny"}
    assert bash(rules, "git push").reason == "rules: A rule of the user leaves this to a person. (Bash(git push:*))"


@pytest.mark.parametrize("tool", ["Write", "NotebookEdit", "Edit"])
def test_all_that_writes_is_an_edit(rules: Hooks, tool: str) -> None:
    given = sample("PreToolUse", tool)
    key = "notebook_path" if tool == "NotebookEdit" else "file_path"
    given |= {"tool_input": {**given["tool_input"], key: "/project/locked/x"}, "cwd": "/project"}
    assert rules.fire(given).decision == "deny"


def test_a_session_that_nobody_manages_is_left_alone(rules: Hooks) -> None:
    assert bash(rules, "rm x", cwd="/elsewhere").decision is None


def test_tools_that_are_dialogs_are_not_asked_about_twice(hooks: Hooks) -> None:
    hooks.configure('[[agents]]\nid = "a"\n\n[[approvals.rules]]\ntool = "*"\ndecide = "person"\n')
    hooks.add(hookrouter_rules, "rules")
    for tool, decision in (("AskUserQuestion", None), ("ExitPlanMode", None), ("Read", "ask")):
        assert hooks.fire(sample("PreToolUse", tool)).decision == decision


@pytest.mark.parametrize(
    ("command", "decision"),
    [("rm x", "block"), ("git push", "block"), ("make", "block"), ("git status", None), ("ls", None), ("other", None)],
)
def test_a_skill_cannot_wait_so_what_is_to_be_decided_is_refused(
    rules: Hooks, command: str, decision: str | None
) -> None:
    assert bash(rules, command, "PreSkillShellCommand").decision == decision


def test_a_fault_refuses_the_call(rules: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(judging.Rules, "judge", broken)
    fired = bash(rules, "ls", check=False)
    assert fired.decision == "deny"
    assert "fail closed" in fired.reason


def test_without_a_rule_that_refuses_a_fault_lets_it_by(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks.configure('[[agents]]\nid = "a"\n\n[[approvals.rules]]\ntool = "Bash"\ndecide = "agent"\n')
    hooks.add(hookrouter_rules, "rules")
    monkeypatch.setattr(judging.Rules, "judge", lambda *_: 1 / 0)
    assert bash(hooks, "ls", check=False).decision is None


def test_it_sees_what_another_plugin_has_made_of_a_call(rules: Hooks) -> None:
    from hookrouter import hookimpl
    from hookrouter.replies import PreToolUseReply

    class Rewriter:
        @hookimpl
        def pre_tool_use(self, event: Any, context: Any) -> Any:
            return PreToolUseReply.update_input({"command": "rm x"})

    rules.add(Rewriter, "zzz")
    assert bash(rules, "ls").decision == "deny"
