"""Reads the review screen, which lists all answers before the form is submitted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.footer import MORE_ABOVE
from hookrouter_keystrokes.screens.header import CERTAIN, HEADER_LINES, is_header, read_bar
from hookrouter_keystrokes.screens.model import Review
from hookrouter_keystrokes.screens.text import drawn, key

if TYPE_CHECKING:
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["ReviewRows", "review_rows", "review_screen", "review_tail"]


_REVIEW_NOTICES = frozenset(key(seen.text) for seen in grammar.REVIEW_NOTICES)
_SUBMIT_CHOSEN = f"{grammar.SUBMIT_ANSWERS} {grammar.CHOSEN}"
_QUESTION_LINE = re.compile(rf" (?:{grammar.QUOTE_BAR} )?{grammar.BULLET} (.*)")
_QUESTION_MORE = re.compile(rf" {grammar.QUOTE_BAR} ? ?(.*)")
_ANSWER_INDENT = 3
_ANSWER_LINE = re.compile(rf"{' ' * _ANSWER_INDENT}{grammar.ARROW} ?(.*)")


def review_screen(lines: list[str], form: AskUserQuestionInput) -> Review | None:
    """Read the review screen, whose last two lines are its two rows; None if it is not this form's."""
    rows = review_rows(lines)
    if rows is None or rows.on_submit is None or len(lines) < 3:
        return None
    body = lines[:-2]
    hidden = 0
    more = MORE_ABOVE.fullmatch(body[-1])
    if more:
        hidden = int(more[1])
        body.pop()
    while body and (not body[-1] or (body[-1][0] != " " and key(body[-1]) in _REVIEW_NOTICES)):
        body.pop()
    listed = _review_list(body, form, hidden)
    if listed is None:
        return None
    answers, places, certain = listed
    untouched = not hidden and not any(answers) and _is_open(body, form)
    return Review(answers, places, rows.on_submit, certain, untouched=untouched, kept=rows.kept)


def review_tail(lines: list[str], form: AskUserQuestionInput) -> Review | None:
    """Read a review screen of which only the end of the last answer, and its two rows, are visible."""
    rows = review_rows(lines)
    if rows is None or rows.on_submit is None or len(lines) < 4 or not MORE_ABOVE.fullmatch(lines[-3]):
        return None
    body = lines[:-3]
    while body and not body[-1]:
        body.pop()
    if not body or any(line[:_ANSWER_INDENT].strip() for line in body):
        return None
    count = len(form.questions)
    tail = "\n".join(line[_ANSWER_INDENT:] for line in body)
    return Review((None,) * count, (True,) * count, rows.on_submit, certain=False, tail=tail, kept=rows.kept)


class ReviewRows(NamedTuple):
    """The two rows that a review screen ends in."""

    on_submit: bool | None
    """Whether the cursor is on the first one; None if it is on neither or both."""
    kept: bool
    """Whether the first one is marked as chosen."""


def review_rows(lines: list[str]) -> ReviewRows | None:
    """Return what the review's two rows show, or None if the screen does not end in them."""
    rows = [re.fullmatch(rf"([{grammar.CURSOR} ]) (.*)", line) for line in lines[-2:]]
    shown = [row and row[2] for row in rows]
    if shown not in ([grammar.SUBMIT_ANSWERS, grammar.CANCEL], [_SUBMIT_CHOSEN, grammar.CANCEL]):
        return None
    on = [row[1] == grammar.CURSOR for row in rows if row is not None]
    return ReviewRows(on[0] if sum(on) == 1 else None, shown[0] == _SUBMIT_CHOSEN)


def _is_open(body: list[str], form: AskUserQuestionInput) -> bool:
    """Whether the line above the title is this form's whole tab bar, and marks no question as answered."""
    above = [line for line in body[: body.index(grammar.REVIEW)] if line] if body.count(grammar.REVIEW) == 1 else []
    shown = key(above[-1]) if above else ""
    if not shown.startswith(grammar.BAR_START) or not shown.endswith(key(grammar.BAR_END)):
        return False
    tabs = read_bar(shown, form)
    return tabs is not None and not any(tabs)


