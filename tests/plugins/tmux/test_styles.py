"""The escape sequences of ``capture-pane -e``."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hookrouter.terminals import StyledText
from hookrouter_tmux.styles import styled_rows


def test_faint_text_and_exchanged_colours_are_told() -> None:
    """The row of 2.1.330's box with a hint, and of the same with a text."""
    rows = styled_rows(
        [
            "\x1b[39m❯\u00a0\x1b[7mO\x1b[0;2m\x1b[39m\x1b[49mnce fixed, resend your message\x1b[0m\x1b[39m\x1b[49m",
            "\x1b[39m❯\u00a0typed\x1b[7m \x1b[0m\x1b[39m\x1b[49m",
        ]
    )
    assert rows == (
        (
            StyledText("❯\u00a0"),
            StyledText("O", is_reversed=True),
            StyledText("nce fixed, resend your message", is_dim=True),
        ),
        (StyledText("❯\u00a0typed"),),
    )


def test_a_style_goes_on_in_the_next_line() -> None:
    assert styled_rows(["a\x1b[2mb", "c\x1b[22md"]) == (
        (StyledText("a"), StyledText("b", is_dim=True)),
        (StyledText("c", is_dim=True), StyledText("d")),
    )


def test_colours_are_no_styles() -> None:
    for colour in ("38;5;2", "48;2;2;7;2", "58;5;7", "38:5:2", "4:2"):
        assert styled_rows([f"\x1b[{colour}mtext"]) == ((StyledText("text"),),)
        assert styled_rows([f"\x1b[{colour};2mtext"]) == ((StyledText("text", is_dim=True),),)


def test_other_sequences_are_left_out() -> None:
    assert styled_rows(["a\x1b]8;;https://example.org\x1b\\b\x1b]8;;\x07c\x1b(0d\x0e\x0f\x1b[3Ge"]) == (
        (StyledText("abcde"),),
    )


@given(st.lists(st.text(alphabet=st.sampled_from("ab ❯\x1b[]0;27m:\\\x07("), max_size=40), max_size=5))
def test_any_line_is_read(lines: list[str]) -> None:
    rows = styled_rows(lines)
    assert len(rows) == len(lines)
    for row in rows:
        assert all(part.text for part in row)
        assert all(one[1:] != other[1:] for one, other in itertools.pairwise(row))
