"""Reads a captured pane into a typed state of the AskUserQuestion dialog.

The screen is matched against the saved form instead of being searched for words: a question page is recognised only
if the last block of the screen is built like the dialog *and* its question, option labels and descriptions are the
form's. Text from outside (labels, descriptions, Claude's prose, what was typed) can therefore hold anything, also
pictures of the dialog itself. What does not match completely is :class:`Unknown`, never a guess.

Texts are compared without white space (:func:`key`), because the client wraps them anywhere.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.columns import column_widths, columns
from hookrouter.labels import cut
from hookrouter_keystrokes import grammar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter.answering import Screen
    from hookrouter.tools import AskUserQuestionInput, Option, Question

__all__ = [
    "UNSURE",
    "Closed",
    "DialogState",
    "Notes",
    "OtherDialog",
    "Page",
    "Prompt",
    "Review",
    "Row",
    "RowKind",
    "Tail",
    "Unknown",
    "accented_key",
    "client_version",
    "exact_key",
    "has_previews",
    "key",
    "read",
]

UNSURE = "too little of the question is visible to be sure that it is this one; make the pane larger"
"""Why a dialog that fits the form as far as it is visible is left alone."""


class RowKind:
    """What a row of a question page is for: the values of ``Row.kind``."""

    OPTION = "option"
    TYPE = "type"
    SUBMIT = "submit"
    CHAT = "chat"
    SKIP = "skip"


class Row(NamedTuple):
    """One row that the cursor can be on."""

    kind: str
    """One of the values of RowKind."""
    option: int | None = None
    """The option's index in the form."""
    checked: bool | None = None
    """The box of a multi-select row; for a single-select whether this row was chosen before."""
    text: str = ""
    """What is typed in the type row; empty while it shows its placeholder, one blank where only blanks are typed."""


class Notes(NamedTuple):
    """The notes field of the preview layout."""

    focused: bool
    text: str


class Page(NamedTuple):
    """A question page of the form."""

    question: int
    """The index of the question in the form."""
    rows: tuple[Row, ...]
    """The rows that are visible, from top to bottom."""
    cursor: int | None
    """The index in ``rows`` of the row with the cursor; None where that row is not visible."""
    preview: bool = False
    """Whether this is the layout with previews, which has no type row but a notes field."""
    notes: Notes | None = None
    tabs: tuple[bool, ...] | None = None
    """For each question whether its tab is marked as answered; None where the tab bar is not readable."""
    clipped: bool = False
    """Whether a part of the dialog is not visible."""
    first: int = 0
    """How many options are hidden above the visible rows: the index of the first visible option."""
    below: int = 0
    """How many options and type rows are hidden below the visible ones."""

    @property
    def above(self) -> int:
        """How many options are hidden above the visible rows while the cursor is on one of them, else 0.

        A cursor that is not visible is always on such an option: what does not fit the pane is lost at the top, and
        the client scrolls its list so that the row with the cursor is in it.
        """
        return self.first if self.cursor is None else 0

    def at(self, kind: str, option: int | None = None) -> bool:
        """Whether the cursor is on this row."""
        return self.cursor is not None and self.rows[self.cursor][:2] == (kind, option)

    def row(self, kind: str, option: int | None = None) -> Row | None:
        """Return the row, or None where it is not visible."""
        return next((row for row in self.rows if row[:2] == (kind, option)), None)


class Tail(NamedTuple):
    """A question page whose options are all scrolled off the top by a long typed text."""

    text: str
    """The end of what is typed."""
    submit: bool
    """Whether a Submit or Next row follows, that is whether it is a multi-select."""
    cursor: str | None
    """The kind of the row with the cursor, where that is visible."""


class Review(NamedTuple):
    """The review screen before the form is submitted."""

    answers: tuple[str | None, ...]
    """What the screen shows as the answer of each question of the form; None where the question is not listed."""
    hidden: tuple[bool, ...]
    """For each question whether its place in the list is scrolled off the top."""
    on_submit: bool
    """Whether the cursor is on ``Submit answers``; else it is on ``Cancel``."""
    certain: bool = True
    """Whether a question of the form is to be seen; another form may well have the same headers or answers."""
    tail: str | None = None
    """The end of the last answer, where nothing else of the list is visible, so that it may be any form's."""


class Closed:
    """How the transcript says that a form ended: the values of ``Prompt.closed``."""

    ANSWERED = "answered"
    DECLINED = "declined"


