"""Reads the client's other dialogs, so that the agent can be told which one is in the way."""

from __future__ import annotations

import re

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.footer import without_notices
from hookrouter_keystrokes.screens.model import OtherDialog
from hookrouter_keystrokes.screens.text import key

__all__ = ["other_dialog"]


def other_dialog(lines: list[str]) -> OtherDialog | None:
    """Read one of the client's other dialogs, which fills the screen's end; None if it is none that is known."""
    lines = lines[: without_notices(lines)]
    while lines and not lines[-1]:
        lines.pop()
    return next((OtherDialog(form.kind) for form in grammar.OTHER_DIALOGS if _is_other(lines, form)), None)


_OTHER_INDENT = 4
"""Columns that the rows of another dialog are indented at most."""
_ANY = rf"[^{grammar.CURSOR}{grammar.RULE}]*"


def _is_other(lines: list[str], form: grammar.OtherForm) -> bool:
    first = re.compile(rf"( {{0,{_OTHER_INDENT}}})[{grammar.CURSOR} ] {re.escape(form.rows[0])}")
    start, found = next(
        ((at, found) for at in range(len(lines) - 1, -1, -1) if (found := first.match(lines[at]))), (0, None)
    )
    if found is None:
        return False
    above = start
    while above and not lines[above - 1]:
        above -= 1
    begin = above
    while begin and lines[begin - 1]:
        begin -= 1
    if not any(key("".join(lines[at:above])).startswith(key(form.above.text)) for at in range(begin, above)):
        return False
    if not any(line.strip().startswith(form.title) for line in lines[:above]):
        return False
    below = _other_rows(lines[start:], form, len(found[1]))
    if below is None:
        return False
    shown = key("".join(below))
    return any(re.fullmatch(_ANY.join(map(re.escape, key(each).split("…"))), shown) for each in form.footers)


def _other_rows(lines: list[str], form: grammar.OtherForm, column: int) -> list[str] | None:
    """Return what follows the rows, or None if they are not this form's or have not exactly one cursor."""
    count = cursors = at = 0
    for at, line in enumerate([*lines, ""]):  # noqa: B007
        begins = form.rows[count] if count < len(form.rows) else f"{count + 1}. "
        mark = line[: column + 2]
        if mark.strip() in ("", grammar.CURSOR) and line[column + 2 :].startswith(begins):
            cursors += bool(mark.strip())
            count += 1
        elif line[: column + 3].strip():
            break
    return lines[at:] if count >= len(form.rows) and cursors == 1 else None
