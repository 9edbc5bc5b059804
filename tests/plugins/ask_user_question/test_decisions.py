"""Reading decisions and checking them against their questions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.answering.decisions import Chat, FreeText, MultiSelect, Select
from hookrouter.answering.input_limits import MAX_TEXT
from hookrouter.dialogs.decisions import DecisionError, parse_decisions, to_json
from hookrouter.tools import AskUserQuestionInput, Option, Question

SINGLE = Question(question="Which one?", header="One", options=(Option(label="A"), Option(label="B")))
MULTI = Question(
    question="Which ones?",
    header="Many",
    options=(Option(label="A"), Option(label="B"), Option(label="C")),
    multi_select=True,
)
PREVIEW = Question(question="Which look?", header="Look", options=(Option(label="A", preview="+"), Option(label="B")))


def parse(decisions: object, *questions: Question) -> tuple[Any, ...]:
    text = decisions if isinstance(decisions, str) else json.dumps(decisions)
    return parse_decisions(text, AskUserQuestionInput(questions=questions or (SINGLE,)))


def faults(decisions: object, *questions: Question) -> str:
    with pytest.raises(DecisionError) as caught:
        parse(decisions, *questions)
    return str(caught.value)


def test_every_kind_is_read() -> None:
    decisions: list[dict[str, Any]] = [
        {"action": "select", "optionIndex": 1},
        {"action": "multi-select", "selectedIndices": [2, 0], "text": "and more"},
        {"action": "select", "optionIndex": 0, "notes": "a note"},
        {"action": "type", "text": " as it is\n\tnext "},
    ]
    parsed = parse(decisions, SINGLE, MULTI, PREVIEW, SINGLE)
    assert parsed == (Select(1), MultiSelect((0, 2), "and more"), Select(0, "a note"), FreeText(" as it is\n\tnext "))
    assert to_json(parsed) == [*decisions[:1], {**decisions[1], "selectedIndices": [0, 2]}, *decisions[2:]]


def test_a_chat_ends_the_form() -> None:
    chat = {"action": "chat", "text": "this rests on a false assumption"}
    select = {"action": "select", "optionIndex": 0}
    assert parse([chat], SINGLE, MULTI) == (Chat(chat["text"]),)
    assert parse([select, chat], SINGLE, MULTI, SINGLE) == (Select(0), Chat(chat["text"]))
    assert parse([chat], PREVIEW) == (Chat(chat["text"]),)
    assert faults([chat, select], SINGLE, SINGLE) == (
        "question 1 (One): a chat declines the whole form, so no decision may follow it"
    )


def test_only_typed_text_in_a_multi_select() -> None:
    assert parse([{"action": "multi-select", "selectedIndices": [], "text": "A"}], MULTI) == (MultiSelect((), "A"),)


@pytest.mark.parametrize("text", ["", "{", "[1,", "['a']", "[NaN]", '[{"a":1,"a":2}]', "[" * 100_000, "9" * 5000])
def test_what_is_not_json(text: str) -> None:
    assert "decisions" in faults(text)


@pytest.mark.parametrize("document", [{"action": "select", "optionIndex": 0}, "select", 3, None, True])
def test_what_is_not_an_array(document: object) -> None:
    assert "must be a JSON array" in faults(json.dumps(document))


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        ({}, '"action" is missing; allowed here: select, type, chat'),
        ({"action": "pick"}, '"action" "pick" is unknown'),
        ({"action": "multi_select", "selectedIndices": [0]}, "did you mean 'multi-select'?"),
        ({"action": "Select", "optionIndex": 0}, "did you mean 'select'?"),
        ({"action": "slect", "optionIndex": 0}, "did you mean 'select'?"),
        ({"action": "tpye", "text": "x"}, "did you mean 'type'?"),
        ({"action": ["select"], "optionIndex": 0}, '"action" ["select"] is unknown'),
        ({"action": "select"}, '"optionIndex" is missing; allowed are 0 (A), 1 (B)'),
        ({"action": "select", "optionIndex": 2}, '"optionIndex" is 2; allowed are 0 (A), 1 (B)'),
        ({"action": "select", "optionIndex": -1}, '"optionIndex" is -1'),
        ({"action": "select", "optionIndex": True}, '"optionIndex" is true'),
        ({"action": "select", "optionIndex": 0.0}, '"optionIndex" is 0.0'),
        ({"action": "select", "optionIndex": "0"}, '"optionIndex" is "0"'),
        ({"action": "select", "optionIndex": None}, '"optionIndex" is null'),
        ({"action": "select", "option_index": 0}, "unknown key \"option_index\", did you mean 'optionIndex'?"),
        ({"action": "select", "optionIndex": 0, "text": "x"}, 'unknown key "text"'),
        ({"action": "select", "optionIndex": 0, "notes": "x"}, "notes"),
        ({"action": "type"}, '"text" is missing'),
        ({"action": "type", "text": None}, '"text" must be a text, not null'),
        ({"action": "type", "text": 5}, '"text" must be a text, not a number'),
        ({"action": "type", "text": " \n\t "}, '"text" is empty'),
        ({"action": "type", "text": "a\x1b[31m"}, "U+001B"),
        ({"action": "type", "text": "a\rb"}, "U+000D"),
        ({"action": "type", "text": "a\x9bb"}, "U+009B"),
        ({"action": "type", "text": "a\ud800"}, "U+D800"),
        ({"action": "type", "text": "path\\"}, "backslash"),
        ({"action": "type", "text": "path\\  "}, "backslash"),
        ({"action": "type", "text": " Type something."}, "'Type something.', which the dialog shows"),
        ({"action": "type", "text": "(notes only)"}, "no answer"),
        ({"action": "type", "text": "x" * (MAX_TEXT + 1)}, "5001 characters; at most 5000"),
        (
            {"action": "multi-select", "selectedIndices": [0]},
            'single-select: use {"action": "select", "optionIndex": 0}',
        ),
        ({"action": "chat", "text": "/clear"}, "slash command"),
        ({"action": "chat", "text": " !rm"}, "shell command"),
        ([0], "a decision is an object"),
        (0, "a decision is an object"),
    ],
)
def test_faults_in_a_single_select(decision: object, said: str) -> None:
    message = faults([decision])
    assert said in message
    assert message.startswith("question 1 (One): ")


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        ({"action": "select", "optionIndex": 1}, 'use {"action": "multi-select", "selectedIndices": [1]}'),
        ({"action": "type", "text": "x"}, '"selectedIndices": [], "text": "..."'),
        ({"action": "multi-select"}, '"selectedIndices" is missing; allowed are 0 (A), 1 (B), 2 (C)'),
        ({"action": "multi-select", "selectedIndices": []}, "nothing is chosen"),
        ({"action": "multi-select", "selectedIndices": 0}, "must be a list"),
        ({"action": "multi-select", "selectedIndices": [0, 3]}, "holds 3; allowed are"),
        ({"action": "multi-select", "selectedIndices": [-1]}, "holds -1"),
        ({"action": "multi-select", "selectedIndices": [False]}, "holds false"),
        ({"action": "multi-select", "selectedIndices": [1, 1]}, "holds 1 more than once"),
        ({"action": "multi-select", "selectedIndices": [0], "text": None}, "not null"),
        ({"action": "multi-select", "selectedIndices": [], "text": "  "}, '"text" is empty'),
        ({"action": "multi-select", "selectedIndices": [0], "text": " B"}, "is the label of option 2"),
        ({"action": "multi-select", "selectedIndices": [0], "notes": "x"}, 'unknown key "notes"'),
        ({"action": "multi-select", "selectedIndices": [[]]}, "holds []"),
    ],
)
def test_faults_in_a_multi_select(decision: object, said: str) -> None:
    message = faults([decision], MULTI)
    assert said in message
    assert message.startswith("question 1 (Many): ")


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        ({"action": "type", "text": "x"}, "takes no free text"),
        ({"action": "select", "optionIndex": 0, "notes": "two\nlines"}, "one line"),
        ({"action": "select", "optionIndex": 0, "notes": ""}, '"notes" is empty'),
    ],
)
def test_faults_in_a_question_with_previews(decision: object, said: str) -> None:
    assert said in faults([decision], PREVIEW)


def test_one_decision_for_each_question() -> None:
    select = {"action": "select", "optionIndex": 0}
    assert faults([select, select]) == "2 decisions for 1 question"
    assert faults([], SINGLE) == "question 1 (One): no decision"
    assert faults([select], SINGLE, SINGLE, MULTI) == "question 2 (One): no decision\nquestion 3 (Many): no decision"


def test_all_faults_are_said_at_once() -> None:
    found = faults([{"action": "select", "optionIndex": 9}, {"action": "select", "optionIndex": 0}], SINGLE, MULTI)
    assert [line.split(":")[0] for line in found.split("\n")] == ["question 1 (One)", "question 2 (Many)"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(
            st.sampled_from(["action", "optionIndex", "selectedIndices", "text", "notes", "x"]), children, max_size=4
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_document_is_read_or_refused_with_a_reason(document: object) -> None:
    try:
        decisions = parse(document, SINGLE, MULTI)
    except DecisionError as error:
        said = error.faults
    else:
        said = ("read",)
        assert parse(to_json(decisions), SINGLE, MULTI) == decisions
    assert said
    assert all(said)


@given(st.text())
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    with pytest.raises(DecisionError, match=r"\w"):
        parse(text, SINGLE)


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=50))
def test_free_text_is_taken_verbatim(text: str) -> None:
    if text.strip() and not text.endswith("\\"):
        assert parse([{"action": "type", "text": text}]) == (FreeText(text),)


def test_a_note_loses_the_blanks_at_its_ends_and_is_composed_as_in_the_client() -> None:
    decisions = [{"action": "select", "optionIndex": 1, "notes": " trail e\u0301  "}]
    assert parse(decisions, PREVIEW) == (Select(1, "trail \u00e9"),)
