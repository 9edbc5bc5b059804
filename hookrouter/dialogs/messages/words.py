"""What a person types in place of JSON: numbers, labels or their beginnings, and words of their own.

``hookrouter answer work 2``, ``0,2 "and retries"``, ``snake``; for a form of several questions one group of words for
each, with a ``/`` between them. Options count from 0, as ``hookrouter questions`` shows them.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.answering.labels import recorded_label
from hookrouter.dialogs.decisions import DecisionError, shown_where
from hookrouter.dialogs.messages.formatting import quote
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.dialogs import documents
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter.tools.ask_user_question import Question

__all__ = [
    "BETWEEN",
    "Choice",
    "Reading",
    "example_numbers",
    "has_previews",
    "is_json",
    "is_own",
    "line_to_type",
    "read_group",
    "read_words",
]

BETWEEN = "/"
"""The word between the answers to two questions of a form."""

_NUMBERS = re.compile(r"[0-9]{1,4}(?:\s*,\s*[0-9]{1,4})*,?")

Decision = dict[str, Any]


class Choice(NamedTuple):
    """What a group of words means for its question."""

    decision: Decision
    """The decision in its JSON form; it may still be refused, as a text that the dialog cannot take."""
    own: str | None = None
    """The words, if they name no option and so are the person's own text in place of one."""


class Reading(NamedTuple):
    """What the words of a command line mean for a form."""

    decisions: list[Decision]
    """One decision for each question, in their JSON form."""
    own: tuple[str, ...] = ()
    """The texts that name no option: what may be a typing error in a label."""


def is_json(word: str, *, or_nothing: bool = True) -> bool:
    """Whether a word of the command line is an agent's JSON, or the ``-`` that stands for it.

    ``or_nothing`` says what an empty word is.
    """
    start = word.lstrip()[:1]
    return word == "-" or (start in "[{" if start else or_nothing)


def has_previews(question: Question) -> bool:
    """Whether the dialog takes notes and no free text for this question."""
    return not question.multi_select and any(option.preview for option in question.options)


def line_to_type(
    question: documents.Dialog,
    *,
    is_alone: bool,
    start: str = "hookrouter",
    groups: Sequence[Sequence[str]] | None = None,
) -> str:
    """Return the command by which a person answers a waiting question.

    ``is_alone`` says that its session has no other question open, so that the session's name is enough. ``start`` is
    how the program is started, as a shell reads it. ``groups`` are the words for each of the form's questions, or none
    for the command that asks; by default they are NUMBER, in place of an option's number.
    """
    name = question.session
    if not is_alone:
        words = ["--tool-use-id", question.tool_use_id]
    elif is_json(name) or name.startswith("-"):
        words = [f"--session={name}"]
    else:
        words = [name]
    if groups is None:
        groups = [["NUMBER,NUMBER" if form.get("multiSelect") else "NUMBER"] for form in question.questions]
    shown = f" {BETWEEN} ".join(" ".join(map(quote, group)) for group in groups)
    return " ".join(filter(None, [start, "answer", *map(quote, words), shown]))


def example_numbers(question: Question) -> list[str]:
    """Return words that choose by number, such as ``2`` or ``0,2``; none if each number is another option's label."""
    last = len(question.options) - 1
    several = sorted({0, last})
    for indices in [several] if question.multi_select else [[at] for at in range(last, -1, -1)]:
        word = ",".join(map(str, indices))
        with contextlib.suppress(DecisionError):
            if _indices_of(read_group([word], question).decision) == indices:
                return [word]
    return []


def is_own(words: Sequence[str], question: Question) -> bool:
    """Whether these words would be the person's own, in place of an option."""
    try:
        return read_group(words, question).own is not None
    except DecisionError:
        return False


def _indices_of(decision: Decision) -> list[int]:
    return list(decision.get("selectedIndices", [decision.get("optionIndex")]))


def read_words(words: Sequence[str], form: AskUserQuestionInput, *, as_text: bool = False) -> Reading:
    """Return what the words of a command line mean for a form. Raises DecisionError with every fault.

    ``as_text`` takes them as the person's own text: in a form of several questions only those that name no option.
    """
    questions = form.questions
    if as_text and len(questions) == 1:
        return Reading([_own(questions[0], " ".join(words))])
    groups = _groups(words, questions)
    faults, decisions, own = [], [], []
    for index, (group, question) in enumerate(zip(groups, questions, strict=True)):
        try:
            choice = read_group(group, question)
        except DecisionError as error:
            faults += [f"{shown_where(index, question)}: {fault}" for fault in error.faults]
            continue
        decisions.append(choice.decision)
        own += [choice.own] if choice.own is not None and not as_text else []
    if faults:
        raise DecisionError(faults)
    return Reading(decisions, tuple(own))


def _groups(words: Sequence[str], questions: Sequence[Question]) -> list[list[str]]:
    """Return the words for each question. Raises DecisionError."""
    count = len(questions)
    if count == 1:
        return [list(words)]
    if BETWEEN not in words and len(words) == count:
        return [[word] for word in words]
    groups: list[list[str]] = [[]]
    for word in words:
        if word == BETWEEN:
            groups.append([])
        else:
            groups[-1].append(word)
    if len(groups) != count or not all(groups):
        example = f" {BETWEEN} ".join("0,1" if question.multi_select else "0" for question in questions)
        what = f"this form has {count} questions: give an answer for each, with {BETWEEN} between them"
        raise DecisionError([f"{what}, such as {example}"])
    return groups


