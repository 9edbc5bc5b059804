"""What an agent decided for each question of a form: the four kinds of decision, as frozen attrs classes.

Indices count from 0 in the payload's options. Reading them from JSON, and checking them against a question, is the
business of the plugin that answers; these are the values that channels and planners receive.
"""

import attrs

__all__ = ["Chat", "Decision", "MultiSelect", "Select", "Type"]


@attrs.frozen
class Select:
    """Choose one option of a single-select question."""

    option_index: int
    notes: str | None = None
    """A note to go with the choice; only where the dialog takes notes (options with previews)."""


@attrs.frozen
class Type:
    """Answer in free text instead of an option."""

    text: str


@attrs.frozen
class MultiSelect:
    """Choose any number of options of a multi-select question, and optionally add typed text."""

    selected_indices: tuple[int, ...]
    text: str | None = None


@attrs.frozen
class Chat:
    """Decline the whole form and say ``text`` as the next prompt. Always the last decision of a form."""

    text: str


Decision = Select | Type | MultiSelect | Chat
