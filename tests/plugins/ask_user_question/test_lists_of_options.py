"""Several options on one command line: by number and label alike, and apart from a person's own words."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from hookrouter.dialogs.decisions import DecisionError
from hookrouter.dialogs.messages.words import read_words
from hookrouter.tools import AskUserQuestionInput

LABELS = ["Lint", "Ruff", "Tests", "two words"]
FORM = AskUserQuestionInput.from_json(
    {
        "questions": [
            {
                "question": "Which?",
                "header": "W",
                "multiSelect": True,
                "options": [{"label": label} for label in LABELS],
            }
        ]
    }
)


def read(*words: str) -> dict[str, Any]:
    [decision] = read_words(words, FORM).decisions
    return decision


def spelled(index: int) -> list[str]:
    return [str(index), LABELS[index], LABELS[index].upper()]


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 2), (2, 0), (3, 1), (1, 3)])
def test_two_options_in_every_spelling(first: int, second: int) -> None:
    for one, other in product([*spelled(first), LABELS[first][:3]], spelled(second)):
        assert read(one, other) == {"action": "multi-select", "selectedIndices": sorted([first, second])}


@pytest.mark.parametrize(
    ("words", "indices", "text"),
    [
        (["two", "words"], [3], None),
        (["ruf", "2", "lint"], [0, 1, 2], None),
        (["0", "and", "retries"], [0], "and retries"),
        (["0", "te"], [0], "te"),
        (["ruf", "later"], [1], "later"),
        (["0", "2", "weeks"], [0, 2], "weeks"),
    ],
)
def test_what_is_a_list_and_what_are_words(words: list[str], indices: list[int], text: str | None) -> None:
    expected = {"action": "multi-select", "selectedIndices": indices}
    assert read(*words) == (expected if text is None else {**expected, "text": text})


def test_a_number_that_is_no_options_is_refused_behind_a_label_as_behind_a_number() -> None:
    for first in ("0", "ruf"):
        with pytest.raises(DecisionError, match="there is no option 9"):
            read(first, "9")
