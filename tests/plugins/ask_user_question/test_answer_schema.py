"""The schema of the decisions that fit a form, against the code that checks decisions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hookrouter.answering.input_limits import MAX_TEXT
from hookrouter.dialogs.answers.answer import form_of
from hookrouter.dialogs.decisions import DecisionError, parse_decisions
from hookrouter.dialogs.documents import Dialog
from hookrouter.dialogs.messages.answer_schema import answer_schema

WORDS = ["Yes", "No, and say why", "x" * MAX_TEXT]
"""Texts that nothing refuses; which others are, the schema does not say."""


def options(count: int, preview: str) -> list[dict[str, Any]]:
    return [{"label": f"Option {number}", "description": "", "preview": preview} for number in range(count)]


forms = st.builds(
    lambda count, preview, several: {
        "question": "Which?",
        "header": "H",
        "options": options(count, preview),
        "multiSelect": several,
    },
    st.integers(1, 4),
    st.sampled_from(["", "+--+"]),
    st.booleans(),
)

texts = st.sampled_from([*WORDS, "", "  ", "x" * (MAX_TEXT + 1), None, 1])
indices = st.integers(-1, 4) | st.booleans() | st.none() | st.just("0")


def some_of(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


decisions = st.one_of(
    st.fixed_dictionaries({"action": st.just("select"), "optionIndex": indices}, optional={"notes": texts}),
    st.fixed_dictionaries({"action": st.just("type"), "text": texts}),
    st.fixed_dictionaries(
        {"action": st.just("multi-select"), "selectedIndices": st.lists(indices, max_size=4)}, optional={"text": texts}
    ),
    st.fixed_dictionaries({"action": st.just("chat"), "text": texts}),
    some_of(
        {
            "action": st.sampled_from(["select", "type", "multi-select", "chat", "wait", 1]),
            "optionIndex": indices,
            "selectedIndices": st.lists(indices, max_size=2) | st.none(),
            "text": texts,
            "notes": texts,
            "reason": texts,
        }
    ),
    st.none() | st.text() | st.integers(),
)


def is_valid(questions: list[dict[str, Any]], document: object) -> bool:
    return bool(Draft202012Validator(answer_schema(questions)).is_valid(document))


def is_accepted(questions: list[dict[str, Any]], document: object) -> bool:
    question = Dialog("s", "sid", "t", questions, None, "a", "g")
    try:
        parse_decisions(json.dumps(document), form_of(question))
    except DecisionError:
        return False
    return True


@given(st.lists(forms, min_size=1, max_size=4), st.lists(decisions, max_size=5) | decisions)
def test_what_is_accepted_fits_the_schema_and_the_other_way_round(
    questions: list[dict[str, Any]], document: object
) -> None:
    assert is_valid(questions, document) == is_accepted(questions, document)


def fitting(form: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Decisions that fit one question."""
    index = st.integers(0, len(form["options"]) - 1)
    words = st.sampled_from(WORDS)
    if form["multiSelect"]:
        chosen = st.lists(index, min_size=1, unique=True)
        some = st.builds(lambda one: {"action": "multi-select", "selectedIndices": one}, chosen)
        return some | st.builds(lambda one, text: {**one, "text": text}, some, words)
    select = st.builds(lambda one: {"action": "select", "optionIndex": one}, index)
    if form["options"][0]["preview"]:
        return select | st.builds(lambda one, text: {**one, "notes": text}, select, words)
    return select | st.builds(lambda text: {"action": "type", "text": text}, words)


@given(st.data(), st.lists(forms, min_size=1, max_size=4))
def test_decisions_that_fit_are_valid_and_accepted(data: st.DataObject, questions: list[dict[str, Any]]) -> None:
    document = [data.draw(fitting(form)) for form in questions]
    if data.draw(st.booleans()):
        keep = data.draw(st.integers(0, len(questions) - 1))
        document = [*document[:keep], {"action": "chat", "text": "Let us talk"}]
    assert is_valid(questions, document)
    assert is_accepted(questions, document)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_the_schema_is_one(number: int) -> None:
    form = {"question": "Which?", "options": options(2, ""), "multiSelect": False}
    Draft202012Validator.check_schema(answer_schema([form] * number))
    assert not is_valid([form] * number, [{"action": "select", "optionIndex": 0}] * (number + 1))
