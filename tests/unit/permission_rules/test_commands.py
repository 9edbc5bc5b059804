"""Command lines of bash, taken apart or refused: bash itself says what is one."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        "~/x",
        "a[1]=2",
        "cat <<E\nx\nE",
        'echo "a!b"',
    ],
)
def test_whatever_else_there_is_is_refused(line: str) -> None:
    assert simple_commands(line) is None


PLAIN = "a git push -x if then fi X=1 * ~"
SPECIAL = "$ $(x) ` ( ) { } ! = && || ; | & > < >> # ' << ;; |& [["
QUOTED = ["\n", "\\", '"', "\t", '"d e"', "'b c'"]
WORDS = st.sampled_from([*PLAIN.split(), *SPECIAL.split(), *QUOTED])


@given(st.lists(WORDS, max_size=8), st.sampled_from([" ", ""]))
def test_bash_reads_what_is_taken_apart_as_the_same_commands(parts: list[str], between: str) -> None:
    line = between.join(parts)
    commands = simple_commands(line)
    if commands is None:
        return
    assert bash_words(line, commands) == commands


@given(st.text(alphabet="ab'\"$`\\ \t\n;&|<>(){}#!*?=~-", max_size=20))
def test_no_text_is_taken_apart_otherwise_than_bash_does(line: str) -> None:
    commands = simple_commands(line)
    if commands is not None:
        assert bash_words(line, commands) == commands


def bash_words(line: str, commands: list[list[str]]) -> list[list[str]]:
    """Return the commands of a line as bash prints them again, with every command named in it replaced by a printer."""
    assert subprocess.run(["bash", "-n"], input=line.encode(), capture_output=True, check=False).returncode == 0, line
    # Each name is a function that says its words: so nothing is run, and a word that bash would split shows.
    printer = '() { printf "%s\\0" "$0" "$@" >&9; printf "\\n\\0" >&9; }'
    names = sorted({words[0] for words in commands})
    functions = "\n".join(
        f"function {shlex.quote(name)} {printer.replace('$0', name)}" for name in names if is_name(name)
    )
    if not all(map(is_name, names)):
        return commands
    script = f"set -f\n{functions}\neval {shlex.quote(line)}\nwait\n"
    done = subprocess.run(["bash", "-c", f"exec 9>&1 >/dev/null 2>&1\n{script}"], capture_output=True, check=False)
    found: list[list[str]] = [[]]
    for word in done.stdout.decode().split("\0")[:-1]:
        if word == "\n":
            found.append([])
        else:
            found[-1].append(word)
    ran = [words for words in found if words]
    # `a || b` runs one of both; whatever ran must be one of them, word for word.
    assert all(words in commands for words in ran), (line, ran, commands)
    return commands


def is_name(name: str) -> bool:
    return name.isalnum() and name not in ("if", "then", "fi")
