"""Reads a question page in the layout with previews, which has a notes field and no row for typed text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter.util.text_width import text_width
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.header import ROW, Parsed, answered_tabs, fits_above, is_certain
from hookrouter_keystrokes.screens.model import BLANKS, Notes, Page, Row, RowKind
from hookrouter_keystrokes.screens.text import drawn, key, split_at

if TYPE_CHECKING:
    from hookrouter.tools import AskUserQuestionInput, Question
    from hookrouter_keystrokes.screens.footer import Body

__all__ = ["preview_page"]


_BOX_TOP = re.compile(r"[┌╭]─+[┐╮]$")
_NOTES_LINE = re.compile(rf"{grammar.NOTES} ?(.*)")
_NOTES_INDENT = 7
_SQUEEZED_FIRST = re.compile(rf"([{grammar.ROW_MARKS}]) {{3}}(\S.*)")
_SQUEEZED_SECOND = re.compile(r" (\d)\.(.*)")


def preview_page(
    lines: list[str], question: Question, number: int, form: AskUserQuestionInput, width: int, body: Body
) -> Page | None:
    """Read a page in the layout with previews; None and no rows as for the plain one."""
    if question.multi_select:
        return None
    unsure: Page | None = None
    for top, line in enumerate(lines):
        box = _BOX_TOP.search(line)
        if box is None:
            continue
        column = text_width(line[: box.start()])
        halves = [split_at(line, column) for line in lines[top:]]
        notes = _notes([right for _, right in halves], body.editing)
        parsed = _preview_labels([left.rstrip() for left, _ in halves], question)
        if notes is None or parsed is None:
            continue
        fits = fits_above(lines, top, question, 0, body, width)
        if not is_certain(fits, question, parsed):
            unsure = unsure if fits is None else Page(number, (), None)
            continue
        marked = [at for at, item in enumerate(parsed) if item.marked]
        if len(marked) > 1:
            return None
        rows = tuple(item.row for item in parsed)
        tabs = answered_tabs(lines[:top], question, form, width)
        return Page(
            number, rows, marked[0] if marked else None, preview=True, notes=notes, tabs=tabs, clipped=bool(body.hidden)
        )
    return unsure


def _notes(right: list[str], editing: bool) -> Notes | None:
    at = next((at for at in range(len(right) - 1, 0, -1) if _NOTES_LINE.fullmatch(right[at])), None)
    first = _NOTES_LINE.fullmatch(right[at]) if at is not None else None
    if at is None or first is None:
        return None
    rest = right[at + 1 :]
    if any(line[:_NOTES_INDENT].strip() for line in rest):
        return None
    text = "\n".join([first[1], *(line[_NOTES_INDENT:] for line in rest)]).rstrip("\n")
    if key(text) == key(grammar.NOTES_EMPTY.text):
        return Notes(focused=False, text="")
    begun = key(text).removesuffix("…")
    if key(text) == key(grammar.NOTES_OPEN.text) or (
        editing and begun != key(text) and begun in key(grammar.NOTES_OPEN.text)
    ):
        return Notes(focused=True, text="")
    return Notes(focused=editing, text=text if text.strip() else BLANKS)


def _preview_labels(left: list[str], question: Question) -> list[Parsed] | None:
    parsed: list[Parsed] = []
    at = 0
    for index, option in enumerate(question.options):
        if at >= len(left):
            return None
        start = ROW.fullmatch(left[at])
        stop = at + 1
        if start is not None and int(start[2]) == index + 1:
            mark, shown = start[1], key(start[3])
        else:
            # A label that does not fit squeezes its number into the second line.
            squeezed = _SQUEEZED_FIRST.fullmatch(left[at])
            second = _SQUEEZED_SECOND.fullmatch(left[stop]) if stop < len(left) else None
            if squeezed is None or second is None or int(second[1]) != index + 1:
                return None
            mark, shown = squeezed[1], key(squeezed[2] + second[2])
            stop += 1
        labels = drawn(option.label)
        # The mark of a chosen option stands behind the label's first line.
        while shown.replace(grammar.CHOSEN, "") not in [label.replace(grammar.CHOSEN, "") for label in labels]:
            if stop >= len(left) or not left[stop].strip():
                return None
            shown += key(left[stop])
            stop += 1
        parsed.append(Parsed(Row(RowKind.OPTION, index, shown not in labels), mark == grammar.CURSOR, stop))
        at = stop
    rest = [line for line in left[at:] if line.strip()]
    # 2.1.50 showed the focused option's description below the labels.
    descriptions = [each for option in question.options for each in drawn(option.description or "")]
    if rest and key("".join(rest)) not in descriptions:
        return None
    return parsed
