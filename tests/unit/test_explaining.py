"""Which calls a matcher of settings.json lets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.explaining import matches


@pytest.mark.parametrize(
    ("event", "matcher", "value", "expected"),
    [
        ("PreToolUse", None, "Bash", True),
        ("PreToolUse", "", "Bash", True),
        ("PreToolUse", "*", "Bash", True),
        ("PreToolUse", "Bash", "Bash", True),
        ("PreToolUse", "Bash", "BashOutput", False),
        ("PreToolUse", "Edit|Bash", "Bash", True),
        ("PreToolUse", "Edit, Bash", "Bash", True),
        ("PreToolUse", "Task", "Agent", True),
        ("PreToolUse", "mcp__.*", "mcp__github__create_issue", True),
        ("PreToolUse", "^B", "Bash", True),
        ("PreToolUse", "a.h", "Bash", True),
        ("PreToolUse", "(", "Bash", False),
        ("SubagentStop", "general-purpose", "general-purpose", True),
        ("FileChanged", ".env", ".envrc", True),
        ("Stop", "anything", None, True),
    ],
)
def test_a_matcher_lets_through(event: str, matcher: str | None, value: str | None, expected: bool) -> None:
    assert matches(event, matcher, value) is expected


@given(matcher=st.text(max_size=20), value=st.text(max_size=20))
def test_no_matcher_is_an_error(matcher: str, value: str) -> None:
    assert matches("PreToolUse", matcher, value) in (True, False)
