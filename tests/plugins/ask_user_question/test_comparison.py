"""The comparison of recorded with intended answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hookrouter.answering.labels import PLAIN, QUOTED, recorded_label
from hookrouter.dialogs.comparison import Comparison, compare, recorded_value

ADVERSARIAL = ["A", "A, B", "B", "AA", "B, A", 'say "x"', '"A"', '"A, B"', "A,B", "(notes only)", "C\\", "é, ü"]


def question(*labels: str, multi: bool = False, text: str = "Which?") -> dict[str, Any]:
    options = [{"label": label, "description": ""} for label in labels]
    return {"question": text, "header": "Q", "options": options, "multiSelect": multi}


def select(index: int, **more: Any) -> dict[str, Any]:
    return {"action": "select", "optionIndex": index, **more}


def multi(*indices: int, **more: Any) -> dict[str, Any]:
    return {"action": "multi-select", "selectedIndices": list(indices), **more}


def one(form: dict[str, Any], decision: dict[str, Any], recorded: object, **response: Any) -> Comparison:
    return compare([form], [decision], {"answers": {form["question"]: recorded}, **response})


@pytest.mark.parametrize(
    ("form", "decision", "recorded"),
    [
        (question("A", "B"), select(1), "B"),
        (question("A, B", "B"), select(0), "A, B"),
        (question("A", "B"), {"action": "type", "text": '  as "it" is, exactly '}, '  as "it" is, exactly '),
        (question("Driver path", "Naming", "Retry", multi=True), multi(0, 2), "Driver path, Retry"),
        (
            question("Driver path", "Retry", multi=True),
            multi(0, text='say "hi", ok'),
            'Driver path, "say \\"hi\\", ok"',
        ),
        (
            question("Alpha, with comma", "Alpha", multi=True),
            multi(0, 1, text="Alpha, and other"),
            '"Alpha, with comma", Alpha, "Alpha, and other"',
        ),
        (question("Naming", "B", multi=True), multi(0, text="DRY, SRP"), 'Naming, "DRY, SRP"'),
        (question("Naming", "B", multi=True), multi(0, text="DRY, SRP"), "Naming, DRY, SRP"),
        (question("A", "B", multi=True), multi(text="only this"), "only this"),
    ],
)
def test_what_clients_were_seen_to_record_matches(
    form: dict[str, Any], decision: dict[str, Any], recorded: str
) -> None:
    assert one(form, decision, recorded).matches


@pytest.mark.parametrize(
    ("recorded", "result"),
    [
        ("A", "different"),
        ("B ", "different"),
        ("b", "different"),
        ("B, A", "different"),
        ("", "empty"),
        ("(notes only)", "notes_only"),
        (["B"], "non_string"),
        (None, "non_string"),
        (1, "non_string"),
        ({"B": True}, "non_string"),
    ],
)
def test_every_other_value_is_told_apart(recorded: object, result: str) -> None:
    comparison = one(question("A", "B"), select(1), recorded)
    assert not comparison.matches
    assert comparison.results[0].result == result
    assert "question 1" in comparison.reason


def test_a_missing_answer_and_an_extra_one() -> None:
    forms = [question("A", "B", text="One?"), question("A", "B", text="Two?")]
    comparison = compare(forms, [select(0), select(1)], {"answers": {"One?": "A", "Three?": "B"}})
    assert [result.result for result in comparison.results] == ["match", "missing"]
    assert comparison.extra == ("Three?",)
    assert "Three?" in comparison.reason


def test_what_was_recorded_for_another_form_of_the_message_is_no_fault() -> None:
    form = [question("A", "B", text="One?")]
    earlier = [("Before?", "B"), ("One?", "B")]
    response = {"answers": {"Before?": "B", "One?": "A"}}
    comparison = compare(form, [select(0)], response, earlier=earlier)
    assert comparison.matches
    assert comparison.extra == ("Before?",)
    assert not compare(form, [select(0)], response).matches
    for value in ("A", ["B"], None):
        changed = compare(form, [select(0)], {"answers": {"Before?": value, "One?": "A"}}, earlier=earlier)
        assert not changed.matches
    assert not compare(form, [select(0)], {"answers": {"Before?": "B", "One?": "B"}}, earlier=earlier).matches


@pytest.mark.parametrize("response", [None, [], "text", 5, {}, {"answers": None}, {"answers": []}, {"answers": "A"}])
def test_a_response_without_answers(response: object) -> None:
    comparison = compare([question("A", "B")], [select(0)], response)
    assert comparison.results[0].result == "missing"
    assert comparison.keyed_by == "not an object"


def test_answers_may_be_keyed_by_text_or_by_index() -> None:
    forms = [question("A", "B", text="One?"), question("A", "B", text="1")]
    decisions = [select(0), select(1)]
    by_text = compare(forms, decisions, {"answers": {"One?": "A", "1": "B"}})
    by_index = compare(forms, decisions, {"answers": {"0": "A", "1": "B"}})
    assert (by_text.matches, by_text.keyed_by) == (True, "text")
    assert (by_index.matches, by_index.keyed_by) == (True, "index")
    assert compare(forms, decisions, {"answers": {}}).keyed_by == "nothing"


def test_a_chat_that_was_answered_instead() -> None:
    comparison = one(question("A", "B"), {"action": "chat", "text": "let us talk"}, "A")
    assert comparison.results[0].result == "no_choice_intended"
    assert comparison.results[0].intended == "let us talk"


def test_a_chat_on_the_second_of_three_questions() -> None:
    forms = [question("A", "B", text=text) for text in ("One?", "Two?", "Three?")]
    chat = {"action": "chat", "text": "no"}
    comparison = compare(forms, [select(0), chat], {"answers": {"One?": "A", "Two?": "B", "Three?": "A"}})
    assert [result.result for result in comparison.results] == ["match", "no_choice_intended", "no_choice_intended"]


@pytest.mark.parametrize(
    ("decision", "annotation", "result"),
    [
        (select(0, notes="small"), {"notes": "small"}, "match"),
        (select(0, notes="small"), {"notes": "smaller"}, "notes_differ"),
        (select(0, notes="small"), {"preview": "<p>"}, "notes_differ"),
        (select(0), {"notes": "left over"}, "notes_differ"),
        (select(0), {"notes": None}, "match"),
        (select(0), {"notes": ""}, "match"),
        (select(0), None, "match"),
        (select(0), "text", "match"),
    ],
)
def test_notes(decision: dict[str, Any], annotation: object, result: str) -> None:
    comparison = one(question("A", "B"), decision, "A", annotations={"Which?": annotation})
    assert comparison.results[0].result == result


def test_typed_text_that_old_clients_record_as_a_note_too() -> None:
    typed = one(question("A", "B"), {"action": "type", "text": "abc"}, "abc", annotations={"Which?": {"notes": "abc"}})
    several = one(
        question("A", "B", multi=True), multi(0, text="abc"), "A, abc", annotations={"Which?": {"notes": "abc"}}
    )
    assert typed.matches
    assert several.matches


def test_the_style_is_told_where_it_matters() -> None:
    form = question("A, B", "C", multi=True)
    assert one(form, multi(0), '"A, B"').results[0].style == QUOTED
    assert one(form, multi(0), "A, B").results[0].style == PLAIN
    assert one(form, multi(1), "C").results[0].style == ""
    assert not compare([form], [multi(0)], {"answers": {"Which?": "A, B"}}, (QUOTED,)).matches


def test_the_document_is_json_and_holds_both_sides() -> None:
    document = one(question("A", "B"), select(1), ["A"]).document()
    assert json.loads(json.dumps(document)) == document
    assert document["questions"] == [{"question": "Which?", "result": "non_string", "intended": "B", "recorded": ["A"]}]


# Labels that the client records alike verify nothing, which has a test of its own.
labels = st.lists(
    st.sampled_from(ADVERSARIAL) | st.text(min_size=1, max_size=6), min_size=2, max_size=4, unique_by=recorded_label
)
texts = st.none() | st.sampled_from(ADVERSARIAL) | st.text(min_size=1, max_size=6)


@st.composite
def forms_and_decisions(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    found = draw(labels)
    if draw(st.booleans()):
        indices = draw(st.sets(st.integers(0, len(found) - 1)))
        text = draw(texts)
        assume(indices or text)
        decision = multi(*sorted(indices), **({"text": text} if text else {}))
        return question(*found, multi=True), decision
    text = draw(texts)
    decision = {"action": "type", "text": text} if text else select(draw(st.integers(0, len(found) - 1)))
    return question(*found), decision


@given(forms_and_decisions(), st.sampled_from([QUOTED, PLAIN]))
def test_what_construction_renders_always_matches(case: tuple[dict[str, Any], dict[str, Any]], style: str) -> None:
    form, decision = case
    # A client of the other style may record another choice with the same words.
    comparison = compare([form], [decision], {"answers": {"Which?": recorded_value(form, decision, style)}}, (style,))
    assert comparison.matches
    assert comparison.reason == ""


@given(forms_and_decisions(), st.sampled_from(ADVERSARIAL) | st.text(max_size=12))
def test_any_other_text_never_matches(case: tuple[dict[str, Any], dict[str, Any]], recorded: str) -> None:
    form, decision = case
    for style in (QUOTED, PLAIN):
        for verbatim in (False, True):
            assume(recorded != recorded_value(form, decision, style, verbatim=verbatim))
    assert not one(form, decision, recorded).matches


@given(labels, st.data())
def test_two_selections_never_look_alike_on_a_quoting_client(found: list[str], data: st.DataObject) -> None:
    sets = st.sets(st.integers(0, len(found) - 1), min_size=1)
    first, second = data.draw(sets), data.draw(sets)
    assume(first != second)
    form = question(*found, multi=True)
    recorded = recorded_value(form, multi(*second), QUOTED)
    comparison = compare([form], [multi(*first)], {"answers": {"Which?": recorded}}, (QUOTED,))
    assert not comparison.matches


@given(st.text())
def test_items_are_quoted_as_json_that_reads_back(text: str) -> None:
    item = f'{text}"'
    rendered = recorded_value(question("A", "B", multi=True), multi(text=item))
    assert rendered is not None
    assert json.loads(rendered) == item


def test_a_label_that_the_client_rewrites_is_still_recognised() -> None:
    question = {
        "question": "Q?",
        "header": "H",
        "options": [{"label": "\u2764\ufe0f  Love", "description": ""}, {"label": "A, \nx", "description": ""}],
        "multiSelect": False,
    }
    one = [{"action": "select", "optionIndex": 0}]
    assert compare([question], one, {"answers": {"Q?": "\u2764 Love"}}).matches
    assert compare([question], one, {"answers": {"Q?": "\u2764\ufe0f  Love"}}).matches
    assert not compare([question], one, {"answers": {"Q?": "\u2764  Love"}}).matches
    several = [{"action": "multi-select", "selectedIndices": [0, 1]}]
    answers = {"Q?": '\u2764 Love, "A, \ufffdx"'}
    assert compare([question | {"multiSelect": True}], several, {"answers": answers}).matches


def test_labels_that_are_recorded_alike_verify_nothing() -> None:
    options = [
        {"label": "a b", "description": ""},
        {"label": "a  b", "description": ""},
        {"label": "c", "description": ""},
    ]
    question = {"question": "Q?", "header": "H", "options": options, "multiSelect": False}
    found = compare([question], [{"action": "select", "optionIndex": 1}], {"answers": {"Q?": "a b"}})
    assert (found.matches, found.results[0].result) == (False, "ambiguous")
    assert compare([question], [{"action": "select", "optionIndex": 2}], {"answers": {"Q?": "c"}}).matches


@pytest.mark.parametrize(
    ("labels", "indices", "recorded"),
    [
        (("A", "B", "A, B"), (2,), "A, B"),
        (("A", "B", "A, B"), (0, 1), "A, B"),
        (("A", "A, B", "B, C", "C"), (0, 2), "A, B, C"),
        (("A", "B", "C"), (0, 1), "A, B"),
    ],
)
def test_labels_that_join_alike_do_not_tell_what_was_chosen(
    labels: tuple[str, ...], indices: tuple[int, ...], recorded: str
) -> None:
    form = question(*labels, multi=True)
    unique = labels == ("A", "B", "C")
    assert one(form, multi(*indices), recorded).results[0].result == ("match" if unique else "ambiguous")
    assert one(form, multi(*indices, text="x"), f"{recorded}, x").results[0].result == (
        "match" if unique else "ambiguous"
    )


@given(
    st.lists(st.sampled_from(ADVERSARIAL), min_size=1, max_size=5, unique=True),
    st.sampled_from([(QUOTED,), (PLAIN,), (QUOTED, PLAIN)]),
    st.sampled_from([None, "A", "x, y"]),
    st.data(),
)
def test_a_match_is_recorded_for_no_other_selection(
    labels: list[str], styles: tuple[str, ...], text: str | None, data: st.DataObject
) -> None:
    form, more = question(*labels, multi=True), {} if text is None else {"text": text}
    every = [[i for i in range(len(labels)) if mask >> i & 1] for mask in range(1, 2 ** len(labels))]
    intended = data.draw(st.sampled_from(every))
    style = data.draw(st.sampled_from(styles))
    recorded = recorded_value(form, multi(*intended, **more), style)
    alike = [
        other
        for other in every
        for each in styles
        if other != intended and recorded_value(form, multi(*other, **more), each) == recorded
    ]
    found = compare([form], [multi(*intended, **more)], {"answers": {form["question"]: recorded}}, styles)
    assert found.matches == (not alike)
