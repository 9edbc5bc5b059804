"""Reads a question page: its plain layout here, the others in their own modules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter.answering.forms import has_previews
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.header import (
    CERTAIN,
    ROW,
    Parsed,
    answered_tabs,
    fits_above,
    is_below,
    is_certain,
    is_rule,
)
from hookrouter_keystrokes.screens.long_text import SUBMIT_ROW, long_text_page
from hookrouter_keystrokes.screens.model import BLANKS, UNSURE, DialogState, Page, Row, RowKind, Unknown
from hookrouter_keystrokes.screens.preview import preview_page
from hookrouter_keystrokes.screens.text import described, key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.tools import AskUserQuestionInput, Question
    from hookrouter_keystrokes.screens.footer import Body

__all__ = ["question_page"]


def question_page(body: Body, form: AskUserQuestionInput, width: int) -> DialogState:
    """Read what stands above the dialog's footer: a page of the form, or something that is not known."""
    lines = list(body.lines)
    last: list[Row] = []
    cursors: list[Row] = []

    def take(kind: str, text: str) -> bool:
        found = re.fullmatch(rf"([{grammar.CURSOR} ]) (?:\d\. )?{re.escape(text)}", lines[-1]) if lines else None
        if found is None:
            return False
        row = Row(kind)
        last.insert(0, row)
        if found[1] == grammar.CURSOR:
            cursors.append(row)
        lines.pop()
        return True

    take(RowKind.SKIP, grammar.SKIP.text)
    if take(RowKind.CHAT, grammar.CHAT.text):
        while lines and not lines[-1]:
            lines.pop()
        if not lines or not is_rule(lines[-1], width):
            return Unknown("a dialog without its rule above the chat row", dialog=True)
        lines.pop()
    elif last:
        return Unknown("a dialog that is not a question", dialog=True)
    while lines and not lines[-1]:
        lines.pop()
    found: list[Page] = []
    unsure = False
    for number, question in enumerate(form.questions):
        for page in (
            _list_rows(lines, question, number, form, width, body),
            preview_page(lines, question, number, form, width, body),
            _no_rows(lines, question, number, body),
        ):
            if page is not None and page.rows:
                found.append(page)
                break
            unsure = unsure or page is not None
    if len(found) > 1:
        return Unknown("the visible part of the dialog fits more than one question of the form", dialog=True, fits=True)
    if found:
        return _with_last_rows(found[0], last, cursors, editing=body.editing)
    tail = long_text_page(lines, cursors)
    # Without its upper edge the layout with previews is not read, and no other question's either.
    unsure = unsure or (bool(body.hidden) and any(has_previews(question) for question in form.questions))
    return tail or Unknown(UNSURE if unsure else "the dialog on screen is not this question", dialog=True, fits=unsure)


def _with_last_rows(page: Page, last: list[Row], cursors: list[Row], *, editing: bool) -> DialogState:
    rows = page.rows + tuple(last)
    cursor = page.cursor
    if cursors:
        # The focused option of the preview layout, and up to 2.1.200 the Submit row of a multi-select, keep their
        # cursor while the real one is on the chat row.
        if len(cursors) > 1 or not (cursor is None or page.preview or page.rows[cursor].kind == RowKind.SUBMIT):
            return Unknown("two cursors on one question page", dialog=True, fits=True)
        cursor = rows.index(cursors[0], len(page.rows))
    if cursor is None and (not page.clipped or not page.first or editing):
        return Unknown("a question page without a cursor", dialog=True, fits=True)
    return page._replace(rows=rows, cursor=cursor)


_BOX = re.compile(r"(\[[ ✔]\])(?: (.*)|$)")
_BOX_INDENT = 9
"""Columns before the text of a multi-select's row."""
_PLACEHOLDERS = frozenset(seen.text for seen in grammar.PLACEHOLDERS)


def _list_rows(
    lines: list[str], question: Question, number: int, form: AskUserQuestionInput, width: int, body: Body
) -> Page | None:
    """Read a page in the plain layout; None if it is not this question's, no rows if that is not certain."""
    multi = bool(question.multi_select)
    end = len(lines)
    tail: list[Row] = []
    marks: list[Row] = []
    if multi:
        submit = SUBMIT_ROW.fullmatch(lines[-1]) if lines else None
        if submit is None:
            return None
        tail.append(Row(RowKind.SUBMIT))
        if submit[1] == grammar.CURSOR:
            marks.append(tail[0])
        end -= 1
    count = len(question.options)
    unsure: Page | None = None
    for start in range(end):
        row = ROW.fullmatch(lines[start])
        if row is None or not 1 <= int(row[2]) <= count + 1:
            continue
        first = int(row[2]) - 1
        parsed = _sequence(lines, start, end, question, first, multi)
        if parsed is None:
            continue
        arrows = any(lines[at][:1] in ("↑", "↓") for at in range(start, end))
        if len(parsed) == 1 and parsed[0].marked and not (arrows or body.hidden):
            # The one row that there is room for has the cursor where an arrow would say that others are hidden.
            unsure = Page(number, (), None) if is_below(lines[:start], question, width) else unsure
            continue
        fits = fits_above(lines, start, question, first, body, width)
        if not is_certain(fits, question, parsed):
            unsure = unsure if fits is None else Page(number, (), None)
            continue
        if parsed[-1].row.kind != RowKind.TYPE and not body.hidden and not arrows:
            continue
        if parsed[-1].row.kind != RowKind.TYPE and has_previews(question):
            # The end of the labels beside a preview, whose own layout has no such row, looks just like this.
            unsure = Page(number, (), None)
            continue
        rows = [item.row for item in parsed]
        marked = [row for row, item in zip(rows, parsed, strict=True) if item.marked] + marks
        if len(marked) > 1:
            return None
        rows += tail
        cursor = next((at for at, row in enumerate(rows) if marked and row is marked[0]), None)
        tabs = answered_tabs(lines[:start], question, form, width)
        clipped = bool(body.hidden or arrows or first)
        below = count + 1 - first - len(parsed)
        return Page(number, tuple(rows), cursor, tabs=tabs, clipped=clipped, first=first, below=below)
    return unsure


