"""What commands do with the terminal that they write to."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.cli.terminal import COMPLETION_VARIABLE, RED, Progress, Style, Waiting, has_unicode, width
from hookrouter.util.text_width import shortened


class Screen(io.StringIO):
    """A stream that says it is a terminal, and that something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.is_written = threading.Event()

    def write(self, text: str) -> int:
        count = super().write(text)
        self.is_written.set()
        return count

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals_whose_user_wants_them(environ: dict[str, str], coloured: bool) -> None:
    assert Style(Screen(), environ)("text", RED) == ("\x1b[31mtext\x1b[0m" if coloured else "text")
    assert Style(io.StringIO(), environ)("text", RED) == "text"


@given(text=st.text(alphabet=st.characters(categories=["L", "N", "P"]), max_size=40), columns=st.integers(1, 30))
def test_a_text_is_cut_to_its_columns(text: str, columns: int) -> None:
    cut = shortened(text, columns)

    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]) and len(cut) <= columns)


def test_wide_characters_take_two_columns() -> None:
    assert shortened("日本語", 6) == "日本語"
    assert shortened("日本語", 5) == "日本…"


def test_blocks_need_an_encoding_that_has_them() -> None:
    assert has_unicode(io.TextIOWrapper(io.BytesIO(), "utf-8"))
    assert not has_unicode(io.TextIOWrapper(io.BytesIO(), "ascii"))


@pytest.mark.parametrize(("columns", "expected"), [("77", 77), ("", 100), ("x", 100), ("0", 100), ("3", 20)])
def test_without_a_terminal_the_width_is_what_columns_says(
    monkeypatch: pytest.MonkeyPatch, columns: str, expected: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width(io.StringIO()) == expected


def test_progress_shows_on_a_terminal_after_a_second_and_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, moment = Screen(), [0.0]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])

    with Progress("reading", 200) as progress:
        progress.add(50)
        assert screen.getvalue() == ""
        moment[0] = 1.5
        progress.add(50)
        assert screen.getvalue().endswith("reading 50 %")

    assert screen.getvalue().endswith("\r\x1b[K")


def test_no_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, moment = io.StringIO(), [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])

    with Progress("reading", 200) as progress:
        moment[0] = 9.0
        progress.add(100)

    assert stream.getvalue() == ""


@pytest.mark.parametrize("completes", [False, True])
def test_what_takes_long_is_told_but_never_into_a_line_that_is_being_completed(
    monkeypatch: pytest.MonkeyPatch, completes: bool
) -> None:
    stream = Screen()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    if completes:
        monkeypatch.setenv(COMPLETION_VARIABLE, "complete_bash")
    threads = threading.active_count()
    with Waiting("looking", quiet=0.01):
        if completes:
            assert threading.active_count() == threads
        else:
            assert stream.is_written.wait(20)
            assert "looking" in stream.getvalue()
    assert bool(stream.getvalue()) is not completes
