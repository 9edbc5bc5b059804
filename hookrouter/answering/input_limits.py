"""Which texts Claude Code's dialog and prompt box cannot take, and why: the facts, whatever does the typing.

Seen on Claude Code 2.0.76 to 2.1.330. A text that passes is recorded verbatim.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from hookrouter.answering.labels import recorded_label

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAX_TEXT", "NOTES_ONLY", "PLACEHOLDERS", "chat_faults", "text_faults"]

MAX_TEXT = 5000
"""Characters of a free text: what was seen to be recorded exactly."""

NOTES_ONLY = "(notes only)"
"""What the client records for a note without a choice."""

PLACEHOLDERS = (
    "Type something.",
    "Type something",
    "press n to add notes",
    "Add notes on this design…",
)
"""What the dialog shows in its empty fields, so that the same text cannot be read back as typed."""

_PROMPT_PREFIXES = {"/": "a slash command", "!": "a shell command", "#": "a memory note"}


def text_faults(text: str, labels: Sequence[str] = ()) -> list[str]:
    """Return why the dialog cannot take ``text``; each fault is the rest of a sentence that begins with its name.

    ``labels`` are those of the question, if it is a multi-select: 2.1.330 records a typed text that equals one as it
    writes that label. In a single-select such a text is recorded verbatim.
    """
    faults = _faults(text)
    label = next((label for label in labels if label.strip() == text.strip()), None)
    if label is not None and recorded_label(label) != text:
        faults.append(
            f"is the label of option {list(labels).index(label) + 1}, which Claude Code records as "
            f"{recorded_label(label)!r}; select that option instead"
        )
    if text.strip() == NOTES_ONLY:
        faults.append(f"is {NOTES_ONLY!r}, which Claude Code reads as no answer")
    if text.strip() in PLACEHOLDERS:
        faults.append(f"is {text.strip()!r}, which the dialog shows in an empty field, so that it cannot be read back")
    return faults


def chat_faults(text: str) -> list[str]:
    """Return why ``text`` cannot be sent as a prompt, in the form of :func:`text_faults`."""
    faults = _faults(text)
    command = _PROMPT_PREFIXES.get(text.lstrip()[:1])
    if command is not None:
        faults.append(
            f"becomes a prompt, and one that starts with {text.lstrip()[0]!r} is {command}; begin with a word"
        )
    return faults


def _faults(text: str) -> list[str]:
    faults = []
    if not text.strip():
        faults.append("is empty: Claude Code would decline the form or record nothing")
    if len(text) > MAX_TEXT:
        faults.append(f"has {len(text)} characters; at most {MAX_TEXT} are allowed")
    refused = sorted({character for character in text if _is_refused(character)})
    if refused:
        names = ", ".join(f"U+{ord(character):04X}" for character in refused[:5])
        faults.append(f"holds characters that a terminal does not take as text ({names}); allowed are newline and tab")
    if text.rstrip(" ").endswith("\\"):
        faults.append("ends in a backslash, after which Enter makes a new line instead of submitting")
    return faults


def _is_refused(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t"
