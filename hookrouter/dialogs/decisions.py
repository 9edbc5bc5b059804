"""Reads an agent's decisions from JSON and checks each against its question, before anything is saved or pressed.

Every fault is found in one go, and each message names the question and what is allowed.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any

from hookrouter.answering.decisions import Chat, FreeText, MultiSelect, Select
from hookrouter.answering.input_limits import chat_faults, text_faults
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import did_you_mean, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.tools import AskUserQuestionInput, Question

__all__ = [
    "MAX_DEPTH",
    "DecisionError",
    "check_decisions",
    "from_json",
    "load_json",
    "parse_decisions",
    "question_faults",
    "shown_where",
    "to_json",
]

MAX_DEPTH = 100
"""How deep decisions may be nested: a hook's reply takes no more."""

_KEYS = {
    "select": ("optionIndex", "notes"),
    "type": ("text",),
    "multi-select": ("selectedIndices", "text"),
    "chat": ("text",),
}


class DecisionError(HookrouterError, ValueError):
    """The decisions do not fit the questions; the message has one line for each fault."""

    def __init__(self, faults: Sequence[str]) -> None:
        """Take the faults, each a sentence."""
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


def parse_decisions(text: str, form: AskUserQuestionInput) -> tuple[Decision, ...]:
    """Return the decisions in a JSON array, checked against ``form``. Raises DecisionError."""
    return check_decisions(load_json(text), form)


def load_json(text: str) -> object:
    """Return what an agent's JSON text says, if it can be written as JSON again. Raises DecisionError.

    Refused are a key that is given twice, numbers that only Python has, and what is nested deeper than a hook's reply.
    """
    try:
        document = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_without_duplicates
        )
        if _depth(document) > MAX_DEPTH:
            raise RecursionError
    except RecursionError:
        raise DecisionError([f"the decisions are nested too deeply; at most {MAX_DEPTH} levels are allowed"]) from None
    except ValueError as error:
        fault = f"the decisions are not JSON: {error}"
        if "'" in text:
            fault += " (JSON strings need double quotes; give the array with --file - to keep the shell out of it)"
        raise DecisionError([fault]) from None
    return document


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _depth(document: object) -> int:
    """Return how many lists and objects stand within each other, without a call for each level."""
    depth, level = 0, [document]
    while level := [one for one in level if isinstance(one, (dict, list))]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


def check_decisions(document: object, form: AskUserQuestionInput) -> tuple[Decision, ...]:
    """Return the decisions in a parsed JSON array, checked against ``form``. Raises DecisionError with every fault."""
    questions = form.questions
    if not isinstance(document, list):
        hint = "; put it in an array: [ ... ]" if isinstance(document, dict) else ""
        raise DecisionError([f"the decisions must be a JSON array, one decision for each question{hint}"])
    faults: list[str] = []
    decisions: list[Decision] = []
    for index, item in enumerate(document[: len(questions)]):
        found: list[str] = []
        decision = _check(item, questions[index], found)
        where = shown_where(index, questions[index])
        faults += [f"{where}: {fault}" for fault in found]
        if decision is not None:
            decisions.append(decision)
        if _is_chat(item) and index + 1 < len(document):
            faults.append(f"{where}: a chat declines the whole form, so no decision may follow it")
            break
    else:
        faults += _count_faults(document, questions)
    if faults:
        raise DecisionError(faults)
    return tuple(decisions)


def question_faults(item: object, question: Question) -> list[str]:
    """Return why a parsed decision does not fit one question, each the rest of a sentence; empty if it does."""
    faults: list[str] = []
    _check(item, question, faults)
    return faults


