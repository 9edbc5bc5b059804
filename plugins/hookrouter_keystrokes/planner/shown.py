"""Compares what a screen shows as typed, or as answered, with what was decided."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from hookrouter.answering.decisions import Chat, FreeText, MultiSelect
from hookrouter.answering.labels import recorded_label
from hookrouter.answering.recording import chosen_options, shown_answers
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.text import accented_key, exact_key, key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter.answering.decisions import Decision
    from hookrouter.tools import Question

__all__ = ["confirms", "is_folded", "leaves_empty", "shows_text", "ticks_shown"]

_FOLDED = re.compile(grammar.PASTED_TEXT)


def shows_text(shown: str, wanted: str, *, marked: bool | None = False) -> bool:
    """Whether what is shown as typed is the wanted text, as far as a screen can tell.

    ``marked`` is whether the client's mark of a chosen row was taken off the shown text: it may be the text's own.
    """
    bare = key(shown)
    return bool(shown.strip()) and (bare == key(wanted) or (bool(marked) and bare + grammar.CHOSEN == key(wanted)))


def is_folded(shown: str, text: str) -> bool:
    """Whether the prompt box shows the placeholder for a long pasted text, with the right number of lines."""
    found = _FOLDED.fullmatch(shown.strip())
    return found is not None and int(found[1] or 0) == text.count("\n")


def leaves_empty(decision: Decision) -> bool:
    """Whether a decision leaves its question without an answer."""
    return isinstance(decision, MultiSelect) and not decision.selected_indices and decision.text is None


def _ticked(question: Question, indices: Iterable[int], text: str | None) -> set[str]:
    return shown_answers(question, MultiSelect(tuple(indices), text)) or {""}


def _confusable(question: Question, decision: Decision) -> set[str]:
    """Return what the review shows for other choices whose labels have the same keys as the decision's."""
    if isinstance(decision, (FreeText, Chat)):
        return set()
    chosen = chosen_options(decision)
    keys = [key(recorded_label(option.label)) for option in question.options]
    wanted = [keys[index] for index in chosen]
    found: set[str] = set()
    for other in itertools.combinations(range(len(keys)), len(chosen)):
        if other != chosen and [keys[index] for index in other] == wanted:
            found |= _ticked(question, other, decision.text if isinstance(decision, MultiSelect) else None)
    return found


def confirms(question: Question, decision: Decision, shown: str) -> bool | None:
    """Whether the review screen shows a decision; None if it may as well be that of another option."""
    wanted = shown_answers(question, decision)
    if key(shown) not in map(key, wanted):
        return False
    others = _confusable(question, decision)
    if not others:
        return True
    for tell in (exact_key, accented_key):
        this, other = tell(shown) in map(tell, wanted), tell(shown) in map(tell, others)
        if this != other:
            return this
    return None


def ticks_shown(question: Question, shown: str | None, text: str | None) -> frozenset[int] | None:
    """Return the options that an answer on the review screen stands for, or None if that is not certain."""
    if shown is None:
        return frozenset()
    found = [
        frozenset(indices)
        for count in range(len(question.options) + 1)
        for indices in itertools.combinations(range(len(question.options)), count)
        for typed in {None, text}
        if exact_key(shown) in map(exact_key, _ticked(question, indices, typed))
    ]
    return found[0] if len(set(found)) == 1 else None
