"""Compares what Claude Code recorded with what was decided: exactly, and by construction.

The value that the client would record for a decision is built from the question's own labels, and the recorded value
must equal it. Nothing is split or searched, so labels that hold ", " or are prefixes of each other cannot be confused.

How a client builds the value (measured on Claude Code 2.0.76 to 2.1.330): one choice is the label as the client writes
labels (:func:`hookrouter.labels.recorded_label`), or the typed text, verbatim; several are the labels in the order of
the options, then the typed text, joined by ", ". From 2.1.238 on an item that holds ", " or a double quote is written
as a JSON string before joining; up to 2.1.234 it is left as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.labels import PLAIN, QUOTED, STYLES, joined_items, recorded_label
from hookrouter.names import printable
from hookrouter.typing_limits import NOTES_ONLY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Comparison",
    "QuestionResult",
    "compare",
    "recorded_value",
]


class QuestionResult(NamedTuple):
    """How one question came out."""

    question: str
    result: str
    """``match``, ``different``, ``ambiguous`` (the label is recorded like that of another option), ``missing``,
    ``empty``, ``notes_only``, ``non_string``, ``notes_differ``, or ``no_choice_intended`` where the answer was to be a
    chat and the form was answered instead."""
    intended: str
    """The value that was to be recorded, in the newest client's style; of a chat, its text."""
    recorded: Any
    """What was recorded; None where nothing was."""
    style: str = ""
    """``quoted`` or ``plain`` where the two differ and one of them matched."""
    intended_notes: str | None = None
    recorded_notes: Any = None


class Comparison(NamedTuple):
    """The intended and the recorded answer of a whole form, side by side."""

    matches: bool
    keyed_by: str
    """``text``, ``index``, ``nothing`` (no key of ``answers`` is a question), or ``not an object``."""
    results: tuple[QuestionResult, ...]
    extra: tuple[str, ...]
    """Keys of ``answers`` that are no question of the form."""
    reason: str
    """Why it does not match, in one sentence; empty where it does."""

    @property
    def plain_only(self) -> bool:
        """Whether a question matches only in the style of clients before 2.1.238."""
        return any(result.style == PLAIN for result in self.results)

    def document(self) -> dict[str, Any]:
        """Return this as JSON, for the journal."""
        return {
            "matches": self.matches,
            "keyed_by": self.keyed_by,
            "extra": list(self.extra),
            "questions": [
                {
                    key: value
                    for key, value in result._asdict().items()
                    if key in ("question", "result", "intended", "recorded") or value
                }
                for result in self.results
            ],
        }


def recorded_value(
    question: Mapping[str, Any], decision: Mapping[str, Any], style: str = QUOTED, *, verbatim: bool = False
) -> str | None:
    """Return what a client of this style records for a checked decision; None for a chat, which records nothing.

    ``verbatim`` takes labels as they were asked, for clients that do not rewrite them.
    """
    action = decision["action"]
    labels = [option["label"] if verbatim else recorded_label(option["label"]) for option in question["options"]]
    if action == "select":
        label: str = labels[decision["optionIndex"]]
        return label
    if action == "type":
        text: str = decision["text"]
        return text
    if action == "multi-select":
        items = [labels[index] for index in sorted(decision["selectedIndices"])]
        if decision.get("text") is not None:
            items.append(decision["text"])
        return joined_items(items, style)
    return None


def compare(
    questions: Sequence[Mapping[str, Any]],
    decisions: Sequence[Mapping[str, Any]],
    response: object,
    styles: Sequence[str] = STYLES,
) -> Comparison:
    """Compare a PostToolUse ``tool_response`` with the decisions for the form ``questions``.

    ``decisions`` are checked ones in their JSON form, one for each question, or fewer where the last is a chat.
    ``response`` may be anything at all. ``styles`` are the renderings that this client may use.
    """
    fields = response if isinstance(response, dict) else {}
    answers, annotations = fields.get("answers"), fields.get("annotations")
    keys, keyed_by = _keys(questions, answers)
    values: dict[str, Any] = answers if isinstance(answers, dict) else {}
    notes: dict[str, Any] = annotations if isinstance(annotations, dict) else {}
    results = tuple(
        _compare_one(
            question,
            decisions[index] if index < len(decisions) else decisions[-1],
            values.get(key, _MISSING),
            _notes(notes, question["question"], key),
            styles,
        )
        for index, (question, key) in enumerate(zip(questions, keys, strict=True))
    )
    extra = tuple(key for key in values if key not in keys)
    faults = [
        f"question {number}: {_FAULTS[result.result]}"
        for number, result in enumerate(results, 1)
        if result.result != "match"
    ]
    if extra:
        faults.append(f"answers to questions that were not asked: {', '.join(printable(key) for key in extra)}")
    if keyed_by == "not an object":
        faults.append("the recorded answers are not an object")
    return Comparison(not faults, keyed_by, results, extra, "; ".join(faults))


