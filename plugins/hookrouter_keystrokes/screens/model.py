"""What a screen was found to show: the typed states of the AskUserQuestion dialog."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "BLANKS",
    "UNSURE",
    "Closed",
    "DialogState",
    "LongTextPage",
    "Notes",
    "OtherDialog",
    "Page",
    "Prompt",
    "Review",
    "Row",
    "RowKind",
    "Unknown",
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
    """What is typed in the type row; empty while it shows its placeholder, one blank if only blanks are typed."""


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
    """The index in ``rows`` of the row with the cursor; None if that row is not visible."""
    preview: bool = False
    """Whether this is the layout with previews, which has no type row but a notes field."""
    notes: Notes | None = None
    tabs: tuple[bool, ...] | None = None
    """For each question whether its tab is marked as answered; None if the tab bar is not readable."""
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
        """Return the row, or None if it is not visible."""
        return next((row for row in self.rows if row[:2] == (kind, option)), None)


class LongTextPage(NamedTuple):
    """A question page whose options are all scrolled off the top by a long typed text."""

    text: str
    """The end of what is typed."""
    submit: bool
    """Whether a Submit or Next row follows, that is whether it is a multi-select."""
    cursor: str | None
    """The kind of the row with the cursor, if that is visible."""


class Review(NamedTuple):
    """The review screen before the form is submitted."""

    answers: tuple[str | None, ...]
    """What the screen shows as the answer of each question of the form; None if the question is not listed."""
    hidden: tuple[bool, ...]
    """For each question whether its place in the list is scrolled off the top."""
    on_submit: bool
    """Whether the cursor is on ``Submit answers``; else it is on ``Cancel``."""
    certain: bool = True
    """Whether a question of the form is to be seen; another form may well have the same headers or answers."""
    tail: str | None = None
    """The end of the last answer, if nothing else of the list is visible, so that it may be any form's."""
    untouched: bool = False
    """Whether the whole list is visible and empty, and the tab bar has this form's headers, none marked as answered."""
    kept: bool = False
    """Whether ``Submit answers`` is marked as chosen: the dialog before was submitted on this very page, which the
    client has left standing (2.1.150). Enter submits this form, whatever is answered."""


class Closed:
    """How the transcript says that a form ended: the values of ``Prompt.closed``."""

    ANSWERED = "answered"
    DECLINED = "declined"


class Prompt(NamedTuple):
    """No dialog: the prompt box is on screen."""

    text: str
    """What is in the box; empty if it holds nothing or only the client's grey example."""
    closed: str | None
    """How this form ended, one of the values of Closed, if that is the last thing of its kind in the transcript."""


class OtherDialog(NamedTuple):
    """A dialog of the client that is no question: a list of rows with a cursor."""

    kind: str
    """One of the values of dialog_forms.DialogKind."""
    rows: tuple[str, ...] = ()
    """What the rows say, without their numbers."""
    cursor: int = 0
    """The index of the row with the cursor."""
    body: tuple[str, ...] = ()
    """The lines between the dialog's upper edge and what it asks; none if the edge is not visible."""
    footer: str = ""
    """All that is below the rows, without white space (:func:`hookrouter_keystrokes.screens.text.key`)."""
    clipped: bool = False
    """Whether a part of it is certainly not visible."""
    is_list: bool = True
    """Whether Enter chooses the row with the cursor."""

    @property
    def why(self) -> str:
        """Say why nothing can be answered here."""
        return f"the client's {self.kind} dialog is on screen, not the question"


class Unknown(NamedTuple):
    """Nothing that can be told for certain to be this form's dialog, the prompt, or another dialog by its name."""

    why: str
    dialog: bool = False
    """Whether it looks like some other dialog of the client."""
    fits: bool = False
    """Whether as much of it as can be read fits the form."""


DialogState = Page | LongTextPage | Review | Prompt | OtherDialog | Unknown
BLANKS = " "
"""What a field holds that shows neither its placeholder nor any text: blanks that nobody can see."""
