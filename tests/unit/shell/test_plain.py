"""Plain lines are read as the reader of all lines reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.shell._programs import PROGRAMS, READ_APART
from hookrouter.shell._reading import read_any
from hookrouter.shell._special import SPECIAL
from hookrouter.shell.plain import read_plain
from support.shell_corpus import blocks

WORDS = [
    "ls", "git", "npm", "status", "test", "push", "-la", "-C", "--", "-", "a/b", "/bin/ls", "./x", "tail", "-5",
    "2>&1", ">/dev/null", "2>/dev/null", "&&", "||", ";", "|", "1", "%1", ":", ".", "..", "if", "time", "x:y", "a=b",
    "--a=b", "=b", "~", "$x", "'q'", "{a,b}", "!", "#c", "é", "[", "]", "cd", "+x", "@", ",", "/", "//", "run", "}",
    "-m", "-c", "-x", "--exec", "exec", "-p", "'rm'", '"rm"', "'-c'", '"a"\'b\'', 'st"atus"', "a'b'c", "'a;b'",
    "'$x'", '"$x"', "'aé'", '"a!b"', "'a\\b'", '"a\\b"', "''", '""', "--a='b'", "'x=y'", "push'", "'", '"', '|"',
    "'&&'", "'", 'sub"module"', "-m", "--script-shell", "--script-shell=rm", "--viewer", "install", "run-script",
    "-e", "--upload-pack=x", "x;", "ls;", ";;", "&&;", "'a';", ">", ">>", "<", "2>", "2>>", "out", "./out", "bash",
    "> x", "< x", "2> /dev/null", "source", "/bin/x", "x;y", "&",
]  # fmt: skip
"""What lines are made of: with the single quote in it, also quotes that hold blanks."""
SHELLS = ("bash", "zsh")


def is_read_alike(line: str) -> None:
    for shell in SHELLS:
        plain = read_plain(line, shell)
        if plain is not None:
            assert plain == read_any(line, shell), (line, shell)


@given(
    st.lists(
        st.sampled_from(["", *WORDS]) | st.sampled_from(sorted(PROGRAMS)).map(lambda name: name.partition(" ")[0]),
        max_size=8,
    )
)
def test_a_plain_line_is_read_as_any_other_is(words: list[str]) -> None:
    is_read_alike(" ".join(words))


@given(st.sampled_from(sorted(PROGRAMS)), st.lists(st.sampled_from(WORDS), max_size=5))
def test_so_is_one_of_a_program_that_may_run_others(name: str, words: list[str]) -> None:
    is_read_alike(" ".join([name.replace(" *", ""), *words]))


@given(st.text(alphabet="abgit -.|&;/12>%:@+,_=~$'\"\\\n\t", max_size=20))
def test_no_text_is_read_otherwise(text: str) -> None:
    is_read_alike(text)


@pytest.mark.parametrize("name", sorted({name.partition(" ")[0] for name in (*PROGRAMS, *SPECIAL)}))
def test_every_program_that_may_run_others(name: str) -> None:
    for line in (name, f"{name} x", f"{name} -x y", f"{name} rm -rf x", f"/usr/bin/{name} rm x"):
        is_read_alike(line)


def test_programs_with_code_of_their_own_are_left_to_it() -> None:
    assert set(SPECIAL) == READ_APART
    for name in SPECIAL:
        assert read_plain(f"{name} x") is None


def test_much_of_what_claude_writes_is_plain() -> None:
    lines = [block.line for block in blocks("routine.txt")]
    assert sum(read_plain(line) is not None for line in lines) > len(lines) / 2
    for line in lines:
        is_read_alike(line)