_MISSING = object()

_FAULTS = {
    "different": "the recorded answer is not the intended one",
    "ambiguous": "the recorded label is that of several options, so it does not tell which was chosen",
    "missing": "no answer was recorded",
    "empty": "an empty answer was recorded",
    "notes_only": "a note was recorded without a choice",
    "non_string": "the recorded answer is not a string",
    "notes_differ": "the choice is right, the recorded note is not the intended one",
    "no_choice_intended": "an answer was recorded although the form was to be declined with a chat message",
}


def _keys(questions: Sequence[Mapping[str, Any]], answers: object) -> tuple[list[str], str]:
    """Return the key of each question in ``answers``, and how they are keyed."""
    texts = [question["question"] for question in questions]
    if not isinstance(answers, dict):
        return texts, "not an object"
    indices = [str(index) for index in range(len(questions))]
    by_text = sum(text in answers for text in texts)
    by_index = sum(index in answers for index in indices)
    if not by_text and not by_index:
        return texts, "nothing"
    return (indices, "index") if by_index > by_text else (texts, "text")


def _notes(annotations: Mapping[str, Any], text: str, key: str) -> object:
    annotation = annotations.get(text, annotations.get(key))
    return annotation.get("notes") if isinstance(annotation, dict) else None


def _renderings(question: Mapping[str, Any], decision: Mapping[str, Any], style: str) -> set[str | None]:
    return {recorded_value(question, decision, style, verbatim=verbatim) for verbatim in (False, True)}


def _is_ambiguous(question: Mapping[str, Any], decision: Mapping[str, Any]) -> bool:
    """Say whether another set of options would be recorded alike, because labels lose what told them apart."""
    chosen = decision.get("selectedIndices", [decision["optionIndex"]] if "optionIndex" in decision else [])
    labels = [recorded_label(option["label"]) for option in question["options"]]
    return any(labels.count(labels[index]) > 1 for index in chosen)


def _compare_one(
    question: Mapping[str, Any], decision: Mapping[str, Any], recorded: object, notes: object, styles: Sequence[str]
) -> QuestionResult:
    intended = recorded_value(question, decision)
    wanted_notes = decision.get("notes")
    shown = QuestionResult(
        question=question["question"],
        result="match",
        intended=decision["text"] if intended is None else intended,
        recorded=None if recorded is _MISSING else recorded,
        intended_notes=wanted_notes,
        recorded_notes=notes,
    )
    if intended is None:
        result = "missing" if recorded is _MISSING else "no_choice_intended"
        return shown._replace(result=result)
    if recorded is _MISSING:
        return shown._replace(result="missing")
    if not isinstance(recorded, str):
        return shown._replace(result="non_string")
    style = next((style for style in styles if recorded in _renderings(question, decision, style)), None)
    if style is not None and _is_ambiguous(question, decision):
        return shown._replace(result="ambiguous")
    if style is None:
        faults = {"": "empty", NOTES_ONLY: "notes_only"}
        return shown._replace(result=faults.get(recorded, "different"))
    if recorded_value(question, decision, PLAIN) != intended:
        shown = shown._replace(style=style)
    # Clients from 2.1.41 to 2.1.119 record typed text as a note as well.
    expected = (wanted_notes, decision["text"]) if decision.get("text") is not None else (wanted_notes,)
    if (notes or None) not in expected:
        return shown._replace(result="notes_differ")
    return shown
