"""How much work the reader does for a hostile line: counted in calls, not in time."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

import pytest

from hookrouter.shell.commands import Why
from hookrouter.shell.reader import read

if TYPE_CHECKING:
    from types import FrameType

MANY = 10_000
CALLS = 400_000
"""Of functions, those written in C included: some 50 ms."""

TOO_MUCH = {
    "a line of 1 MB": "a " * 500_000,
    "a word of 1 MB": "a" * 1_000_000,
    "a quoted word of 1 MB": "echo '" + "x" * 1_000_000 + "'",
    "commands": "ls a;" * MANY,
    "lines": "ls a\n" * MANY,
    "lists": "ls && " * MANY + "ls",
    "pipelines": "ls | " * MANY + "ls",
    "sudo": "sudo " * 20_000 + "x",
    "eval": "eval " * 200 + "x",
    "env": "env A=1 " * 200 + "x",
    "xargs": "xargs " * 200 + "x",
    "substitutions": "$(" * MANY + "x" + ")" * MANY,
    "subshells": "(" * MANY + "x" + ")" * MANY,
    "arithmetic": "echo $((" + "(" * MANY + "1" + ")" * MANY + "))",
    "long arithmetic": "let " + "1+" * 50_000 + "1",
    "groups": "{ " * MANY + "x",
    "expansions": "echo " + "${x:-" * MANY + "}" * MANY,
    "quotes": '"$(' * MANY,
    "here-documents": "cat <<A\nx\nA\n" * MANY,
    "here-documents in substitutions": "$(cat <<A\n" * 100 + "x" + "\nA\n)" * 100,
    "here-documents in a substitution": "x=$(\n" + "cat <<A\nx\nA\n" * 300 + ")",
    "expansions in substitutions": '"${x:-$(a ' * 60 + ')}"' * 60,
    "digits in a name": "a" + "1" * 100_000 + "x $(x",
    "blank lines for a database": "psql -c '" + "\n" * 100_000 + "x' $(x",
    "negations": "! " * MANY + "x",
    "functions": "f() { " * 300 + "x;" + " };" * 300,
    "loops": "while a; do " * 300 + "x;" + " done;" * 300,
    "conditions": "[[ " + "( " * 300 + "a" + " )" * 300 + " ]]",
    "their operators": "cat <<" * MANY,
    "tests": "[[ a =~ " * MANY,
    "cases": "case x in " * MANY,
    "if": "if a; then " * MANY,
    "find": "find . " + "-exec a \\; " * MANY,
    "shells": "bash -c '" + "bash -c a;" * MANY + "'",
    "wildcards": "ls " + "*" * 100_000,
    "braces": "ls " + "{a," * 30_000 + "}" * 30_000,
    "escapes": "ls " + "\\a" * 90_000,
    "escapes in quotes": 'ls "' + "\\a" * 90_000 + '"',
    "variables": "ls " + "$x" * 60_000,
    "redirections": "ls " + ">f " * 20_000,
    "a descriptor": "ls " + "1" * 90_000 + ">f",
    "assignments": "a=1 " * 20_000 + "b",
    "variables from each other": "".join(f"v{i}=$v{i + 1};v{i}=$v{i + 1};" for i in range(200)) + "echo $((v0))",
    "settings of git": "git " + "-c color.ui=1 " * 9_000 + "x",
}
LONG = {
    "a long here-document": "cat <<'E'\n" + "some text here\n" * 12_000 + "E\n",
    "a long word": "a" * 190_000,
    "blanks": " " * 190_000 + "a",
    "ends of lines": "a" + "\n" * 190_000,
    "a long script of sed": "sed '" + "s/a/b/;" * 20_000 + "'",
    "letters above ASCII": "é" * 190_000,
}


def calls(line: str) -> int:
    """Return how many calls the reading of a line takes."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    read("a")  # what is loaded at the first reading
    sys.setprofile(counted)
    try:
        read(line)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_is_not_certain_and_takes_little_work(name: str) -> None:
    assert not read(TOO_MUCH[name]).certain
    assert calls(TOO_MUCH[name]) < CALLS


@pytest.mark.parametrize("name", ["a line of 1 MB", "commands", "sudo", "substitutions", "here-documents"])
def test_the_reason_is_told(name: str) -> None:
    assert Why.SIZE in {doubt.why for doubt in read(TOO_MUCH[name]).doubts}


def test_a_deep_caller_is_no_error() -> None:
    line = TOO_MUCH["expansions in substitutions"]

    def at_depth(left: int) -> bool:
        return at_depth(left - 1) if left else read(line).certain

    depth = len(list(traceback.walk_stack(None)))
    for room in (300, 150, 80):
        assert not at_depth(sys.getrecursionlimit() - depth - room)


@pytest.mark.parametrize("name", LONG)
def test_what_is_only_long_takes_no_more(name: str) -> None:
    assert calls(LONG[name]) < CALLS
    assert len(read(LONG[name]).commands) == 1
