"""Permission rules: what each is about, and what it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.permission_rules.rule import Rule, RuleError, covers, covers_words, parse, tool_names


@pytest.mark.parametrize(
    ("text", "rule", "names"),
    [
        ("Bash", Rule("Bash"), "Bash"),
        ("Bash(*)", Rule("Bash"), "Bash"),
        ("Bash(git push:*)", Rule("Bash", "git push:*"), "Bash"),
        ("*", Rule("*"), "*"),
        ("mcp__github", Rule("mcp__github"), "mcp__github__.*"),
        ("mcp__github__*", Rule("mcp__github__*"), "mcp__github__.*"),
        ("mcp__github__create", Rule("mcp__github__create"), "mcp__github__create"),
        ("Edit(/src/**)", Rule("Edit", "/src/**"), "Edit"),
        ("WebFetch(domain:example.org)", Rule("WebFetch", "domain:example.org"), "WebFetch"),
    ],
)
def test_a_rule_is_read(text: str, rule: Rule, names: str) -> None:
    assert parse(text) == rule
    assert tool_names(rule) == names


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "allowed: TOOL"),
        ("Bash(", "allowed: TOOL"),
        ("Ba sh", "allowed: TOOL"),
        ("Bash()", "nothing stands in the brackets"),
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
    assert covers(rule, rule.tool, {"command": text, "file_path": text, "url": text}, "/", strict=True) in (True, False)


@pytest.mark.parametrize(
    ("rule", "command", "grants", "refuses"),
    [
        ("Bash(git push:*)", "git push", True, True),
        ("Bash(git push:*)", "git push origin main", True, True),
        ("Bash(git push:*)", "git pushx", False, False),
        ("Bash(git push:*)", "git 'push origin'", False, False),
        ("Bash(git push:*)", "git pull", False, False),
        ("Bash(npm run *)", "npm run", True, True),
        ("Bash(npm run *)", "npm run build --fast", True, True),
        ("Bash(npm run test)", "npm run test", True, True),
        ("Bash(npm run test)", "npm run test x", False, False),
        ("Bash(git * main)", "git push origin main", True, True),
        ("Bash(git * main)", "git main", False, False),
        ("Bash(touch forbidden*)", "touch forbidden-1", True, True),
        ("Bash(rm:*)", "/bin/rm -rf /", False, True),
        ("Bash(rm:*)", "sudo rm -rf /", False, True),
        ("Bash(rm:*)", "env -i /bin/rm x", False, True),
        ("Bash(rm:*)", "bash -c 'cd / && rm -rf x'", False, True),
        ("Bash(rm:*)", "echo rm", False, False),
        ("Bash(ls:*)", "ls && rm x", False, True),
        ("Bash(ls:*)", "ls $(rm x)", False, False),
    ],
)
def test_a_command_is_covered(rule: str, command: str, grants: bool, refuses: bool) -> None:
    def covered(strict: bool) -> bool:
        return covers(parse(rule), "Bash", {"command": command}, "/project", strict=strict)

    assert (covered(False), covered(True)) == (grants, refuses)


PATTERNS = st.lists(st.sampled_from(["*", "a", "b", "a*"]), min_size=1, max_size=30)


@given(PATTERNS, st.lists(st.sampled_from("ab"), max_size=40))
def test_no_pattern_takes_long(pattern: list[str], words: list[str]) -> None:
    assert covers_words(Rule("Bash", " ".join(pattern)), words or ["a"], strict=False) in (True, False)


@pytest.mark.parametrize(
    ("rule", "tool", "tool_input", "covered"),
    [
        ("*", "Anything", {}, True),
        ("Edit", "Write", {}, False),
        ("mcp__a", "mcp__a__b", {}, True),
        ("mcp__a", "mcp__ab__c", {}, False),
        ("mcp__a__*", "mcp__a__b", {}, True),
        ("mcp__a__b", "mcp__a__bc", {}, False),
        ("Edit(/src/**)", "Edit", {"file_path": "/project/src/a/b.py"}, True),
        ("Edit(src/*.py)", "Edit", {"file_path": "/project/src/b.py"}, True),
        ("Edit(src/*.py)", "Edit", {"file_path": "/project/src/a/b.py"}, False),
        ("Edit(/src/**)", "Edit", {"file_path": "/project/src/../secret"}, False),
        ("Edit(//etc/**)", "Edit", {"file_path": "/etc/passwd"}, True),
        ("Edit(/src/**)", "Edit", {"file_path": 3}, False),
        ("WebFetch(domain:example.org)", "WebFetch", {"url": "https://example.org/x"}, True),
        ("WebFetch(domain:example.org)", "WebFetch", {"url": "https://evil.org/?example.org"}, False),
        ("WebFetch(domain:example.org)", "WebFetch", {"url": "https://example.org@evil.org/"}, False),
        ("WebFetch(domain:*.example.org)", "WebFetch", {"url": "https://a.example.org"}, True),
        ("Elicitation(demo)", "Elicitation", {"server": "demo"}, True),
        ("Elicitation(demo)", "Elicitation", {"server": "other"}, False),
    ],
)
def test_a_call_is_covered(rule: str, tool: str, tool_input: dict[str, Any], covered: bool) -> None:
    assert covers(parse(rule), tool, tool_input, "/project", strict=False) is covered


def test_a_link_out_of_the_folder_is_not_granted(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "out").symlink_to("/etc")
    path = {"file_path": str(tmp_path / "src" / "out" / "passwd")}
    assert not covers(parse("Edit(/src/**)"), "Edit", path, str(tmp_path), strict=False)
    assert covers(parse("Edit(/src/**)"), "Edit", path, str(tmp_path), strict=True)
    assert covers(parse("Edit(//etc/**)"), "Edit", path, str(tmp_path), strict=True)
    inside = {"file_path": str(tmp_path / "src" / "new.py")}
    assert covers(parse("Edit(/src/**)"), "Edit", inside, str(tmp_path), strict=False)
