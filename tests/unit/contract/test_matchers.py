"""Which calls a matcher of settings.json lets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.matchers import covers, matches, overlap


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


_MATCHERS = st.sampled_from([None, "", "*", "Bash", "Edit|Bash", "Edit, Write", "mcp__.*", "^B", "a.h", "("])
_TOOLS = st.sampled_from(["Bash", "Edit", "Write", "mcp__a__b", "BashOutput"])


@given(_MATCHERS, _MATCHERS, _TOOLS)
def test_what_two_matchers_have_in_common_is_never_missed(matcher: str | None, other: str | None, tool: str) -> None:
    taken, also = matches("PreToolUse", matcher, tool), matches("PreToolUse", other, tool)
    if taken and also:
        assert overlap("PreToolUse", matcher, other)
    if covers("PreToolUse", matcher, other) and also:
        assert taken
