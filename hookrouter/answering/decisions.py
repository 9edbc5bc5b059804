"""What an agent decided for each question of a form: the four kinds of decision, as immutable values.

Indices count from 0 in the payload's options. Reading them from JSON, and checking them against a question, is the
business of the plugin that answers; these are the values that channels and planners receive.
"""

from __future__ import annotations

from hookrouter.util.value import Value

__all__ = ["Chat", "Decision", "FreeText", "MultiSelect", "Select"]


class Select(Value):
    """Choose one option of a single-select question."""

    option_index: int
    notes: str | None = None
    """A note to go with the choice; only if the dialog takes notes (options with previews)."""


class FreeText(Value):
    """Answer in free text instead of an option."""

    text: str


class MultiSelect(Value):
    """Choose any number of options of a multi-select question, and optionally add typed text."""

    selected_indices: tuple[int, ...]
    text: str | None = None


class Chat(Value):
    """Decline the whole form and say ``text`` as the next prompt. Always the last decision of a form."""

    text: str


Decision = Select | FreeText | MultiSelect | Chat
