"""Plain lines are read as the reader of all lines reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.shell._programs import PROGRAMS
from hookrouter.shell._reading import read_any
from hookrouter.shell._special import SPECIAL
from hookrouter.shell.plain import READ_APART, read_plain
from support.shell_corpus import blocks

WORDS = st.sampled_from(
    [
        *("ls", "git", "npm", "status", "test", "push", "-la", "-C", "--", "-", "a/b", "/bin/ls", "./x", "tail", "-5"),
        *(
            "2>&1",
            ">/dev/null",
            "2>/dev/null",
            "&&",
            "||",
            ";",
            "|",
            "1",
            "%1",
            ":",
            ".",
            "..",
            "",
            "if",
            "time",
            "x:y",
        ),
        *("a=b", "~", "$x", "'q'", "{a,b}", "!", "#c", "\u00e9", "[", "]", "cd", "+x", "@", ",", "/", "//", "run", "}"),
    ]
)


@given(st.lists(WORDS | st.sampled_from(sorted(PROGRAMS)).map(lambda name: name.partition(" ")[0]), max_size=8))
def test_a_plain_line_is_read_as_any_other_is(words: list[str]) -> None:
    line = " ".join(words)
    plain = read_plain(line)
    if plain is not None:
        for shell in ("bash", "zsh"):
            assert plain == read_any(line, shell)


@given(st.text(alphabet="abgit -.|&;/12>%:@+,_=~$'\n\t", max_size=20))
def test_no_text_is_read_otherwise(text: str) -> None:
    plain = read_plain(text)
    if plain is not None:
        assert plain == read_any(text, "bash")


@pytest.mark.parametrize("name", sorted({name.partition(" ")[0] for name in (*PROGRAMS, *SPECIAL)}))
def test_every_program_that_may_run_others(name: str) -> None:
    for line in (name, f"{name} x", f"{name} -x y", f"{name} rm -rf x", f"/usr/bin/{name} rm x"):
        plain = read_plain(line)
        if plain is not None:
            assert plain == read_any(line, "bash")


def test_programs_with_code_of_their_own_are_left_to_it() -> None:
    assert set(SPECIAL) == READ_APART
    for name in SPECIAL:
        assert read_plain(f"{name} x") is None


def test_much_of_what_claude_writes_is_plain() -> None:
    lines = [block.line for block in blocks("routine.txt")]
    plain = [line for line in lines if read_plain(line) is not None]
    assert len(plain) > len(lines) / 5
    for line in plain:
        assert read_plain(line) == read_any(line, "bash")
