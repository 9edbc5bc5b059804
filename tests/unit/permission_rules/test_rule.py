"""Permission rules: what each is about, and what it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.permission_rules.rule import Rule, RuleError, contains, is_tool, overlaps, parse, tool_names


@pytest.mark.parametrize(
    ("text", "rule", "names"),
    [
        ("Bash", Rule("Bash"), ("Bash", "Monitor", "PowerShell")),
        ("Bash(*)", Rule("Bash"), ("Bash", "Monitor", "PowerShell")),
        ("Bash(git push:*)", Rule("Bash", "git push:*"), ("Bash", "Monitor", "PowerShell")),
        ("*", Rule("*"), ("*",)),
        ("mcp__github", Rule("mcp__github"), ("mcp__github__.*",)),
        ("mcp__github__*", Rule("mcp__github__*"), ("mcp__github__.*",)),
        ("mcp__github__create", Rule("mcp__github__create"), ("mcp__github__create",)),
        ("Edit(/src/**)", Rule("Edit", "/src/**"), ("Edit", "Write", "MultiEdit", "NotebookEdit")),
        ("Write(/src/**)", Rule("Write", "/src/**"), ("Write",)),
        ("Read(.env)", Rule("Read", ".env"), ("Read", "Grep", "Glob")),
        ("WebFetch(domain:example.org)", Rule("WebFetch", "domain:example.org"), ("WebFetch",)),
    ],
)
def test_a_rule_is_read(text: str, rule: Rule, names: tuple[str, ...]) -> None:
    assert parse(text) == rule
    assert tool_names(rule) == names


def test_a_rule_that_refuses_files_is_about_command_lines_too() -> None:
    assert "Bash" in tool_names(parse("Read(.env)"), refuses=True)
    assert "Monitor" in tool_names(parse("Write"), refuses=True)
    assert is_tool(parse("Write(.env)"), "Edit", refuses=True)
    assert not is_tool(parse("Write(.env)"), "Edit")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "allowed: TOOL"),
        ("Bash(", "allowed: TOOL"),
        ("Ba sh", "allowed: TOOL"),
        ("Bash()", "the brackets are empty"),
        ("Bash(:*)", "name no command"),
        ("Glob(x)", "Glob takes no brackets"),
        ("Edi*", "tools of MCP servers only"),
        ("WebFetch(example.org)", "domain:HOST"),
    ],
)
def test_what_is_no_rule_is_told(text: str, told: str) -> None:
    with pytest.raises(RuleError, match=told.replace("(", r"\(")):
        parse(text)


@given(st.text(max_size=30))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        rule = parse(text)
    except RuleError:
        return
    assert contains(rule, rule)
    assert overlaps(rule, rule)


@pytest.mark.parametrize(
    ("one", "other", "contained", "overlapping"),
    [
        ("*", "Bash(rm:*)", True, True),
        ("Bash", "Bash(rm:*)", True, True),
        ("Bash(rm:*)", "Bash", False, True),
        ("Bash(git:*)", "Bash(git push:*)", True, True),
        ("Bash(git *)", "Bash(git push)", True, True),
        ("Bash(git push:*)", "Bash(git:*)", False, True),
        ("Bash(git push:*)", "Bash(git status:*)", False, False),
        ("Bash(git * main)", "Bash(git push:*)", False, True),
        ("Bash(npm run test)", "Bash(npm run test x)", False, False),
        ("Bash(to* x)", "Bash(touch x)", True, True),
        ("Edit", "Write", True, True),
        ("Write", "Edit", False, True),
        ("Edit(/src/**)", "Edit(/src/a/**)", True, True),
        ("Edit(/src/**)", "Bash(rm:*)", False, True),
        ("Edit(/**)", "Edit(//tmp/**)", False, True),
        ("Edit(//**)", "Edit(//tmp/**)", True, True),
        ("Edit(/src/**)", "Edit(/build/**)", False, False),
        ("Edit(/src/**)", "Edit(src/a)", False, True),
        ("mcp__a", "mcp__a__b", True, True),
        ("mcp__a", "mcp__b", False, False),
        ("WebFetch(domain:a.org)", "WebFetch(domain:b.org)", False, False),
        ("WebFetch(domain:*.a.org)", "WebFetch(domain:x.a.org)", True, True),
        ("WebFetch", "Bash", False, False),
    ],
)
def test_rules_are_compared(one: str, other: str, contained: bool, overlapping: bool) -> None:
    assert (contains(parse(one), parse(other)), overlaps(parse(one), parse(other))) == (contained, overlapping)
    assert overlaps(parse(other), parse(one)) == overlapping
