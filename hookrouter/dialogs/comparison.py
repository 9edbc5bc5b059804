"""Compares what Claude Code recorded with what was decided: exactly, and by construction.

The value that the client would record for a decision is built from the question's own labels, and the recorded value
must equal it. Nothing is split or searched, so labels that hold ", " or are prefixes of each other cannot be confused.

How a client builds the value is told by :mod:`hookrouter.answering.recording`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.answering.decisions import Chat
from hookrouter.answering.input_limits import NOTES_ONLY
from hookrouter.answering.labels import PLAIN, QUOTED, STYLES, joined_items, recorded_label
from hookrouter.answering.recording import recorded_answer
from hookrouter.dialogs.decisions import from_json
from hookrouter.tools.ask_user_question import Question
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = [
    "Comparison",
    "QuestionResult",
    "compare",
    "recorded_value",
]


class QuestionResult(NamedTuple):
    """How one question came out."""

    question: str
    """The question's text."""
    result: str
    """``match``, ``different``, ``ambiguous`` (another choice of options is recorded alike), ``missing``,
    ``empty``, ``notes_only``, ``non_string``, ``notes_differ``, or ``no_choice_intended`` if the answer was to be a
    chat and the form was answered instead."""
    intended: str
    """The value that was to be recorded, in the newest client's style; of a chat, its text."""
    recorded: Any
    """What was recorded; None if nothing was."""
    style: str = ""
    """``quoted`` or ``plain`` if the two differ and one of them matched."""
    intended_notes: str | None = None
    """The note that was to be recorded; None for none."""
    recorded_notes: Any = None
    """The note that was recorded; None for none."""


class Comparison(NamedTuple):
    """The intended and the recorded answer of a whole form, side by side."""

    matches: bool
    """Whether exactly the intended answer was recorded."""
    keyed_by: str
    """``text``, ``index``, ``nothing`` (no key of ``answers`` is a question), or ``not an object``."""
    results: tuple[QuestionResult, ...]
    """How each question came out, in the form's order."""
    extra: tuple[str, ...]
    """Keys of ``answers`` that are no question of the form."""
    reason: str
    """Why it does not match, in one sentence; empty if it does."""

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
    meant = from_json(decision)
    answer = recorded_answer(Question.from_json(question), meant, style, verbatim=verbatim)
    return "" if answer is None and not isinstance(meant, Chat) else answer


def compare(
    questions: Sequence[Mapping[str, Any]],
    decisions: Sequence[Mapping[str, Any]],
    response: object,
    styles: Sequence[str] = STYLES,
    earlier: Collection[tuple[str, str]] = (),
) -> Comparison:
    """Compare a PostToolUse ``tool_response`` with the decisions for the form ``questions``.

    ``decisions`` are checked ones in their JSON form, one for each question, or fewer if the last is a chat.
    ``response`` may be anything at all. ``styles`` are the renderings that this client may use. ``earlier`` are the
    questions of other forms with what was recorded for each: one that stands here once more, in the same words, is no
    fault. If Claude asks several forms in one message, 2.1.150 records those before with the next.
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
    strange = [key for key in extra if (key, values[key]) not in earlier]
    if strange:
        faults.append(f"answers to questions that were not asked: {', '.join(printable(key) for key in strange)}")
    if keyed_by == "not an object":
        faults.append("the recorded answers are not an object")
    return Comparison(not faults, keyed_by, results, extra, "; ".join(faults))


_MISSING = object()

_FAULTS = {
    "different": "the recorded answer is not the intended one",
    "ambiguous": "the recorded answer may mean another choice of options, so it does not tell which was chosen",
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


def _is_ambiguous(
    question: Mapping[str, Any], decision: Mapping[str, Any], recorded: str, styles: Sequence[str]
) -> bool:
    """Whether the client may have recorded this value for another choice of options as well.

    Labels may lose what told them apart, and without quotes "A" and "B" together read like the one label "A, B".
    """
    if decision["action"] == "type":
        return False
    return any(
        _count(question, decision, recorded, style, verbatim=verbatim)
        > (recorded_value(question, decision, style, verbatim=verbatim) == recorded)
        for style in styles
        for verbatim in (False, True)
    )


def _count(
    question: Mapping[str, Any], decision: Mapping[str, Any], recorded: str, style: str, *, verbatim: bool
) -> int:
    """Return how many choices of options, each with the text of this decision, are recorded as this value."""
    labels = [option["label"] if verbatim else recorded_label(option["label"]) for option in question["options"]]
    if decision["action"] == "select":
        return labels.count(recorded)
    if decision.get("text") is not None:
        end = joined_items([decision["text"]], style)
        if recorded == end:
            return 1
        if not recorded.endswith(f", {end}"):
            return 0
        recorded = recorded[: -len(end) - 2]
    # In how many ways the value can be read from its beginning to each place; options stand in their order.
    ways = {_NOTHING: 1}
    for label in labels:
        item = joined_items([label], style)
        for place, count in list(ways.items()):
            read = item if place == _NOTHING else f", {item}"
            start = max(place, 0)
            if recorded.startswith(read, start):
                end_of_item = start + len(read)
                ways[end_of_item] = ways.get(end_of_item, 0) + count
    return ways.get(len(recorded), 0)


_NOTHING = -1
"""The place before the first item."""


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
    if style is not None and _is_ambiguous(question, decision, recorded, styles):
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