def read_group(words: Sequence[str], question: Question, *, is_shown: bool = False) -> Choice:
    """Return what the words for one question mean. Raises DecisionError with the one fault.

    ``is_shown`` says that the options' numbers are on the screen, so that a number is never meant as a label.
    """
    if question.multi_select and (listed := _list_of_options(words, question, is_shown=is_shown)):
        return Choice(_chosen(question, listed, ""))
    numbers: list[int] = []
    rest = list(words)
    while rest and _NUMBERS.fullmatch(rest[0].strip()):
        numbers += _indices(rest.pop(0).strip(), question, is_shown=is_shown)
        if not question.multi_select:
            break
    text = " ".join(rest)
    if numbers:
        return Choice(_chosen(question, numbers, text))
    index = _named(text, question)
    if index is not None:
        return Choice(_chosen(question, [index], ""))
    if rest and (question.multi_select or (has_previews(question) and len(rest) > 1)):
        first = _all_named(rest[0], question)
        if first:
            return Choice(_chosen(question, first, " ".join(rest[1:])))
    if has_previews(question):
        what = f"{_shown(text)} is not an option, and this question takes no words of your own"
        raise DecisionError([f"{what}; choose {_options(question)}, with a note after it if you like"])
    return Choice(_own(question, text), text)


def _own(question: Question, text: str) -> Decision:
    if question.multi_select:
        return {"action": "multi-select", "selectedIndices": [], "text": text}
    return {"action": "type", "text": text}


def _chosen(question: Question, indices: Sequence[int], text: str) -> Decision:
    """Return the choice of these options, with what was typed behind it."""
    if question.multi_select:
        decision: Decision = {"action": "multi-select", "selectedIndices": sorted(set(indices))}
        return {**decision, "text": text} if text else decision
    if len(indices) > 1:
        raise DecisionError([f"only one option can be chosen: {_options(question)}"])
    decision = {"action": "select", "optionIndex": indices[0]}
    if not text:
        return decision
    if not has_previews(question):
        what = f"an option takes no words of your own here, and {_shown(text)} comes after {indices[0]}"
        raise DecisionError([f"{what}; give either the number, or your own words in quotes"])
    return {**decision, "notes": text}


def _indices(word: str, question: Question, *, is_shown: bool) -> list[int]:
    """Return the options that a word such as ``0,2`` names. Raises DecisionError."""
    numbers = [int(part) for part in word.split(",") if part.strip()]
    wrong = [number for number in numbers if number >= len(question.options)]
    labels = [_plain(option.label) for option in question.options]
    same = next((at for at, label in enumerate(labels) if label == _plain(word) and numbers != [at]), None)
    if wrong and same is not None:
        return [same]
    if wrong:
        raise DecisionError([f"there is no option {wrong[0]}; there are {_options(question)}"])
    if same is not None and not is_shown:
        number = _shown(question.options[numbers[0]].label)
        where = f"answer in the dialog, which the same command without {word} opens on a terminal"
        raise DecisionError([f"{word} is the number of {number} and the label of option {same}: {where}"])
    return numbers


def _list_of_options(words: Sequence[str], question: Question, *, is_shown: bool) -> list[int]:
    """Return the options of which several words are a list, by number or label alike; none if they are anything else.

    Of the first word the beginning of a label is enough; what stands behind may be the person's own. What is an
    option's label as a whole is no list. Raises DecisionError for a number that is no option's.
    """
    labels = [_plain(option.label) for option in question.options]
    if len(words) < 2 or _plain(" ".join(words)) in labels:
        return []
    numbers = [bool(_NUMBERS.fullmatch(word.strip())) for word in words]
    if not all(is_number or _plain(word) in labels for word, is_number in zip(words[1:], numbers[1:], strict=True)):
        return []
    if not numbers[0] and not _all_named(words[0], question):
        return []
    found: list[int] = []
    for word, is_number in zip(words, numbers, strict=True):
        found += _indices(word.strip(), question, is_shown=is_shown) if is_number else _all_named(word, question)
    return found


def _all_named(word: str, question: Question) -> list[int]:
    """Return the options that a word names, several with commas between them; none if it does not name options only."""
    index = _named(word, question)
    if index is not None:
        return [index]
    found = []
    for part in word.split(",") if question.multi_select else []:
        index = int(part) if _NUMBERS.fullmatch(part.strip()) else _named(part, question)
        if index is None or index >= len(question.options):
            return []
        found.append(index)
    return found


def _named(text: str, question: Question) -> int | None:
    """Return the option whose label this is, or the only one that begins so. Raises DecisionError if several do."""
    wanted = _plain(text)
    if not wanted:
        return None
    labels = [_plain(option.label) for option in question.options]
    exact = [at for at, option in enumerate(question.options) if option.label == text]
    exact = exact or [at for at, label in enumerate(labels) if label == wanted]
    found = exact or [at for at, label in enumerate(labels) if label.startswith(wanted)]
    if len(found) > 1:
        raise DecisionError([f"{_shown(text)} may be {_options(question, found)}; give the number"])
    return found[0] if found else None


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", recorded_label(text)).casefold().split())


def _options(question: Question, only: Sequence[int] | None = None) -> str:
    chosen = range(len(question.options)) if only is None else only
    return ", ".join(f"{at} ({printable(question.options[at].label)[:40]})" for at in chosen)


def _shown(text: str) -> str:
    shown = printable(text)
    return f'"{shown if len(shown) <= 40 else shown[:39] + "…"}"'