class Prompt(NamedTuple):
    """No dialog: the prompt box is on screen."""

    text: str
    """What is in the box; empty where it holds nothing or only the client's grey example."""
    closed: str | None
    """How this form ended, one of the values of Closed, if that is the last thing of its kind in the transcript."""


class OtherDialog(NamedTuple):
    """A dialog of the client that is no question."""

    kind: str
    """One of the values of grammar.DialogKind."""

    @property
    def why(self) -> str:
        """Say why nothing can be answered here."""
        return f"the client's {self.kind} dialog is on screen, not the question"


class Unknown(NamedTuple):
    """Nothing that can be told for certain to be this form's dialog, the prompt, or another dialog by its name."""

    why: str
    dialog: bool = False
    """Whether it looks like some other dialog of the client."""


DialogState = Page | Tail | Review | Prompt | OtherDialog | Unknown


def _ignored(character: str) -> bool:
    category = unicodedata.category(character)
    # Clients and terminals draw emoji sequences, combining marks and invisible characters in different ways.
    return category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp", "Mn", "Me", "Sk") or (
        category == "So" and (ord(character) > 0xFFFF or character == "\ufffd")
    )


@lru_cache(maxsize=2048)
def key(text: str) -> str:
    """Return ``text`` without what gets lost or changed between a text and its picture on the screen.

    That is white space, control and format characters, combining marks, emoji outside the basic plane, and the
    replacement character, which the client draws for a newline in a label.
    """
    return "".join(character for character in unicodedata.normalize("NFD", text) if not _ignored(character))


def _tells(character: str) -> bool:
    return character != "\ufffd" and (not _ignored(character) or unicodedata.category(character) in ("So", "Sk"))


@lru_cache(maxsize=512)
def exact_key(text: str) -> str:
    """Return ``text`` like :func:`key`, but with its emoji: what tells texts apart whose keys are the same."""
    return "".join(filter(_tells, unicodedata.normalize("NFD", text)))


@lru_cache(maxsize=512)
def accented_key(text: str) -> str:
    """Return ``text`` like :func:`exact_key`, but with the accents of letters that are one character with theirs.

    Such a letter is drawn whole, while a combining mark may get lost.
    """
    return "".join(filter(_tells, text))


@lru_cache(maxsize=512)
def _drawn(text: str) -> tuple[str, ...]:
    """Return the keys of a question, label or description as clients draw it: whole or, where it is long, cut."""
    return tuple(dict.fromkeys((key(cut(text)), key(text))))


def _described(option: Option) -> list[tuple[str, str]]:
    """Return the keys of an option's text, label and description, each without and with the mark of a chosen one."""
    return [
        (label + description, label + grammar.CHOSEN + description)
        for label in _drawn(option.label)
        for description in _drawn(option.description or "")
    ]


def _split_at(line: str, column: int) -> tuple[str, str]:
    """Split a line at a screen column."""
    at = 0
    for position, width in enumerate(column_widths(line)):
        if at >= column and width:
            return line[:position], line[position:]
        at += width
    return line, ""


class _Same:
    """A form as a key: equal to itself only, which is faster to tell than from its texts."""

    def __init__(self, form: AskUserQuestionInput) -> None:
        self.form = form

    def __hash__(self) -> int:
        return id(self.form)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.form is self.form


def read(screen: Screen, form: AskUserQuestionInput) -> DialogState:
    """Return what ``screen`` shows, seen with ``form`` in mind. Never raises."""
    return _read(tuple(screen.lines), screen.width, _Same(form))


# The planner reads every screen again that led to a step, and most looks of the channel show nothing new.
@lru_cache(maxsize=256)
def _read(shown: tuple[str, ...], width: int, asked: _Same) -> DialogState:
    form = asked.form
    lines = [line.replace("\u00a0", " ").rstrip() for line in shown]
    while lines and not lines[-1]:
        lines.pop()
    lines = _without_queued(lines)
    if not lines:
        return Unknown("the screen is empty")
    review = _review(lines, form) or _review_tail(lines, form)
    if review is not None:
        return review
    if _review_rows(lines) is not None:
        cut_off = len(lines) > 2 and _MORE_ABOVE.fullmatch(lines[-3])
        why = UNSURE if cut_off else "the review on screen is not this form's"
        return Unknown(why, dialog=True)
    body = _above_footer(lines)
    if body is not None:
        return _page(body, form, width)
    other = _other(lines)
    if other is not None:
        return other
    prompt = _prompt(lines, form, width)
    return prompt or Unknown("neither a dialog nor the prompt box is on screen")


