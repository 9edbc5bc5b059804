"""What a person has entered into a dialog's form on the page, as decisions.

Fields are named by the question's place: ``q0`` an option's number (several for a multi-select) or ``own``, ``own0``
the person's own words, ``note0`` a note to a choice, ``chat`` what is said instead of an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.messages.words import has_previews
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.tools import AskUserQuestionInput
    from hookrouter.tools.ask_user_question import Question

__all__ = ["OWN", "EntryError", "decisions_of", "entries_of"]

OWN = "own"
"""The value of the choice that is no option: own words."""


class EntryError(HookrouterError):
    """Something is missing; the message has a line for each fault."""


def entries_of(fields: Mapping[str, Sequence[str]], form: AskUserQuestionInput) -> dict[str, Sequence[str]]:
    """Return of what was sent whatever a person has entered into this form, by the fields' names."""
    names = [f"{what}{index}" for index in range(len(form.questions)) for what in ("q", "own", "note")]
    return {name: fields[name] for name in (*names, "chat") if name in fields}


def decisions_of(fields: Mapping[str, Sequence[str]], form: AskUserQuestionInput) -> list[dict[str, Any]]:
    """Return the decisions in their JSON form, as ``hookrouter answer`` takes them. Raises EntryError."""
    if chat := _text(fields, "chat"):
        return [{"action": "chat", "text": chat}]
    found, faults = [], []
    for index, question in enumerate(form.questions):
        decision = _decision(fields, index, question)
        if decision is None:
            where = f"question {index + 1}" if len(form.questions) > 1 else "the question"
            faults.append(f"{where} has no answer yet: choose an option, or write your own words")
        else:
            found.append(decision)
    if faults:
        raise EntryError("\n".join(faults))
    return found


def _decision(fields: Mapping[str, Sequence[str]], index: int, question: Question) -> dict[str, Any] | None:
    chosen = list(fields.get(f"q{index}", ()))
    own, note = _text(fields, f"own{index}"), _text(fields, f"note{index}")
    numbers = [int(one) for one in chosen if one.isascii() and one.isdigit() and len(one) < 5]
    if question.multi_select:
        if not numbers and not own:
            return None
        decision: dict[str, Any] = {"action": "multi-select", "selectedIndices": sorted(set(numbers))}
        return {**decision, "text": own} if own else decision
    if numbers and OWN not in chosen:
        decision = {"action": "select", "optionIndex": numbers[0]}
        return {**decision, "notes": note} if note and has_previews(question) else decision
    # Whoever writes and chooses no option means their own words.
    return {"action": "type", "text": own} if own and not has_previews(question) else None


def _text(fields: Mapping[str, Sequence[str]], name: str) -> str:
    value = next(iter(fields.get(name, ())), "")
    # A browser sends each line's end as two characters.
    return value.replace("\r\n", "\n").strip()
