"""AskUserQuestion's input and output as frozen attrs classes.

Hooks receive views that read like these classes (:mod:`hookrouter.views`); importing this module loads attrs. The
fields are those of Claude Code 2.1.330; newer clients may add some, which ``raw`` keeps.
"""

# Not postponed: the annotations are read when inputs are structured.
from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["Annotation", "AskUserQuestionInput", "AskUserQuestionOutput", "Option", "Question"]


@attrs.frozen(kw_only=True)
class Option:
    """One choice of a question."""

    label: str
    """What is chosen and recorded; unique within the question."""
    description: str = ""
    """What choosing it means; empty where Claude gave none."""
    preview: str | None = None
    """Text that the dialog shows beside the options while this one has the focus."""
    raw: Mapping[str, Any] = attrs.field(factory=dict, repr=False, eq=False)
    """The JSON object that this was read from, with the fields that this version does not know."""


@attrs.frozen(kw_only=True)
class Question:
    """One question of a form."""

    question: str
    """The whole text; unique within the form, and the key of its answer."""
    header: str
    """The short name that the dialog shows as a tab."""
    options: tuple[Option, ...]
    """The choices; the dialog adds its own rows for free text and for chat below them."""
    multi_select: bool = False
    """Whether any number of options may be chosen."""
    raw: Mapping[str, Any] = attrs.field(factory=dict, repr=False, eq=False)
    """The JSON object that this was read from, with the fields that this version does not know."""


@attrs.frozen(kw_only=True)
class Annotation:
    """What goes with an answer."""

    preview: str | None = None
    """The preview of the chosen option."""
    notes: str | None = None
    """The note that was typed to the choice."""
    unanswered: str | None = None
    """Why there is no answer: ``skipped``, ``replied_in_chat`` or ``dismissed``; only in outputs."""
    raw: Mapping[str, Any] = attrs.field(factory=dict, repr=False, eq=False)
    """The JSON object that this was read from, with the fields that this version does not know."""


@attrs.frozen(kw_only=True)
class AskUserQuestionInput:
    """A form of one to four questions."""

    questions: tuple[Question, ...]
    """The questions in the order of the dialog's tabs."""
    answers: Mapping[str, Any] | None = None
    """Question text -> answer, as a hook or a host set it; Claude never does."""
    annotations: Mapping[str, Annotation] | None = None
    """Question text -> what goes with the answer."""
    metadata: Mapping[str, Any] | None = None
    """Where the form comes from, under ``source``."""
    raw: Mapping[str, Any] = attrs.field(factory=dict, repr=False, eq=False)
    """The JSON object that this was read from, with the fields that this version does not know."""


@attrs.frozen(kw_only=True)
class AskUserQuestionOutput:
    """What Claude Code recorded for a form."""

    questions: tuple[Question, ...]
    """The questions as they were asked."""
    answers: Mapping[str, Any]
    """Question text -> answer as JSON: a label, labels joined with ", ", or what was typed."""
    response: str | None = None
    """A free reply to the whole form."""
    annotations: Mapping[str, Annotation] | None = None
    """Question text -> what goes with the answer, or why there is none."""
    afk_timeout_ms: float | None = None
    """Milliseconds after which the dialog closed by itself."""
    follow_up: bool | None = None
    """Whether the person asked to go on with the questions."""
    raw: Mapping[str, Any] = attrs.field(factory=dict, repr=False, eq=False)
    """The JSON object that this was read from, with the fields that this version does not know."""
