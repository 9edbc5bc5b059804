"""What the dialogs of Claude Code look like: every glyph and text that the parser relies on.

Data only, so that a new client version is a change of this file. Seen on real clients 2.0.76 to 2.1.330 in tmux 3.3a;
If versions differ, all forms are listed with the first version that was seen to draw them, and the parser accepts
each of them on any client: what is on screen is matched against the saved question, not against a version.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ANSWERED",
    "ARROW",
    "BANNER",
    "BAR_END",
    "BAR_START",
    "BULLET",
    "CANCEL",
    "CHAT",
    "CHOSEN",
    "CURSOR",
    "DECLINED",
    "FOOTER_EDITOR",
    "FOOTER_END",
    "FOOTER_INSERT",
    "FOOTER_START",
    "MORE_ABOVE",
    "NEXT",
    "NOTES",
    "NOTES_EMPTY",
    "NOTES_ESCAPE_RETURNS",
    "NOTES_OPEN",
    "PASTED_TEXT",
    "PLACEHOLDERS",
    "PROMPTS",
    "PROMPT_HINTS",
    "QUEUED",
    "QUOTE_BAR",
    "RESULT",
    "REVIEW",
    "REVIEW_NOTICES",
    "ROW_MARKS",
    "RULE",
    "SKIP",
    "SUBMIT",
    "SUBMIT_ANSWERS",
    "TAB_DONE",
    "TAB_OPEN",
    "TICKED",
    "UNTICKED",
    "UPPER_RULE",
    "ClientText",
]


class ClientText(NamedTuple):
    """A text of the client."""

    text: str
    since: str
    """The oldest client version on which it was seen."""
    until: str = ""
    """The last one; empty if today's client still draws it."""


BANNER = "Claude Code"
"""The client's name at the top of a new session, before its version; on 2.0.76 to 2.1.70 in the upper edge of a box."""

RULE = "─"
"""A line of nothing else, across the whole pane, is above the dialog and between the rows and the chat row."""

UPPER_RULE = "▔"
"""The upper edge of pickers and their like begins and ends with these (2.1.250 on); 2.1.300 draws a text into it."""

CURSOR = "❯"
ROW_MARKS = f"{CURSOR} ↑↓"
"""What stands in a row's first column; an arrow says that more rows are above or below (small panes)."""

TAB_OPEN, TAB_DONE = "☐", "☒"
BAR_START, BAR_END = "←", "✔ Submit →"
"""The tab bar: ``←  ☐ Header  ☒ Header  ✔ Submit  →``; a lone single-select has only ``☐ Header``."""

QUOTE_BAR = "│"
"""Before each line of a question that needs more than one."""

UNTICKED, TICKED = "[ ]", "[✔]"
CHOSEN = "✔"
"""After the label of the option that was chosen before, when its tab is shown again.

Also after ``SUBMIT_ANSWERS`` if 2.1.150 opens a dialog on the review screen of the one before it in the same message.
"""

PLACEHOLDERS = (ClientText("Type something.", "2.0.76"), ClientText("Type something", "2.0.76"))
"""The empty type row; without the full stop in a multi-select."""

SUBMIT, NEXT = "Submit", "Next"
"""The row that leaves a multi-select: ``Next`` when another tab follows."""

CHAT = ClientText("Chat about this", "2.1.8")
SKIP = ClientText("Skip interview and plan immediately", "2.1.8", "2.1.136")
"""An extra last row in plan mode."""

FOOTER_START, FOOTER_END = "Enter to select ·", "Esc to cancel"
FOOTER_EDITOR = "ctrl+g to edit in"
"""Also in the footer while a text field has the focus (2.1.12 on; it stays there on the Submit and chat rows)."""
FOOTER_INSERT = ClientText("-- INSERT -- ·", "2.1.330")
"""Before the footer in vim mode while a text field takes text; it then ends in the editor's name instead of
``FOOTER_END``. In vim's normal mode the footer is that of other modes. Entering a field begins in insert mode. In both
modes a paste, C-e, C-u, Enter and the arrows do what they do without vim; BSpace only moves in normal mode."""
QUEUED = (ClientText("  ❯ ", "2.1.30"), ClientText("  > ", "2.0.76"))
"""Before a prompt that waits for the end of Claude's turn; below an open dialog's footer (2.1.250)."""
MORE_ABOVE = r"\s*↑ (\d+) more lines?"
"""Between the rows and the footer, when the top of the dialog does not fit the pane."""

NOTES = "Notes:"
NOTES_EMPTY = ClientText("press n to add notes", "2.1.50")
NOTES_OPEN = ClientText("Add notes on this design…", "2.1.50")
"""The notes field of the preview layout, without and with the focus, when it is empty."""
NOTES_ESCAPE_RETURNS = (2, 1, 144)
"""Before this version Escape in the notes field declines the whole form instead of returning to the options."""

REVIEW = "Review your answers"
REVIEW_NOTICES = (
    ClientText("Ready to submit your answers?", "2.0.76", "2.1.326"),
    ClientText("⚠ You have not answered all questions", "2.0.76", "2.1.326"),
    ClientText("⚠ Some questions are unanswered", "2.1.327"),
)
BULLET, ARROW = "●", "→"
"""On the review screen a question is behind the bullet, its answer behind the arrow."""
SUBMIT_ANSWERS, CANCEL = "1. Submit answers", "2. Cancel"

ANSWERED = (
    ClientText("User answered Claude's questions:", "2.0.76", "2.1.326"),
    ClientText("Answered Claude's questions:", "2.1.327"),
)
DECLINED = (
    ClientText("User declined to answer questions", "2.0.76", "2.1.326"),
    ClientText("Tool use rejected", "2.1.12", "2.1.100"),
    ClientText("Declined to answer Claude's questions:", "2.1.327"),
)
"""What the transcript says after the dialog has closed; a chat counts as declined."""
RESULT = "  ⎿"
"""Before a tool's result in the transcript."""

PROMPTS = ("❯", ">")
"""The prompt box's glyph; ``>`` was seen on 2.0.76."""
PROMPT_HINTS = (
    ClientText("Press up to edit queued messages", "2.0.76"),
    ClientText("Resend your message to try again", "2.1.330"),
    ClientText("Once fixed, resend your message", "2.1.330"),
    ClientText('Try "', "2.0.76"),
)
"""How the client's own hints in an empty prompt box begin. They are drawn faint, with their first letter as the
cursor."""
PASTED_TEXT = r"\[Pasted text #\d+(?: \+(\d+) lines?)?\]"
"""What the prompt box (not the dialog) shows instead of a long pasted text."""
