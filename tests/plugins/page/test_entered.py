"""What a person enters into a form on the page becomes decisions that fit it, or a fault that says what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.tools import AskUserQuestionInput
from hookrouter_page.reading.entered import EntryError, decisions_of
from hookrouter_page.reading.waiting import key_of, read_key

TEXTS = st.text(max_size=20)
FIELDS = st.dictionaries(
    st.sampled_from(["q0", "q1", "own0", "own1", "note0", "chat", "csrf", "q9"]),
    st.lists(st.one_of(st.sampled_from(["0", "1", "own", "-1", "99999", "x"]), TEXTS), max_size=3),
)


def form_of(*kinds: str) -> AskUserQuestionInput:
    questions = []
    for number, kind in enumerate(kinds):
        options: list[dict[str, Any]] = [{"label": "A"}, {"label": "B"}]
        if kind == "preview":
            options[0]["preview"] = "+"
        questions.append(
            {"question": f"{number}?", "header": "H", "multiSelect": kind == "several", "options": options}
        )
    return AskUserQuestionInput.from_json({"questions": questions})


@pytest.mark.parametrize(
    ("kind", "fields", "decision"),
    [
        ("one", {"q0": ["1"]}, {"action": "select", "optionIndex": 1}),
        ("one", {"q0": ["own"], "own0": [" my\r\nway "]}, {"action": "type", "text": "my\nway"}),
        ("one", {"own0": ["mine"]}, {"action": "type", "text": "mine"}),
        ("several", {"q0": ["1", "0"]}, {"action": "multi-select", "selectedIndices": [0, 1]}),
        ("several", {"own0": ["x"]}, {"action": "multi-select", "selectedIndices": [], "text": "x"}),
        ("preview", {"q0": ["0"], "note0": ["n"]}, {"action": "select", "optionIndex": 0, "notes": "n"}),
        ("one", {"q0": ["0"], "note0": ["n"]}, {"action": "select", "optionIndex": 0}),
        ("one", {"q0": ["0"], "chat": ["wait"]}, {"action": "chat", "text": "wait"}),
    ],
)
def test_a_form_means(kind: str, fields: dict[str, list[str]], decision: dict[str, Any]) -> None:
    assert decisions_of(fields, form_of(kind)) == [decision]


@pytest.mark.parametrize("fields", [{}, {"q0": ["own"]}, {"q0": ["x"]}, {"own0": ["  "]}])
def test_what_is_missing_is_said(fields: dict[str, list[str]]) -> None:
    with pytest.raises(EntryError, match="the question has no answer yet"):
        decisions_of(fields, form_of("one"))


@given(FIELDS, st.lists(st.sampled_from(["one", "several", "preview"]), min_size=1, max_size=3))
def test_whatever_is_sent_is_decisions_or_a_fault(fields: dict[str, list[str]], kinds: list[str]) -> None:
    try:
        found = decisions_of(fields, form_of(*kinds))
    except EntryError:
        return
    assert [one["action"] for one in found] == ["chat"] or len(found) == len(kinds)


@given(st.text(), st.text(), st.text())
def test_a_key_names_its_question(session: str, session_id: str, tool_use_id: str) -> None:
    key = key_of(session, session_id, tool_use_id)
    assert key.replace("-", "").replace("_", "").isalnum()
    if len(key) < 4096:
        assert read_key(key) == (session, session_id, tool_use_id, "")


@given(st.text(max_size=200))
def test_what_is_no_key_is_refused(text: str) -> None:
    try:
        found = read_key(text)
    except ValueError:
        return
    assert all(isinstance(one, str) for one in found)
