"""Reads the client's other dialogs: which one it is, its rows, and what it is about."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.dialog_forms import NOTICES, OTHER_DIALOGS, OtherForm
from hookrouter_keystrokes.screens.footer import MORE_ABOVE, without_notices
from hookrouter_keystrokes.screens.model import OtherDialog
from hookrouter_keystrokes.screens.text import key

__all__ = ["other_dialog"]


def other_dialog(lines: list[str]) -> OtherDialog | None:
    """Read one of the client's other dialogs, which fills the screen's end; None if it is none that is known."""
    lines = lines[: without_notices(lines)]
    while lines and not lines[-1]:
        lines.pop()
    return next(filter(None, (_read(lines, form) for form in OTHER_DIALOGS)), None) or _notice(lines)


_OTHER_INDENT = 4
"""Columns that the rows of another dialog are indented at most."""
_EDGE_INDENT = 2
"""Columns that a dialog's upper edge is indented at most; all that a dialog is about is indented more, or numbered."""
_EDGE = 16
"""The shortest upper edge."""
_ANY = rf"[^{grammar.CURSOR}{grammar.RULE}]*"


@functools.cache
def _first_row(text: str) -> re.Pattern[str]:
    return re.compile(rf"( {{0,{_OTHER_INDENT}}})[{grammar.CURSOR} ] {re.escape(text)}")


def _read(lines: list[str], form: OtherForm) -> OtherDialog | None:
    first = _first_row(form.rows[0])
    start, found = next(
        ((at, found) for at in range(len(lines) - 1, -1, -1) if (found := first.match(lines[at]))), (0, None)
    )
    if found is None:
        return None
    above = start
    while above and not lines[above - 1]:
        above -= 1
    begin = above
    while begin and lines[begin - 1]:
        begin -= 1
    asks = [at for at in range(begin, above) if key("".join(lines[at:above])).startswith(key(form.above.text))]
    if not asks or not any(line.strip().startswith(form.title) for line in lines[:above]):
        return None
    rows = _rows(lines[start:], form, len(found[1]))
    if rows is None:
        return None
    below = [line for line in rows.below if line]
    clipped = bool(below) and MORE_ABOVE.fullmatch(below[0]) is not None
    shown = key("".join(below[clipped:]))
    if not any(re.fullmatch(_ANY.join(map(re.escape, key(each).split("…"))), shown) for each in form.footers):
        return None
    edge = next((at for at in range(asks[-1] - 1, -1, -1) if _is_edge(lines[at])), None)
    body = () if edge is None else tuple(lines[edge + 1 : asks[-1]])
    return OtherDialog(form.kind, rows.texts, rows.cursor, body, shown, clipped or edge is None)


def _notice(lines: list[str]) -> OtherDialog | None:
    edge = next((at for at in range(len(lines) - 1, -1, -1) if _is_edge(lines[at])), None)
    if edge is None or edge + 1 >= len(lines):
        return None
    title, end = lines[edge + 1].strip(), len(lines) - 1
    shown = key(lines[end])
    for notice in NOTICES:
        if re.fullmatch(notice.title.text, title) and any(shown == key(footer) for footer in notice.footers):
            rows = (notice.enter,) if notice.enter else ()
            return OtherDialog(notice.kind, rows, body=tuple(lines[edge + 2 : end]), is_list=bool(rows))
    return None


def _is_edge(line: str) -> bool:
    inside = line.strip()
    is_upper = inside.startswith(grammar.UPPER_RULE * _EDGE) and inside.endswith(grammar.UPPER_RULE)
    is_rule = len(inside) >= _EDGE and not inside.strip(grammar.RULE)
    return len(line) - len(inside) <= _EDGE_INDENT and (is_rule or is_upper)


class _Rows(NamedTuple):
    texts: tuple[str, ...]
    cursor: int
    below: list[str]


def _rows(lines: list[str], form: OtherForm, column: int) -> _Rows | None:
    """Read the rows and what follows them; None if they are not this form's or have not exactly one cursor."""
    texts: list[str] = []
    cursors: list[int] = []
    end = 0
    for at, line in enumerate(lines):
        number = f"{len(texts) + 1}. "
        begins = form.rows[len(texts)] if len(texts) < len(form.rows) else number
        mark, rest = line[: column + 2], line[column + 2 :]
        if mark.strip() in ("", grammar.CURSOR) and rest.startswith(begins):
            if mark.strip():
                cursors.append(len(texts))
            texts.append(rest.removeprefix(number))
        elif line[: column + 3].strip():
            break
        elif line:
            texts[-1] += f" {line.strip()}"
        end = at + 1
    if len(texts) < len(form.rows) or len(cursors) != 1:
        return None
    return _Rows(tuple(texts), cursors[0], lines[end:])
