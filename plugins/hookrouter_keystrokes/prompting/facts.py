"""What the client's prompt box and its surroundings look like, and what it makes of a text: data only.

Seen on the real clients 2.0.76, 2.1.150 and 2.1.330 in tmux 3.3a. Where versions differ, all forms are listed with the
first version that was seen to draw them, and each is accepted on any client.
"""

from __future__ import annotations

from hookrouter_keystrokes.grammar import ClientText

__all__ = [
    "AGENTS_VIEW",
    "BOX_GAP",
    "CHIP",
    "DIALOG_WORDS",
    "ENDS",
    "ESCAPED",
    "INTERRUPT",
    "LONGEST",
    "MENU_ROW",
    "MORE_ROWS",
    "PASTE_CHARACTERS",
    "PASTE_LINES",
    "REFERENCES",
    "SEARCH",
    "SHELL",
    "SPINNER",
    "STASHED",
    "TITLED_RULE",
    "TRANSCRIPT_VIEW",
]

BOX_GAP = "\u00a0"
"""Between the glyph of the prompt box and its text. The transcript, the agents view and dialogs have a blank there."""

SHELL = "!"
"""The glyph of a box in shell mode. The key ``!`` in an empty box leads to it, on 2.1.150 and newer also a paste that
begins with one; on 2.0.76 such a paste stays a prompt. BSpace leaves it if it is empty."""

TITLED_RULE = r"─{3,}(?:.*─)?"
"""The upper edge of the box; it may hold the session's name at its end (2.1.330)."""
MORE_ROWS = r"─+ ↑ \d+ more ─+(?:.*─)?"
"""The upper edge if rows of the text are above what is visible (2.1.330). Older clients let the box grow beyond the
pane: what does not fit is scrolled away, with the edge."""

INTERRUPT = (ClientText("esc to interrupt", "2.0.76"), ClientText("ctrl+c to interrupt", "2.1.12", "2.1.12"))
"""While Claude works: below the box; on 2.0.76 in the spinner's row."""
SPINNER = r"[·✢✳✶✻✽∗*+] \S.*…(?: \(.*)?"
"""The row above the box while Claude works, in its first column: ``✻ Mulling… (5s · ↓ 12 tokens)``. What stays there
afterwards, ``✻ Worked for 5s``, has no ellipsis."""

STASHED = (
    ClientText("draft stashed", "2.1.330"),
    ClientText("› Stashed (auto-restores after submit)", "2.0.76", "2.1.150"),
)
"""Above the box, as long as Ctrl+S has put a draft away. The client puts it back after the next submit, whatever that
is. Ctrl+S in an empty box puts it back at once."""

TRANSCRIPT_VIEW = ClientText("Showing detailed transcript", "2.0.76")
SEARCH = (ClientText("search prompts:", "2.0.76", "2.1.150"), ClientText("⌕ Filter history…", "2.1.330"))
AGENTS_VIEW = (ClientText("space to reply", "2.1.330"), ClientText("enter to return", "2.1.330"))
"""What tells the views in which letters do other things, below their last edge."""

DIALOG_WORDS = (
    "esc to cancel",
    "esc to close",
    "esc to dismiss",
    "esc to exit",
    "esc to go back",
    "esc to reject",
    "escape to exit",
    "enter to confirm",
    "enter to continue",
    "enter to select",
    "enter to submit",
    "enter to use",
    "enter to view",
)
"""What footers of dialogs, pickers and panels say, and nothing below a prompt box does."""

MENU_ROW = r"(?:  ❯ | {0,2})(/\S+(?: \([^)]*\))?)(?:\s{2,}.*)?"
"""A row of the menu of commands: with a cursor, above the box (2.1.300 to 2.1.332), or without one, the first being the
chosen one, above it (2.1.250 and 2.1.287) or below it (2.0.76 to 2.1.200). Behind the name may be others of the same
command: ``/usage (cost)``."""

CHIP = r"\[Pasted text #\d+(?: \+\d+ lines?)?\]"
"""What the box shows instead of a paste that is too long; see below."""
REFERENCES = r"\[(?:Pasted text|Image|\.\.\.Truncated text) #\d+[^\]]*\]"
"""Texts that the client would take for such a paste, an image, or what it has cut out, of this session."""

ESCAPED = r"(?i)<[\s/]*pasted_content"
"""What 2.1.330 puts a backslash into, because its own tag around a long paste begins so."""

ENDS = ("exit", "quit", ":q", ":q!", ":wq", ":wq!")
"""Prompts that end the client."""

PASTE_CHARACTERS, PASTE_LINES = 700, 3
"""How long a paste may be: from 801 characters or four lines on it becomes a chip, whose text is wrapped in tags."""
LONGEST = 15_000
"""The longest text that was typed in such pieces and arrived whole, in characters."""