def to_json(decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Return decisions in their JSON form, normalised: indices in order, nothing that is absent."""
    return [_to_json(decision) for decision in decisions]


def from_json(document: Mapping[str, Any]) -> Decision:
    """Return a decision of its JSON form as :func:`to_json` makes it, which was checked before. Raises KeyError."""
    action = document["action"]
    if action == "select":
        return Select(document["optionIndex"], document.get("notes"))
    if action == "multi-select":
        return MultiSelect(tuple(document["selectedIndices"]), document.get("text"))
    return FreeText(document["text"]) if action == "type" else Chat(document["text"])


def _to_json(decision: Decision) -> dict[str, Any]:
    if isinstance(decision, Select):
        document: dict[str, Any] = {"action": "select", "optionIndex": decision.option_index}
        return document if decision.notes is None else document | {"notes": decision.notes}
    if isinstance(decision, MultiSelect):
        document = {"action": "multi-select", "selectedIndices": list(decision.selected_indices)}
        return document if decision.text is None else document | {"text": decision.text}
    return {"action": "type" if isinstance(decision, FreeText) else "chat", "text": decision.text}


def _count_faults(document: Sequence[object], questions: Sequence[Question]) -> list[str]:
    if len(document) > len(questions):
        return [f"{len(document)} decisions for {len(questions)} question{'s' * (len(questions) != 1)}"]
    if not document or not _is_chat(document[-1]):
        return [
            f"{shown_where(index, questions[index])}: no decision" for index in range(len(document), len(questions))
        ]
    return []


def _is_chat(item: object) -> bool:
    return isinstance(item, dict) and item.get("action") == "chat"


def shown_where(index: int, question: Question) -> str:
    """Return how faults name a question of a form: its number, counted from 1, and its header."""
    header = printable(question.header or "") or printable(question.question)[:40]
    return f"question {index + 1} ({header})"


def _check(item: object, question: Question, faults: list[str]) -> Decision | None:
    """Return the decision, or None with at least one fault added."""
    if not isinstance(item, dict):
        faults.append(f"a decision is an object such as {_example(question)}, not {_name(item)}")
        return None
    action = item.get("action")
    if not isinstance(action, str) or action not in _KEYS:
        found = "is missing" if "action" not in item else f"{_shown(action)} is unknown"
        faults.append(f'"action" {found}{_suggestion(action, _KEYS)}; allowed here: {_allowed(question)}')
        return None
    before = len(faults)
    _check_keys(item, action, faults)
    decision = _CHECKS[action](item, question, faults)
    return decision if len(faults) == before else None


def _check_keys(item: dict[str, Any], action: str, faults: list[str]) -> None:
    allowed = ("action", *_KEYS[action])
    faults.extend(
        f"unknown key {_shown(key)}{_suggestion(key, allowed)}; {action} takes {', '.join(_KEYS[action])}"
        for key in item
        if key not in allowed
    )


def _check_select(item: dict[str, Any], question: Question, faults: list[str]) -> Decision | None:
    if question.multi_select:
        index = item.get("optionIndex")
        example = f"[{index}]" if isinstance(index, int) and not isinstance(index, bool) else "[...]"
        faults.append(f'this is a multi-select: use {{"action": "multi-select", "selectedIndices": {example}}}')
        return None
    index = _index(item, "optionIndex", question, faults)
    notes = _optional_text(item, "notes", faults)
    if notes is not None:
        if not _has_previews(question):
            faults.append('"notes" go only with a question whose options have previews; this one takes none')
        elif "\n" in notes or "\t" in notes:
            faults.append('"notes" is one line: no newline and no tab')
    # Claude Code records a note without the blanks at its ends, and with composed characters.
    kept = None if notes is None else unicodedata.normalize("NFC", notes.strip())
    return None if index is None else Select(index, kept)


def _check_type(item: dict[str, Any], question: Question, faults: list[str]) -> Decision | None:
    if question.multi_select:
        faults.append('this is a multi-select: use {"action": "multi-select", "selectedIndices": [], "text": "..."}')
        return None
    if _has_previews(question):
        faults.append(
            "a question whose options have previews takes no free text; select an option, with "
            '"notes" if needed, or use {"action": "chat", "text": "..."}'
        )
        return None
    text = _text(item, "text", faults)
    return None if text is None else FreeText(text)


def _check_multi_select(item: dict[str, Any], question: Question, faults: list[str]) -> Decision | None:
    if not question.multi_select:
        faults.append(f"this is a single-select: use {_example(question)}")
        return None
    given = item.get("selectedIndices")
    if not isinstance(given, list):
        found = "is missing" if "selectedIndices" not in item else f"must be a list, not {_name(given)}"
        faults.append(f'"selectedIndices" {found}; allowed are {_indices(question)}')
        return None
    for index in given:
        if not _is_index(index, question):
            faults.append(f'"selectedIndices" holds {_shown(index)}; allowed are {_indices(question)}')
    repeated = sorted(index for index, count in Counter(filter(_is_number, given)).items() if count > 1)
    if repeated:
        faults.append(f'"selectedIndices" holds {", ".join(map(str, repeated))} more than once')
    text = _text(item, "text", faults, [option.label for option in question.options]) if "text" in item else None
    if not given and "text" not in item:
        faults.append(
            "nothing is chosen, and Claude Code would record no answer at all; choose an option, give a text, or chat"
        )
    return None if faults else MultiSelect(tuple(sorted(given)), text)


def _check_chat(item: dict[str, Any], _question: Question, faults: list[str]) -> Decision | None:
    text = _text(item, "text", faults)
    return None if text is None else Chat(text)


_CHECKS = {
    "select": _check_select,
    "type": _check_type,
    "multi-select": _check_multi_select,
    "chat": _check_chat,
}


def _index(item: dict[str, Any], key: str, question: Question, faults: list[str]) -> int | None:
    index = item.get(key)
    if key not in item:
        faults.append(f'"{key}" is missing; allowed are {_indices(question)}')
    elif not _is_index(index, question):
        faults.append(f'"{key}" is {_shown(index)}; allowed are {_indices(question)}')
    else:
        return index
    return None


def _is_index(value: object, question: Question) -> bool:
    return _is_number(value) and 0 <= value < len(question.options)  # type: ignore[operator]


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _optional_text(item: dict[str, Any], key: str, faults: list[str]) -> str | None:
    return _text(item, key, faults) if key in item else None


def _text(item: dict[str, Any], key: str, faults: list[str], labels: Sequence[str] = ()) -> str | None:
    """Return a free text that the dialog takes as it is, or None with a fault added.

    ``labels`` are those of a multi-select, see :func:`hookrouter.answering.input_limits.text_faults`.
    """
    text = item.get(key)
    if not isinstance(text, str):
        found = f"must be a text, not {_name(text)}" if key in item else "is missing"
        faults.append(f'"{key}" {found}')
        return None
    refused = chat_faults(text) if item.get("action") == "chat" else text_faults(text, labels)
    faults += [f'"{key}" {fault}' for fault in refused]
    return None if refused else text


def _has_previews(question: Question) -> bool:
    return not question.multi_select and any(option.preview for option in question.options)


def _allowed(question: Question) -> str:
    if question.multi_select:
        return "multi-select, chat"
    return "select, chat" if _has_previews(question) else "select, type, chat"


def _example(question: Question) -> str:
    if question.multi_select:
        return '{"action": "multi-select", "selectedIndices": [0]}'
    return '{"action": "select", "optionIndex": 0}'


def _indices(question: Question) -> str:
    """Return the allowed indices with their labels: ``0 (Yes), 1 (No)``."""
    return ", ".join(f"{index} ({printable(option.label)[:40]})" for index, option in enumerate(question.options))


def _suggestion(found: object, allowed: Sequence[str] | dict[str, Any]) -> str:
    hint = did_you_mean(found, allowed) if isinstance(found, str) else ""
    return f", {hint}" if hint else ""


def _shown(value: object) -> str:
    return printable(json.dumps(value, ensure_ascii=False))[:60]


def _name(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return "a number"
    return {"str": "a string", "list": "an array", "dict": "an object"}.get(type(value).__name__, type(value).__name__)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"the key {', '.join(map(repr, repeated))} is given twice in one object")
    return result