_VERSION = re.compile(rf"\W*{grammar.BANNER} v(\d+)\.(\d+)\.(\d+)(?: {grammar.RULE}+╮)?")


def client_version(screen: Screen) -> tuple[int, int, int] | None:
    """Return the version in the client's banner, if that has not been scrolled away."""
    for line in screen.lines[:12]:
        found = _VERSION.fullmatch(line.rstrip())
        if found:
            return int(found[1]), int(found[2]), int(found[3])
    return None


class _Body(NamedTuple):
    lines: list[str]
    """The lines above the footer."""
    hidden: int
    editing: bool
    """Whether the footer offers an editor, which it does while a text field has the focus."""


_MORE_ABOVE = re.compile(grammar.MORE_ABOVE)
_FOOTER_LINES = 4
_NOTICE_INDENT = 12
_NOTICE_LINES = 2
_EDITOR = key(grammar.FOOTER_EDITOR)
_FOOTER_START, _FOOTER_END = key(grammar.FOOTER_START), key(grammar.FOOTER_END)


_QUEUED = tuple(seen.text for seen in grammar.QUEUED)
_QUEUED_LINES = 12
_QUEUED_INDENT = " " * 4


def _without_queued(lines: list[str]) -> list[str]:
    """Cut off the prompts that wait for the end of Claude's turn, where they stand below all else."""
    while lines:
        at = len(lines) - 1
        while at and len(lines) - at < _QUEUED_LINES and lines[at].startswith(_QUEUED_INDENT):
            at -= 1
        if not lines[at].startswith(_QUEUED):
            break
        lines = lines[:at]
        while lines and not lines[-1]:
            lines.pop()
    return lines


def _without_notices(lines: list[str]) -> int:
    """Return where a notice of the client begins, such as a countdown, which stands at the right below all else."""
    end = len(lines)
    while end and len(lines) - end < _NOTICE_LINES and lines[end - 1].startswith(" " * _NOTICE_INDENT):
        end -= 1
    return end


def _above_footer(lines: list[str]) -> _Body | None:
    """Cut off the dialog's footer, which may be wrapped; None where the screen does not end in one."""
    end = _without_notices(lines)
    if end == 0:
        return None
    for start in range(end - 1, max(end - 1 - _FOOTER_LINES, 0), -1):
        footer = key("".join(lines[start:end]))
        if footer.startswith(_FOOTER_START) and footer.endswith(_FOOTER_END):
            above = lines[:start]
            hidden = 0
            more = _MORE_ABOVE.fullmatch(above[-1])
            if more:
                hidden = int(more[1])
                above.pop()
            while above and not above[-1]:
                above.pop()
            return _Body(above, hidden, _EDITOR in footer)
    return None


def _is_rule(line: str, width: int) -> bool:
    # Narrower than the pane right after a resize; a description can never reach the first column.
    return len(line) >= min(width, 8) and not line.strip(grammar.RULE)


def _page(body: _Body, form: AskUserQuestionInput, width: int) -> DialogState:
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
        if not lines or not _is_rule(lines[-1], width):
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
            _preview_rows(lines, question, number, form, width, body),
            _no_rows(lines, question, number, body),
        ):
            if page is not None and page.rows:
                found.append(page)
                break
            unsure = unsure or page is not None
    if len(found) > 1:
        return Unknown("the visible part of the dialog fits more than one question of the form", dialog=True)
    if found:
        return _with_last_rows(found[0], last, cursors, editing=body.editing)
    tail = _tail(lines, cursors)
    # Without its upper edge the layout with previews is not read, and no other question's either.
    unsure = unsure or (bool(body.hidden) and any(has_previews(question) for question in form.questions))
    return tail or Unknown(UNSURE if unsure else "the dialog on screen is not this question", dialog=True)


def has_previews(question: Question) -> bool:
    """Whether the client draws this question in the layout with previews."""
    return not question.multi_select and any(option.preview for option in question.options)