def _no_rows(lines: list[str], question: Question, number: int, body: Body) -> Page | None:
    """Read a multi-select of which only the end of an option and the row that leaves it are visible."""
    submit = SUBMIT_ROW.fullmatch(lines[-1]) if lines else None
    if submit is None or not question.multi_select or not body.hidden or body.editing:
        return None
    if submit[1] == grammar.CURSOR or any(line[:_BOX_INDENT].strip() for line in lines[:-1]):
        return None
    shown = key("".join(lines[:-1]))
    if not any(plain.endswith(shown) for option in question.options for plain, _ in described(option)):
        return None
    rows = (Row(RowKind.SUBMIT),) if len(shown) >= CERTAIN else ()
    return Page(number, rows, None, clipped=True, first=len(question.options))


def _sequence(
    lines: list[str], start: int, end: int, question: Question, first: int, multi: bool
) -> list[Parsed] | None:
    """Read the rows ``first``, ``first + 1``, … that fill the lines from ``start`` to ``end`` without a gap."""
    parsed: list[Parsed] = []
    at = start
    for index in range(first, len(question.options)):
        if at == end:
            return parsed
        option = _option(lines, at, end, question, index, multi)
        if option is None:
            return None
        parsed.append(option)
        at = option.end
    if at == end:
        return parsed
    typed = _type_row(lines[at:end], len(question.options) + 1, multi)
    if typed is None:
        return None
    parsed.append(Parsed(typed[0], typed[1], end))
    return parsed


def _option(lines: list[str], at: int, end: int, question: Question, index: int, multi: bool) -> Parsed | None:
    start = ROW.fullmatch(lines[at])
    if start is None or int(start[2]) != index + 1:
        return None
    rest = start[3]
    checked: bool | None = None
    if multi:
        box = _BOX.fullmatch(rest)
        if box is None:
            return None
        checked, rest = box[1] == grammar.TICKED, box[2] or ""
    for plain, chosen in described(question.options[index]):
        found = _option_end(lines, at, end, key(rest), plain, chosen, multi)
        if found is not None:
            stop, marked = found
            return Parsed(Row(RowKind.OPTION, index, checked if multi else marked), start[1] == grammar.CURSOR, stop)
    return None


def _option_end(
    lines: list[str], at: int, end: int, shown: str, plain: str, chosen: str, multi: bool
) -> tuple[int, bool] | None:
    """Return the line after the option that starts at ``at``, and whether it has the mark of a chosen one."""
    stop = at + 1
    # Beyond the shortest match only empty-looking lines can follow (a text whose end is ignored by key()).
    while shown not in (plain, chosen) or (
        stop < end and not multi and shown == plain != chosen and key(lines[stop]) == grammar.CHOSEN
    ):
        if stop == end or not (chosen.startswith(shown) or plain.startswith(shown)):
            return None
        shown += key(lines[stop])
        stop += 1
    while stop < end and not key(lines[stop]):
        stop += 1
    return stop, shown == chosen


def _type_row(lines: Sequence[str], number: int, multi: bool) -> tuple[Row, bool] | None:
    start = ROW.fullmatch(lines[0])
    if start is None or int(start[2]) != number:
        return None
    first = start[3]
    checked: bool | None = None
    indent = 5
    if multi:
        box = _BOX.fullmatch(first)
        if box is None:
            return None
        checked, first = box[1] == grammar.TICKED, box[2] or ""
        indent = 9
    if any(line[:5].strip() for line in lines[1:]):
        return None
    if not multi:
        # A text that was entered before has the mark behind its first line, past the end of its longest one.
        without = re.sub(rf"\s+{grammar.CHOSEN}$", "", first)
        checked = without != first
        first = without
    text = "\n".join([first, *(line[indent:] if not line[:indent].strip() else line.strip() for line in lines[1:])])
    if text in _PLACEHOLDERS:
        text = ""
    elif not text.strip():
        text = BLANKS
    return Row(RowKind.TYPE, None, checked, text), start[1] == grammar.CURSOR
