"""The guard with hookrouter's fixtures: a tool of a server comes in, a decision goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrouter_mcp_guard import McpGuard

if TYPE_CHECKING:
    from hookrouter.testing import Hooks

RULES = """
[plugins.mcp-guard.settings]
deny = ["*/delete_*"]
ask = ["github/create_*", "*/delete_*"]
allow = ["github/*"]
otherwise = "ask"
"""


@pytest.mark.parametrize(
    ("tool", "decision"),
    [
        ("mcp__github__get_issue", "allow"),
        ("mcp__github__create_issue", "ask"),
        ("mcp__github__delete_repository", "deny"),
        ("mcp__files__read", "ask"),
        ("mcp__GitHub__get_issue", "ask"),
    ],
)
def test_the_gravest_rule_decides(hooks: Hooks, tool: str, decision: str) -> None:
    hooks.add(McpGuard)
    hooks.configure(RULES)
    assert hooks.fire("PreToolUse", tool).decision == decision


def test_it_has_no_opinion_without_rules(hooks: Hooks) -> None:
    hooks.add(McpGuard)
    assert hooks.fire("PreToolUse", "mcp__github__get_issue").decision is None


def test_the_reason_names_the_rule(hooks: Hooks) -> None:
    hooks.add(McpGuard)
    hooks.configure(RULES)
    assert hooks.fire("PreToolUse", "mcp__x__delete_y").reason == "mcp-guard: x/delete_y matches '*/delete_*'"
