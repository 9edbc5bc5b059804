import pytest

from hookrouter.testing import Hooks

RULES = """
[plugins.mcp_guard.settings]
allow = ["docs/*"]
deny = ["*/delete_*", "docs/purge"]
"""


def decide(hooks: Hooks, tool: str) -> str | None:
    return hooks.fire("PreToolUse", f"mcp__{tool.replace('/', '__')}", tool_input={}).decision


@pytest.mark.parametrize(
    ("tool", "decision"), [("x/get_issue", None), ("x/delete_issue", "deny"), ("x/create_issue", "ask")]
)
def test_it_decides_without_any_settings(hooks: Hooks, tool: str, decision: str | None) -> None:
    hooks.add("./mcp_guard.py")
    assert decide(hooks, tool) == decision


@pytest.mark.parametrize(
    ("tool", "decision"),
    [("docs/read", None), ("docs/purge", "deny"), ("docs/delete_all", "deny"), ("github/get_issue", "ask")],
)
def test_it_decides_by_the_settings(hooks: Hooks, tool: str, decision: str | None) -> None:
    hooks.add("./mcp_guard.py")
    hooks.configure(RULES)
    assert decide(hooks, tool) == decision
