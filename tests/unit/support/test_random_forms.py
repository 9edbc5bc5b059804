"""The generator of the soak: reproducible, valid for the client, and right about what must be recorded."""

from __future__ import annotations

import json

import pytest

from hookrouter.answering.labels import QUOTED, recorded_label
from hookrouter.dialogs.comparison import compare, recorded_value
from hookrouter.dialogs.decisions import DecisionError, parse_decisions
from hookrouter.tools import AskUserQuestionInput
from support.random_forms import seeded_form
from support.soak import Result, Verdict, report, table

FORMS = [seeded_form(7, number) for number in range(400)]


def test_a_form_depends_on_its_seed_and_number_alone() -> None:
    assert [seeded_form(7, number) for number in (3, 399)] == [FORMS[3], FORMS[399]]
    assert seeded_form(8, 3) != FORMS[3]


def test_every_kind_of_question_and_answer_occurs() -> None:
    actions = {decision["action"] for form in FORMS for decision in form.decisions}
    assert actions == {"select", "type", "multi-select"}
    assert {len(form.questions) for form in FORMS} == {1, 2, 3, 4}
    assert any(form.notes for form in FORMS)
    assert any(len(str(decision.get("text"))) > 1000 for form in FORMS for decision in form.decisions)
    assert 0 < sum(form.faulty for form in FORMS) < 40


def test_forms_are_such_as_the_client_takes() -> None:
    for form in FORMS:
        texts = [question["question"] for question in form.questions]
        assert len(set(texts)) == len(texts)
        for question in form.questions:
            labels = [recorded_label(option["label"]) for option in question["options"]]
            assert 2 <= len(set(labels)) == len(labels) <= 4
            assert 1 <= len(question["header"]) <= 12


def test_decisions_are_accepted_but_for_those_that_are_meant_to_be_refused() -> None:
    for form in FORMS:
        asked: AskUserQuestionInput = AskUserQuestionInput.from_json({"questions": form.questions})
        text = json.dumps(form.decisions)
        if form.faulty:
            with pytest.raises(DecisionError):
                parse_decisions(text, asked)
        else:
            assert len(parse_decisions(text, asked)) == len(form.questions)


def test_what_must_be_recorded_agrees_with_the_comparison() -> None:
    for form in FORMS:
        values = [
            recorded_value(question, decision, QUOTED)
            for question, decision in zip(form.questions, form.decisions, strict=True)
        ]
        assert list(form.expected.values()) == values
        annotations = {text: {"notes": note} for text, note in form.notes.items()}
        response = {"answers": form.expected, "annotations": annotations}
        assert compare(form.questions, form.decisions, response).matches


def test_the_report_names_what_runs_a_form_again() -> None:
    result = Result(3, (80, 24), Verdict.WRONG, "recorded otherwise", 1.5, ("Enter: choose",), "❯ 1. A")
    text = report(result, 7)
    assert "--seed 7 --only 3 --size 80x24" in text
    assert "Enter: choose" in text
    assert "❯ 1. A" in text


def test_the_table_counts_by_size() -> None:
    results = [
        Result(0, (80, 24), Verdict.VERIFIED, "", 1.0),
        Result(1, (80, 24), Verdict.REFUSED, "why", 9.0),
        Result(2, (60, 20), Verdict.STUCK, "why", 9.0),
    ]
    assert table(results).splitlines()[2:] == [
        "| 80x24 | 2 | 1 | 0 | 1 | 0 | 0 | 50.0 % | 1.00 |",
        "| 60x20 | 1 | 0 | 0 | 0 | 0 | 1 | 0.0 % | - |",
        "| all | 3 | 1 | 0 | 1 | 0 | 1 | 33.3 % | 1.00 |",
    ]
