"""What a form on the screen looks like: the state of :mod:`form` as lines of text, for a terminal of any size.

Claude's text is data: every character of it that could steer a terminal or hide is made visible first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.cli.dialogs.person.form import CHAT, LEAVE, OWN, SEND, answer_of, fault_of, press, rows, type_text
from hookrouter.dialogs.messages.words import has_previews
from hookrouter.util.text import printable
from hookrouter.util.text_width import column_widths, shortened, text_width

if TYPE_CHECKING:
    from hookrouter.cli.dialogs.person.form import Page, State
    from hookrouter.cli.dialogs.person.line import Line
    from hookrouter.tools.ask_user_question import Question

__all__ = ["Body", "FormView", "Writer", "body", "described", "foot", "head", "wrapped"]

PLAIN, STRONG, FAINT, CURSOR = "", "strong", "faint", "cursor"
"""How a line is drawn; every line can be told apart without it."""

_MARGIN = 4
_TAB = "    "


class Body(NamedTuple):
    """The scrolled part of a page."""

    lines: list[tuple[str, str]]
    """Style and text of each line, none wider than the terminal."""
    first: int
    """The first of the lines that have the cursor."""
    last: int
    caret: tuple[int, int]
    """Line and column of the caret."""


class Writer:
    """Collects the lines of a page."""

    def __init__(self, width: int) -> None:
        """Begin a page that is so many columns wide."""
        self.width = width
        self.lines: list[tuple[str, str]] = []
        self.first = self.last = 0
        self.caret = (0, 0)

    def write(self, text: str, indent: str = "", style: str = PLAIN, rest: str | None = None) -> None:
        """Write a text in as many lines as it needs, the first behind ``indent``, the others behind ``rest``."""
        rest = " " * text_width(indent) if rest is None else rest
        for number, line in enumerate(wrapped(text, self.width - text_width(indent))):
            self.lines.append((style, (rest if number else indent) + line))

    def row(self, text: str, indent: str, *, has_cursor: bool) -> None:
        """Write a row that can have the cursor."""
        start = len(self.lines)
        self.write(text, ("> " if has_cursor else "  ") + indent, CURSOR if has_cursor else PLAIN)
        if has_cursor:
            self.first, self.last, self.caret = start, len(self.lines) - 1, (start, 0)

    def field(self, name: str, line: Line, indent: str, *, has_cursor: bool) -> None:
        """Write a row in which the person types."""
        before, behind = line.text[: line.caret], line.text[line.caret :]
        if not has_cursor:
            self.row(f"{name}: {_typed(line.text)}", indent, has_cursor=False)
            return
        # The blank at the end is where the caret stands behind the last character.
        start = len(self.lines)
        lead = f"{name}: "
        self.row(f"{lead}{_typed(before)}{_typed(behind)} ", indent, has_cursor=True)
        taken = wrapped(f"{lead}{_typed(before)}\N{FULL BLOCK}", self.width - 2 - text_width(indent))
        self.caret = (
            min(start + len(taken) - 1, len(self.lines) - 1),
            min(2 + text_width(indent) + text_width(taken[-1]) - 1, self.width - 1),
        )
        self.first = self.last = self.caret[0]

    def done(self) -> Body:
        """Return what was written."""
        return Body(self.lines, self.first, self.last, self.caret)


class FormView(NamedTuple):
    """A form as the screen shows it."""

    state: State
    session: str

    @property
    def end(self) -> str:
        """How the person has ended; empty while they have not."""
        return self.state.end

    @property
    def page(self) -> int:
        """The number of the page that is shown."""
        return self.state.page

    @property
    def asks_to_send(self) -> bool:
        """Whether Enter may send, which must not be before all was in sight."""
        return self.state.is_review

    def pressed(self, key: str) -> FormView:
        """Return this after a key."""
        return self._replace(state=press(self.state, key))

    def typed(self, text: str) -> FormView:
        """Return this after a text."""
        return self._replace(state=type_text(self.state, text))

    def head(self, width: int) -> str:
        """Return the line above the page."""
        return head(self.state, self.session, width)

    def body(self, width: int) -> Body:
        """Return the lines of the page."""
        return body(self.state, width)

    def foot(self, width: int, hidden: str = "") -> list[str]:
        """Return the lines below the page."""
        return foot(self.state, width, hidden)


def wrapped(text: str, width: int) -> list[str]:
    """Return printable text in lines of at most ``width`` columns, broken at blanks if that is possible."""
    width = max(width, 8)
    lines: list[str] = []
    for paragraph in printable(text, keep_newlines=True).replace("\t", _TAB).split("\n"):
        lines += _broken(paragraph, width)
    return lines


def _broken(paragraph: str, width: int) -> list[str]:
    lines: list[str] = []
    while True:
        used = blank = 0
        for at, needed in enumerate(column_widths(paragraph)):
            if used + needed > width:
                break
            used += needed
            if paragraph[at] == " ":
                blank = at
        else:
            return [*lines, paragraph]
        if paragraph[at] == " ":
            blank = at
        cut = blank or at
        lines.append(paragraph[:cut])
        paragraph = paragraph[cut + 1 if blank else cut :]


def head(state: State, session: str, width: int) -> str:
    """Return the line above the page: whose form it is, and where in it the person is."""
    count = len(state.pages)
    if state.is_review:
        place = "what will be sent"
    else:
        header = f" ({state.question.header})" if state.question.header else ""
        place = f"question {state.page + 1} of {count}{header}" if count > 1 else f"a question{header}"
    return shortened(printable(f"{session}: {place}"), width)


def foot(state: State, width: int, hidden: str = "") -> list[str]:
    """Return the lines below the page: what to tell the person, and which keys there are."""
    if state.is_review:
        keys = "Up/Down, Enter choose | Left back | Ctrl-C leave"
    elif state.line is not None:
        keys = "Enter done | Up/Down rows | Tab next, Shift-Tab back | Ctrl-C leave"
    elif state.question.multi_select:
        keys = "Number or Space choose | Enter done | Left back | Ctrl-C leave"
    else:
        keys = "Number or Enter choose | Left back, Right next | Ctrl-C leave"
    notice = printable(state.notice)
    said = f"! {notice}" if notice else hidden
    return [*wrapped(said, width)[:3], *wrapped(keys, width)[:2]]


def body(state: State, width: int) -> Body:
    """Return the lines of the page that is shown."""
    writer = Writer(width)
    if state.is_review:
        _review(state, writer)
    else:
        _question(state, writer)
    return writer.done()


def _question(state: State, writer: Writer) -> None:
    question, page = state.question, state.entered
    writer.write(question.question, style=STRONG)
    if question.multi_select:
        writer.write("(any number of them)", style=FAINT)
    writer.write("")
    for number, option in enumerate(question.options):
        has_cursor = state.row == number
        writer.row(option.label, f"{_mark(page, question, number)} {number}  ", has_cursor=has_cursor)
        if option.description:
            start = len(writer.lines)
            writer.write(option.description, " " * (2 + _MARGIN + 3), FAINT)
            if has_cursor and len(writer.lines) - start < _MARGIN:
                writer.last = len(writer.lines) - 1
    own = "Note" if has_previews(question) else "Also, in your own words" if question.multi_select else "Your own words"
    box = _mark(page, question, OWN)
    writer.field(own, page.line, f"{box} " if box.strip() else " " * _MARGIN, has_cursor=state.row == OWN)
    writer.field("Talk to Claude instead of answering", state.chat, " " * _MARGIN, has_cursor=state.row == CHAT)
    _preview(state, writer)


def _mark(page: Page, question: Question, row: int | str) -> str:
    """Return the box before a row."""
    has_text = bool(page.line.text.strip())
    if question.multi_select:
        return "[x]" if (row in page.marked if isinstance(row, int) else has_text) else "[ ]"
    if row == OWN:
        return "   " if has_previews(question) else "(x)" if has_text and page.chosen is None else "( )"
    return "(x)" if page.chosen == row else "( )"


def _preview(state: State, writer: Writer) -> None:
    """Write the preview of the option that has the cursor, else of the one that is chosen."""
    number = state.row if isinstance(state.row, int) else state.entered.chosen
    if number is None or not (preview := state.question.options[number].preview):
        return
    writer.write("")
    writer.write(f"Preview of {number}:", style=FAINT)
    writer.write(preview, "| ", rest="| ")


def _review(state: State, writer: Writer) -> None:
    if state.is_chat:
        writer.write("You decline the form and say to Claude:")
        writer.write(state.chat.text.strip(), " " * _MARGIN, STRONG)
    else:
        writer.write("This will be sent to Claude. Choose a question to change its answer.")
    writer.write("")
    for row in rows(state):
        has_cursor = state.row == row
        if not isinstance(row, int):
            writer.row({SEND: "Send", LEAVE: "Leave without answering"}[row], "", has_cursor=has_cursor)
            continue
        question = state.form.questions[row]
        writer.row(question.question, f"{row + 1}. ", has_cursor=has_cursor)
        fault = fault_of(state, row)
        told = [f"! {fault}"] if fault else described(answer_of(state.pages[row], question) or {}, question)
        for line in told:
            writer.write(line, " " * (_MARGIN + 1), STRONG)
        writer.write("")


def described(decision: dict[str, object], question: Question) -> list[str]:
    """Return a decision for one question in lines for a person: numbers with labels, own words in quotes."""
    if decision["action"] == "chat":
        return [f'say "{decision["text"]}" instead of answering']
    indices = decision.get("selectedIndices", [decision["optionIndex"]] if "optionIndex" in decision else [])
    lines = [f"{index}  {question.options[index].label}" for index in indices]  # type: ignore[attr-defined] # a list
    if decision.get("text") is not None:
        lines.append(f'"{decision["text"]}"')
    if decision.get("notes") is not None:
        lines.append(f'with the note "{decision["notes"]}"')
    return lines


def _typed(text: str) -> str:
    """Return what a person typed, its line breaks shown in one line."""
    return text.replace("\n", " / ")