def _review_list(
    body: list[str], form: AskUserQuestionInput, hidden: int
) -> tuple[tuple[str | None, ...], tuple[bool, ...], bool] | None:
    title = max((at for at, line in enumerate(body) if line == grammar.REVIEW), default=None)
    count = len(form.questions)
    if title is not None:
        # A wrapped tab bar ends in a line without its glyphs.
        before = [line for line in body[:title] if line][-HEADER_LINES:]
        if not any(is_header([line]) for line in before) and (before or not hidden):
            return None
    if title is not None:
        at = title + 1
        while at < len(body) and (not body[at] or key(body[at]) in _REVIEW_NOTICES):
            at += 1
        answers = _answers(body, at, form, 0)
        if answers is None or (not any(answers) and not (before and read_bar(key(before[-1]), form))):
            return None
        return tuple(answers), (False,) * count, any(answers)
    if not hidden:
        return None
    if count == 1 and body and all(not line[:_ANSWER_INDENT].strip() for line in body):
        # The whole question is scrolled away: only its answer, or the end of that, is visible.
        whole = _ANSWER_LINE.fullmatch(body[0])
        if whole is None or len(key("".join(body))) < CERTAIN:
            return None
        return ("\n".join([whole[1], *(line[_ANSWER_INDENT:] for line in body[1:])]).rstrip("\n"),), (False,), False
    for first in range(count - 1, -1, -1):
        # Only the end of one question is visible, with its answer.
        answers = _answers(body, 0, form, first, open_top=True)
        if answers is not None and answers[first] is not None:
            is_certain = any(answers[first + 1 :])
            return tuple(answers), tuple(number < first for number in range(count)), is_certain
    for at in range(len(body)):
        # What is left above the first whole question belongs to the one before it.
        if _QUESTION_LINE.fullmatch(body[at]) is None:
            continue
        for first in range(count):
            if (
                not key(body[at])
                .lstrip(grammar.QUOTE_BAR + grammar.BULLET)
                .startswith(key(form.questions[first].question)[:8])
            ):
                continue
            answers = _answers(body, at, form, first)
            if answers is not None and answers[first] is not None:
                return tuple(answers), tuple(number < first for number in range(count)), True
    return None


def _answers(
    body: list[str], at: int, form: AskUserQuestionInput, first: int, *, open_top: bool = False
) -> list[str | None] | None:
    """Read question and answer pairs from line ``at`` to the end; questions in order, some may be missing."""
    found: list[str | None] = [None] * len(form.questions)
    number = first
    while at < len(body):
        for candidate in range(number, len(form.questions)):
            stop = _question_at(body, at, drawn(form.questions[candidate].question), open_top=open_top)
            if stop is not None:
                break
        else:
            return None
        open_top = False
        start = _ANSWER_LINE.fullmatch(body[stop]) if stop < len(body) else None
        if start is None:
            return None
        answer = [start[1]]
        at = stop + 1
        while at < len(body) and not _QUESTION_LINE.fullmatch(body[at]):
            if body[at][:_ANSWER_INDENT].strip():
                return None
            answer.append(body[at][_ANSWER_INDENT:])
            at += 1
        while answer and not answer[-1].strip():
            answer.pop()
        found[candidate] = "\n".join(answer)
        number = candidate + 1
    return found


def _question_at(body: list[str], at: int, texts: tuple[str, ...], *, open_top: bool) -> int | None:
    """Return the line after the question that starts at ``at``, or None if it is another text."""
    first = _QUESTION_LINE.fullmatch(body[at])
    shown = ""
    if first is not None:
        shown = key(first[1])
        at += 1
    elif not open_top:
        return None
    while at < len(body) and not _ANSWER_LINE.fullmatch(body[at]):
        more = _QUESTION_MORE.fullmatch(body[at])
        # Without a bar, as older clients draw it, the text goes on below the bullet (seen on 2.1.100).
        if more is None and body[at][:1].strip():
            return None
        shown += key(more[1] if more else body[at])
        at += 1
    if shown in texts or (open_top and first is None and shown and any(wanted.endswith(shown) for wanted in texts)):
        return at
    return None