def _with_last_rows(page: Page, last: list[Row], cursors: list[Row], *, editing: bool) -> DialogState:
    rows = page.rows + tuple(last)
    cursor = page.cursor
    if cursors:
        # The focused option of the preview layout, and up to 2.1.200 the Submit row of a multi-select, keep their
        # cursor while the real one is on the chat row.
        if len(cursors) > 1 or not (cursor is None or page.preview or page.rows[cursor].kind == RowKind.SUBMIT):
            return Unknown("two cursors on one question page", dialog=True)
        cursor = rows.index(cursors[0], len(page.rows))
    if cursor is None and (not page.clipped or not page.first or editing):
        return Unknown("a question page without a cursor", dialog=True)
    return page._replace(rows=rows, cursor=cursor)


# Older clients squeeze out the blank behind the mark where the row's label is wrapped (seen on 2.0.76 to 2.1.150).
_ROW = re.compile(rf"([{grammar.ROW_MARKS}]) ?(\d)\. ?(.*)")
_BOX = re.compile(r"(\[[ ✔]\])(?: (.*)|$)")
_BOX_INDENT = 9
"""Columns before the text of a multi-select's row."""
_SUBMIT_ROW = re.compile(rf"([{grammar.CURSOR} ]) +({grammar.SUBMIT}|{grammar.NEXT})")
_BLANKS = " "
"""What a field holds that shows neither its placeholder nor any text: blanks that nobody can see."""
_PLACEHOLDERS = frozenset(seen.text for seen in grammar.PLACEHOLDERS)


class _Parsed(NamedTuple):
    row: Row
    marked: bool
    end: int


def _list_rows(
    lines: list[str], question: Question, number: int, form: AskUserQuestionInput, width: int, body: _Body
) -> Page | None:
    """Read a page in the plain layout; None where it is not this question's, no rows where that is not certain."""
    multi = bool(question.multi_select)
    end = len(lines)
    tail: list[Row] = []
    marks: list[Row] = []
    if multi:
        submit = _SUBMIT_ROW.fullmatch(lines[-1]) if lines else None
        if submit is None:
            return None
        tail.append(Row(RowKind.SUBMIT))
        if submit[1] == grammar.CURSOR:
            marks.append(tail[0])
        end -= 1
    count = len(question.options)
    unsure: Page | None = None
    for start in range(end):
        row = _ROW.fullmatch(lines[start])
        if row is None or not 1 <= int(row[2]) <= count + 1:
            continue
        first = int(row[2]) - 1
        parsed = _sequence(lines, start, end, question, first, multi)
        if parsed is None:
            continue
        fits = _fits_above(lines, start, question, first, body, width)
        if not _is_certain(fits, question, parsed):
            unsure = unsure if fits is None else Page(number, (), None)
            continue
        arrows = any(lines[at][:1] in ("↑", "↓") for at in range(start, end))
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
        tabs = _tabs(lines[:start], question, form, width)
        clipped = bool(body.hidden or arrows or first)
        below = count + 1 - first - len(parsed)
        return Page(number, tuple(rows), cursor, tabs=tabs, clipped=clipped, first=first, below=below)
    return unsure


def _no_rows(lines: list[str], question: Question, number: int, body: _Body) -> Page | None:
    """Read a multi-select of which only the end of an option and the row that leaves it are visible."""
    submit = _SUBMIT_ROW.fullmatch(lines[-1]) if lines else None
    if submit is None or not question.multi_select or not body.hidden or body.editing:
        return None
    if submit[1] == grammar.CURSOR or any(line[:_BOX_INDENT].strip() for line in lines[:-1]):
        return None
    shown = key("".join(lines[:-1]))
    if not any(plain.endswith(shown) for option in question.options for plain, _ in _described(option)):
        return None
    rows = (Row(RowKind.SUBMIT),) if len(shown) >= _CERTAIN else ()
    return Page(number, rows, None, clipped=True, first=len(question.options))


def _sequence(
    lines: list[str], start: int, end: int, question: Question, first: int, multi: bool
) -> list[_Parsed] | None:
    """Read the rows ``first``, ``first + 1``, … that fill the lines from ``start`` to ``end`` without a gap."""
    parsed: list[_Parsed] = []
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
    parsed.append(_Parsed(typed[0], typed[1], end))
    return parsed


def _option(lines: list[str], at: int, end: int, question: Question, index: int, multi: bool) -> _Parsed | None:
    start = _ROW.fullmatch(lines[at])
    if start is None or int(start[2]) != index + 1:
        return None
    rest = start[3]
    checked: bool | None = None
    if multi:
        box = _BOX.fullmatch(rest)
        if box is None:
            return None
        checked, rest = box[1] == grammar.TICKED, box[2] or ""
    for plain, chosen in _described(question.options[index]):
        found = _option_end(lines, at, end, key(rest), plain, chosen, multi)
        if found is not None:
            stop, marked = found
            return _Parsed(Row(RowKind.OPTION, index, checked if multi else marked), start[1] == grammar.CURSOR, stop)
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
    start = _ROW.fullmatch(lines[0])
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
        text = _BLANKS
    return Row(RowKind.TYPE, None, checked, text), start[1] == grammar.CURSOR


