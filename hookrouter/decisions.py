"""What an agent decided for each question of a form: the four kinds of decision, as immutable values.

Indices count from 0 in the payload's options. Reading them from JSON, and checking them against a question, is the
business of the plugin that answers; these are the values that channels and planners receive.
"""

from __future__ import annotations

from hookrouter.values import Value

__all__ = ["Chat", "Decision", "MultiSelect", "Select", "Type"]


class Select(Value):
    """Choose one option of a single-select question."""

    __slots__ = __match_args__ = ("option_index", "notes")

    option_index: int
    notes: str | None
    """A note to go with the choice; only where the dialog takes notes (options with previews)."""

    def __init__(self, option_index: int, notes: str | None = None) -> None:
        """Take the fields as they are."""
        self._set(option_index=option_index, notes=notes)


class Type(Value):
    """Answer in free text instead of an option."""

    __slots__ = __match_args__ = ("text",)

    text: str

    def __init__(self, text: str) -> None:
        """Take the text as it is."""
        self._set(text=text)


class MultiSelect(Value):
    """Choose any number of options of a multi-select question, and optionally add typed text."""

    __slots__ = __match_args__ = ("selected_indices", "text")

    selected_indices: tuple[int, ...]
    text: str | None

    def __init__(self, selected_indices: tuple[int, ...], text: str | None = None) -> None:
        """Take the fields as they are."""
        self._set(selected_indices=selected_indices, text=text)


class Chat(Value):
    """Decline the whole form and say ``text`` as the next prompt. Always the last decision of a form."""

    __slots__ = __match_args__ = ("text",)

    text: str

    def __init__(self, text: str) -> None:
        """Take the text as it is."""
        self._set(text=text)


Decision = Select | Type | MultiSelect | Chat
