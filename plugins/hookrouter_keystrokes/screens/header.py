"""Tells whose page the rows on a screen belong to, by what stands above them: tab bar and question."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.text import described, drawn, key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter.tools import AskUserQuestionInput, Question
    from hookrouter_keystrokes.screens.footer import Body
    from hookrouter_keystrokes.screens.model import Row

__all__ = [
    "CERTAIN",
    "HEADER_LINES",
    "ROW",
    "Parsed",
    "answered_tabs",
    "fits_above",
    "is_below",
    "is_certain",
    "is_header",
    "is_rule",
    "read_bar",
]


def is_rule(line: str, width: int) -> bool:
    """Whether a line is one of the rules that bound the dialog."""
    # Narrower than the pane right after a resize; a description can never reach the first column.
    return len(line) >= min(width, 8) and not line.strip(grammar.RULE)


# Older clients squeeze out the blank behind the mark if the row's label is wrapped (seen on 2.0.76 to 2.1.150).
ROW = re.compile(rf"([{grammar.ROW_MARKS}]) ?(\d)\. ?(.*)")


class Parsed(NamedTuple):
    """A row that was read, whether it has the cursor, and the line after it."""

    row: Row
    marked: bool
    end: int


def _asked(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of what these lines ask: without the client's bars, and as they stand, for bars of the text."""
    unquoted = key("".join(line[1:] if line.startswith(grammar.QUOTE_BAR) else line for line in lines))
    return tuple(dict.fromkeys((unquoted, key("".join(lines)))))


def _is_asked(lines: Sequence[str], question: Question) -> bool:
    texts = drawn(question.question)
    return any(shown in texts for shown in _asked(lines))


def is_header(lines: Sequence[str]) -> bool:
    """Whether these lines begin a tab bar, or are the header of a lone question."""
    shown = key("".join(lines))
    return shown.startswith((grammar.BAR_START, grammar.TAB_OPEN, grammar.TAB_DONE))


HEADER_LINES = 3


def _heads(lines: list[str], width: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield every way to part the lines above the rows into header and question, below some rule.

    The rule itself may have been scrolled off the top.
    """
    for rule in range(len(lines) - 1, -2, -1):
        if rule < 0 or is_rule(lines[rule], width):
            start = rule + 1
            while start < len(lines) and not lines[start]:
                start += 1
            for split in range(start + 1, min(start + 1 + HEADER_LINES, len(lines) + 1)):
                yield lines[start:split], lines[split:]


def is_below(lines: list[str], question: Question, width: int) -> bool:
    """Whether these lines end in the whole question, below a header."""
    return any(_is_asked(text, question) and is_header(header) for header, text in _heads(lines, width))


CERTAIN = 24
"""How many characters of the question and its options must be visible to tell whose page it is."""


def fits_above(lines: list[str], start: int, question: Question, first: int, body: Body, width: int) -> int | None:
    """Compare the lines above the first visible row with the question, or with what a small pane has left of it.

    What is left must fill the screen from its very top. Returns how many characters of the form it shows, at least
    CERTAIN for the whole question, or None if it is something else.
    """
    above = lines[:start]
    texts = drawn(question.question)
    # Below the question a list that does not fit begins with an arrow, or with the cursor in its place.
    mark = lines[start][:1]
    if first == 0 or mark == "↑" or (mark == grammar.CURSOR and body.hidden):
        if is_below(above, question, width):
            return CERTAIN
        for shown in _asked(above):
            if shown.endswith(texts) and (is_header(above) or shown in texts):
                return CERTAIN
            if any(wanted.endswith(shown) for wanted in texts) and (shown or first == 0):
                return len(shown)
    if first == 0:
        return None
    shown = key("".join(above))
    if any(each.endswith(shown) for each in itertools.chain(*described(question.options[first - 1]))):
        return len(shown)
    return None


def is_certain(fits: int | None, question: Question, parsed: list[Parsed]) -> bool:
    """Whether enough of the question and its options is visible to be sure of it; ``fits`` is what fits_above says."""
    if fits is None:
        return False
    options = [question.options[item.row.option] for item in parsed if item.row.option is not None]
    return fits + sum(len(key(option.label + (option.description or ""))) for option in options) >= CERTAIN


def answered_tabs(
    above: list[str], question: Question, form: AskUserQuestionInput, width: int
) -> tuple[bool, ...] | None:
    """Read the tab bar; None if it is scrolled away, wrapped or shortened."""
    for header, text in _heads(above, width):
        if _is_asked(text, question) and is_header(header):
            return read_bar(key("".join(header)), form)
    return None


def read_bar(shown: str, form: AskUserQuestionInput) -> tuple[bool, ...] | None:
    """Return which tabs of a tab bar's key are marked as answered; None if it is not this form's, or shortened."""
    rest = shown.removeprefix(grammar.BAR_START)
    done: list[bool] = []
    for question in form.questions:
        header = key(question.header or "")
        mark, rest = rest[:1], rest[1:]
        if mark not in (grammar.TAB_OPEN, grammar.TAB_DONE):
            return None
        if rest.startswith(header):
            rest = rest[len(header) :]
        else:
            # A narrow pane shortens the headers.
            start, ellipsis, rest = rest.partition("…")
            if not ellipsis or not header.startswith(start):
                return None
        done.append(mark == grammar.TAB_DONE)
    return tuple(done) if rest in ("", key(grammar.BAR_END)) else None