def _asked(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of what these lines ask: without the client's bars, and as they stand, for bars of the text."""
    unquoted = key("".join(line[1:] if line.startswith(grammar.QUOTE_BAR) else line for line in lines))
    return tuple(dict.fromkeys((unquoted, key("".join(lines)))))


def _is_asked(lines: Sequence[str], question: Question) -> bool:
    texts = _drawn(question.question)
    return any(shown in texts for shown in _asked(lines))


def _is_header(lines: Sequence[str]) -> bool:
    shown = key("".join(lines))
    return shown.startswith((grammar.BAR_START, grammar.TAB_OPEN, grammar.TAB_DONE))


_HEADER_LINES = 3


def _heads(lines: list[str], width: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield every way to part the lines above the rows into header and question, below some rule.

    The rule itself may have been scrolled off the top.
    """
    for rule in range(len(lines) - 1, -2, -1):
        if rule < 0 or _is_rule(lines[rule], width):
            start = rule + 1
            while start < len(lines) and not lines[start]:
                start += 1
            for split in range(start + 1, min(start + 1 + _HEADER_LINES, len(lines) + 1)):
                yield lines[start:split], lines[split:]


_CERTAIN = 24
"""How many characters of the question and its options must be visible to tell whose page it is."""


def _fits_above(lines: list[str], start: int, question: Question, first: int, body: _Body, width: int) -> int | None:
    """Compare the lines above the first visible row with the question, or with what a small pane has left of it.

    What is left must fill the screen from its very top. Returns how many characters of the form it shows, at least
    _CERTAIN for the whole question, or None where it is something else.
    """
    above = lines[:start]
    texts = _drawn(question.question)
    # Below the question a list that does not fit begins with an arrow, or with the cursor in its place.
    mark = lines[start][:1]
    if first == 0 or mark == "↑" or (mark == grammar.CURSOR and body.hidden):
        if any(_is_asked(text, question) and _is_header(header) for header, text in _heads(above, width)):
            return _CERTAIN
        for shown in _asked(above):
            if shown.endswith(texts) and (_is_header(above) or shown in texts):
                return _CERTAIN
            if any(wanted.endswith(shown) for wanted in texts) and (shown or first == 0):
                return len(shown)
    if first == 0:
        return None
    shown = key("".join(above))
    if any(each.endswith(shown) for each in itertools.chain(*_described(question.options[first - 1]))):
        return len(shown)
    return None


def _is_certain(fits: int | None, question: Question, parsed: list[_Parsed]) -> bool:
    if fits is None:
        return False
    options = [question.options[item.row.option] for item in parsed if item.row.option is not None]
    return fits + sum(len(key(option.label + (option.description or ""))) for option in options) >= _CERTAIN


def _tabs(above: list[str], question: Question, form: AskUserQuestionInput, width: int) -> tuple[bool, ...] | None:
    """Read the tab bar; None where it is scrolled away, wrapped or shortened."""
    for header, text in _heads(above, width):
        if _is_asked(text, question) and _is_header(header):
            return _bar(key("".join(header)), form)
    return None


def _bar(shown: str, form: AskUserQuestionInput) -> tuple[bool, ...] | None:
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


_BOX_TOP = re.compile(r"[┌╭]─+[┐╮]$")
_NOTES_LINE = re.compile(rf"{grammar.NOTES} ?(.*)")
_NOTES_INDENT = 7
_SQUEEZED_FIRST = re.compile(rf"([{grammar.ROW_MARKS}]) {{3}}(\S.*)")
_SQUEEZED_SECOND = re.compile(r" (\d)\.(.*)")


def _preview_rows(
    lines: list[str], question: Question, number: int, form: AskUserQuestionInput, width: int, body: _Body
) -> Page | None:
    """Read a page in the layout with previews; None and no rows as for the plain one."""
    if question.multi_select:
        return None
    unsure: Page | None = None
    for top, line in enumerate(lines):
        box = _BOX_TOP.search(line)
        if box is None:
            continue
        column = columns(line[: box.start()])
        halves = [_split_at(line, column) for line in lines[top:]]
        notes = _notes([right for _, right in halves], body.editing)
        parsed = _preview_labels([left.rstrip() for left, _ in halves], question)
        if notes is None or parsed is None:
            continue
        fits = _fits_above(lines, top, question, 0, body, width)
        if not _is_certain(fits, question, parsed):
            unsure = unsure if fits is None else Page(number, (), None)
            continue
        marked = [at for at, item in enumerate(parsed) if item.marked]
        if len(marked) > 1:
            return None
        rows = tuple(item.row for item in parsed)
        tabs = _tabs(lines[:top], question, form, width)
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
    return Notes(focused=editing, text=text if text.strip() else _BLANKS)


def _preview_labels(left: list[str], question: Question) -> list[_Parsed] | None:
    parsed: list[_Parsed] = []
    at = 0
    for index, option in enumerate(question.options):
        if at >= len(left):
            return None
        start = _ROW.fullmatch(left[at])
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
        labels = _drawn(option.label)
        # The mark of a chosen option stands behind the label's first line.
        while shown.replace(grammar.CHOSEN, "") not in [label.replace(grammar.CHOSEN, "") for label in labels]:
            if stop >= len(left) or not left[stop].strip():
                return None
            shown += key(left[stop])
            stop += 1
        parsed.append(_Parsed(Row(RowKind.OPTION, index, shown not in labels), mark == grammar.CURSOR, stop))
        at = stop
    rest = [line for line in left[at:] if line.strip()]
    # 2.1.50 showed the focused option's description below the labels.
    descriptions = [each for option in question.options for each in _drawn(option.description or "")]
    if rest and key("".join(rest)) not in descriptions:
        return None
    return parsed


def _tail(lines: list[str], cursors: list[Row]) -> Tail | None:
    """Read a page of which only the end of a long typed text is visible."""
    if not lines:
        return None
    cursor = cursors[0].kind if cursors else None
    submit = _SUBMIT_ROW.fullmatch(lines[-1])
    if submit is not None:
        lines = lines[:-1]
        if submit[1] == grammar.CURSOR:
            cursor = RowKind.SUBMIT
    indent = 9 if submit else 5
    if not lines or any(line[:indent].strip() for line in lines):
        return None
    return Tail("\n".join(line[indent:] for line in lines), submit is not None, cursor)


_REVIEW_NOTICES = frozenset(key(seen.text) for seen in grammar.REVIEW_NOTICES)
_QUESTION_LINE = re.compile(rf" (?:{grammar.QUOTE_BAR} )?{grammar.BULLET} (.*)")
_QUESTION_MORE = re.compile(rf" {grammar.QUOTE_BAR} ? ?(.*)")
_ANSWER_INDENT = 3
_ANSWER_LINE = re.compile(rf"{' ' * _ANSWER_INDENT}{grammar.ARROW} ?(.*)")


def _review(lines: list[str], form: AskUserQuestionInput) -> Review | None:
    """Read the review screen, whose last two lines are its two rows; None where it is not this form's."""
    marks = _review_rows(lines)
    if marks is None or len(lines) < 3 or sum(marks) != 1:
        return None
    body = lines[:-2]
    hidden = 0
    more = _MORE_ABOVE.fullmatch(body[-1])
    if more:
        hidden = int(more[1])
        body.pop()
    while body and (not body[-1] or (body[-1][0] != " " and key(body[-1]) in _REVIEW_NOTICES)):
        body.pop()
    listed = _review_list(body, form, hidden)
    if listed is None:
        return None
    return Review(listed[0], listed[1], marks[0], listed[2])


def _review_tail(lines: list[str], form: AskUserQuestionInput) -> Review | None:
    """Read a review screen of which only the end of the last answer, and its two rows, are visible."""
    marks = _review_rows(lines)
    if marks is None or len(lines) < 4 or sum(marks) != 1 or not _MORE_ABOVE.fullmatch(lines[-3]):
        return None
    body = lines[:-3]
    while body and not body[-1]:
        body.pop()
    if not body or any(line[:_ANSWER_INDENT].strip() for line in body):
        return None
    count = len(form.questions)
    tail = "\n".join(line[_ANSWER_INDENT:] for line in body)
    return Review((None,) * count, (True,) * count, marks[0], certain=False, tail=tail)


def _review_rows(lines: list[str]) -> list[bool] | None:
    """Return which of the review's two rows have the cursor, or None where the screen does not end in them."""
    rows = [re.fullmatch(rf"([{grammar.CURSOR} ]) (.*)", line) for line in lines[-2:]]
    if [row and row[2] for row in rows] != [grammar.SUBMIT_ANSWERS, grammar.CANCEL]:
        return None
    return [row[1] == grammar.CURSOR for row in rows if row is not None]


def _review_list(
    body: list[str], form: AskUserQuestionInput, hidden: int
) -> tuple[tuple[str | None, ...], tuple[bool, ...], bool] | None:
    title = max((at for at, line in enumerate(body) if line == grammar.REVIEW), default=None)
    count = len(form.questions)
    if title is not None:
        # A wrapped tab bar ends in a line without its glyphs.
        before = [line for line in body[:title] if line][-_HEADER_LINES:]
        if not any(_is_header([line]) for line in before) and (before or not hidden):
            return None
    if title is not None:
        at = title + 1
        while at < len(body) and (not body[at] or key(body[at]) in _REVIEW_NOTICES):
            at += 1
        answers = _answers(body, at, form, 0)
        if answers is None or (not any(answers) and not (before and _bar(key(before[-1]), form))):
            return None
        return tuple(answers), (False,) * count, any(answers)
    if not hidden:
        return None
    if count == 1 and body and all(not line[:_ANSWER_INDENT].strip() for line in body):
        # The whole question is scrolled away: only its answer, or the end of that, is visible.
        whole = _ANSWER_LINE.fullmatch(body[0])
        if whole is None or len(key("".join(body))) < _CERTAIN:
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
            stop = _question_at(body, at, _drawn(form.questions[candidate].question), open_top=open_top)
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
    """Return the line after the question that starts at ``at``, or None where it is another text."""
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


def _other(lines: list[str]) -> OtherDialog | None:
    """Read one of the client's other dialogs, which fills the screen's end; None where it is none that is known."""
    lines = lines[: _without_notices(lines)]
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
    """Return what follows the rows, or None where they are not this form's or have not exactly one cursor."""
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


_PROMPT_LINES = 6
_TITLED_RULE = re.compile(rf"{grammar.RULE}{{3,}}(?:.*{grammar.RULE})?")


def _prompt(lines: list[str], form: AskUserQuestionInput, width: int) -> Prompt | None:
    """Read the prompt box: between the last two rules, behind its glyph, with only status lines below."""
    bottom = next((at for at in range(len(lines) - 1, 0, -1) if _is_rule(lines[at], width)), None)
    if bottom is None or len(lines) - 1 - bottom > _PROMPT_LINES:
        return None
    # The upper rule may hold a word at its end, such as the model's name.
    top = next((at for at in range(bottom - 1, -1, -1) if _TITLED_RULE.fullmatch(lines[at])), None)
    if top is None:
        return None
    inside = lines[top + 1 : bottom]
    if not inside or inside[0][:1] not in grammar.PROMPTS or inside[0][1:2] not in ("", " "):
        return None
    text = "\n".join([inside[0][2:], *(line[2:] if not line[:2].strip() else line for line in inside[1:])])
    if text.startswith(grammar.PROMPT_HINT):
        text = ""
    return Prompt(text, _closed(lines[:top], form))


def _closed(transcript: list[str], form: AskUserQuestionInput) -> str | None:
    """Return how the last form in the transcript ended, if it was this one."""
    asked = key(form.questions[0].question) if form.questions else ""
    for at in range(len(transcript) - 1, -1, -1):
        line = transcript[at]
        if line[:1] in grammar.PROMPTS and line[1:2] == " " and line[2:].strip():
            # The prompt that led to this form: what stands above it is about earlier ones.
            return None
        if not line.startswith((grammar.BULLET, grammar.RESULT)):
            continue
        said = line.lstrip(grammar.BULLET + grammar.RESULT + " ")
        shown = key("".join(transcript[at + 1 : at + 12]))
        if said.startswith(tuple(seen.text for seen in grammar.DECLINED)):
            # Older clients do not list the questions of the form that was declined.
            listed = "".join(transcript[at + 1 : at + 2]).startswith(grammar.RESULT)
            return None if listed and asked[:200] not in shown else Closed.DECLINED
        if said in [seen.text for seen in grammar.ANSWERED]:
            return Closed.ANSWERED if asked[:200] in shown else None
    return None
