"""What Claude Code records as the answer to a question for a decision, by client version.

One place for it: the comparison of what was recorded with what was meant, the reply channel, which must hand the
client the very answer that it would record itself, and planners, which find it on the review screen.

Measured on Claude Code 2.0.76 to 2.1.330: one choice is recorded as the client writes labels
(:func:`hookrouter.answering.labels.recorded_label`), typed text verbatim; several are the labels in the order of the
options, then the typed text, joined by ", ". An item that holds ", " or a double quote is written as a JSON string
before joining by 2.1.238 and later (:data:`hookrouter.answering.labels.QUOTED`), and left as it is by 2.1.234 and
earlier (:data:`hookrouter.answering.labels.PLAIN`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.decisions import Chat, MultiSelect, Select
from hookrouter.answering.labels import PLAIN, QUOTED, STYLES, joined_items, recorded_label

if TYPE_CHECKING:
    from hookrouter.answering.decisions import Decision
    from hookrouter.tools import Question

__all__ = [
    "HANDED_IN",
    "PLAIN_UNTIL",
    "QUOTED_SINCE",
    "chosen_options",
    "recorded_answer",
    "recording_styles",
    "shown_answers",
    "typed_text",
]

PLAIN_UNTIL = (2, 1, 234)
"""The last client version that was seen to join items as they are."""
QUOTED_SINCE = (2, 1, 238)
"""The first one that was seen to quote them."""

HANDED_IN = (QUOTED,)
"""The styles of an answer that is handed in, on every client version: the client records it as it came."""


def recording_styles(version: tuple[int, ...] | None) -> tuple[str, ...]:
    """Return the styles that a client of this version may use, the newest first; both if the version is not known."""
    if version is not None and version >= QUOTED_SINCE:
        return (QUOTED,)
    if version is not None and version <= PLAIN_UNTIL:
        return (PLAIN,)
    return STYLES


def chosen_options(decision: Decision) -> tuple[int, ...]:
    """Return the indices of the options that a decision chooses, each once, in the order in which they are recorded."""
    if isinstance(decision, Select):
        return (decision.option_index,)
    return tuple(sorted(set(decision.selected_indices))) if isinstance(decision, MultiSelect) else ()


def typed_text(decision: Decision) -> str | None:
    """Return the text that is typed into the dialog for a decision, or None; a chat is not typed there, nor a note."""
    return None if isinstance(decision, (Select, Chat)) else decision.text


def recorded_answer(
    question: Question, decision: Decision, style: str = QUOTED, *, verbatim: bool = False
) -> str | None:
    """Return what a client of this style records for a decision that fits the question.

    None if it records no answer: for a chat, which declines the form, and for a multi-select without any choice.
    ``verbatim`` takes the labels as they were asked, for clients that do not rewrite them. Raises IndexError for an
    option that the question does not have.
    """
    labels = [question.options[index].label for index in chosen_options(decision)]
    items = labels if verbatim else [recorded_label(label) for label in labels]
    text = typed_text(decision)
    if text is not None:
        items.append(text)
    if isinstance(decision, MultiSelect):
        return joined_items(items, style) if items else None
    return items[0] if items else None


def shown_answers(question: Question, decision: Decision) -> set[str]:
    """Return what a review of the form may show for a decision, over all client versions; nothing if it has no answer.

    A chat shows nothing: it is no answer.
    """
    return {answer for style in STYLES if (answer := recorded_answer(question, decision, style)) is not None}
