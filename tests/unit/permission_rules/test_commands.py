"""Command lines of bash, taken apart or refused: bash itself says what is one."""

from __future__ import annotations

import pytest

from hookrouter.permission_rules.commands import simple_commands


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("ls", [["ls"]]),
        ("  git   push\torigin ", [["git", "push", "origin"]]),
        ("a && b || c ; d | e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a&&b", [["a"], ["b"]]),
        ("a &\nb;\n\nc &", [["a"], ["b"], ["c"]]),
        ("git commit -m 'a && b; $(c)'", [["git", "commit", "-m", "a && b; $(c)"]]),
        ('echo "a | b" x"y"z', [["echo", "a | b", "xyz"]]),
        ("echo 'it'\"'\"'s'", [["echo", "it's"]]),
        ("ls *.py ~/x", [["ls", "*.py", "~/x"]]),
        ("grep if file", [["grep", "if", "file"]]),
        ("a &&\n b", [["a"], ["b"]]),
        ("git show stash@{0} {} '{a,b}'", [["git", "show", "stash@{0}", "{}", "{a,b}"]]),
    ],
)
def test_a_plain_line_is_taken_apart(line: str, commands: list[list[str]]) -> None:
    assert simple_commands(line) == commands


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "a $(b)",
        "a `b`",
        'a "$(b)"',
        "a $HOME",
        'a "${X}"',
        "a > b",
        "a < b",
        "a >> b",
        "a 2>&1",
        "a &> b",
        "a <(b)",
        "(a; b)",
        "{ a; }",
        "X=1 a",
        "X=1",
        "if a; then b; fi",
        "! a",
        "time a",
        "[[ a ]]",
        "a \\\n b",
        "a\\ b",
        "a # b",
        "a 'b",
        'a "b',
        "a &&",
        "a |",
        "| a",
        "; a",
        "a ;; b",
        "a && && b",
        "a |& b",
        "a\x00b",
        "a\rb",
        "f() { a; }",
        "$X a",
        "*.sh",
        "{a,b}",
        "git push {--force,x}",
        "echo a{1..3}",
        "~/x",
        "a[1]=2",
        "cat <<E\nx\nE",
        'echo "a!b"',
    ],
)
def test_whatever_else_there_is_is_refused(line: str) -> None:
    assert simple_commands(line) is None
