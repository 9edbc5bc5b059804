"""Views read like the attrs classes, from JSON of any shape."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import events, tools
from hookrouter.converter import PayloadError, record_class, structure
from hookrouter.payloads import check
from hookrouter.tables import FIELDS
from hookrouter.views import View, view

SAMPLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "hooks-samples.json").read_text(encoding="utf-8")
)

ASK = SAMPLES["PreToolUse:AskUserQuestion"]["payload"]

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)

WIRES = sorted({wire for table in FIELDS.values() for wire, *_ in table.values()})

OBJECTS = st.dictionaries(
    st.sampled_from(WIRES),
    JSON_VALUES | st.lists(st.dictionaries(st.sampled_from(WIRES), JSON_VALUES, max_size=4), max_size=3),
)


def read_all(record: Any, type_name: str) -> None:
    """Read every attribute, and every attribute of the views below."""
    for name, (_wire, _kind, _required, nested, _default) in FIELDS[type_name].items():
        value = getattr(record, name)
        if nested is None or value is None:
            continue
        below = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
        for item in below:
            read_all(item, nested)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_view_of_a_captured_payload_reads_like_the_object(sample: str) -> None:
    payload = SAMPLES[sample]["payload"]
    name = payload["hook_event_name"]
    event = view(name, payload)
    structured = structure(name, payload)
    for field in attrs.fields(record_class(name)):
        assert getattr(event, field.name) == getattr(structured, field.name), field.name
    assert event == structured
    assert structured == event
    assert event.structured() == structured
    assert type(event.structured()) is record_class(name)
    assert attrs.asdict(event.structured()) == attrs.asdict(structured)
    assert event.raw is payload


def test_a_form_reads_with_python_names() -> None:
    form = view("AskUserQuestionInput", ASK["tool_input"])
    assert form.questions[0].question == "Which framework?"
    assert form.questions[0].options[1].label == "Vue"
    assert form.questions[1].multi_select is True
    assert form.questions[0].options[0].preview is None
    assert form.answers is None
    assert form == structure("AskUserQuestionInput", ASK["tool_input"])


def test_a_view_is_shown_like_its_object() -> None:
    form = ASK["tool_input"]
    assert repr(view("AskUserQuestionInput", form)) == repr(structure("AskUserQuestionInput", form))


def test_functions_of_attrs_take_views() -> None:
    question = view("AskUserQuestionInput", ASK["tool_input"]).questions[0]
    assert attrs.evolve(question, header="H") == attrs.evolve(question.structured(), header="H")
    assert [field.name for field in attrs.fields(question.__class__)] == [*FIELDS["Question"], "raw"]
    option = view("Option", {"label": "A"})
    assert attrs.asdict(option, filter=lambda field, _: field.name != "raw") == {
        "label": "A",
        "description": "",
        "preview": None,
    }


def test_defaults_of_the_class_are_read_where_a_field_is_missing() -> None:
    form = view("AskUserQuestionInput", {"questions": [{"question": "Q", "header": "H", "options": [{"label": "L"}]}]})
    assert form.questions[0].multi_select is False
    assert form.questions[0].options[0].description == ""


def test_annotations_are_views_by_question() -> None:
    form = view("AskUserQuestionInput", {"questions": [], "annotations": {"Q": {"notes": "n", "colour": "red"}}})
    assert form.annotations is not None
    assert form.annotations["Q"].notes == "n"
    assert form.annotations["Q"].preview is None
    assert form.annotations["Q"].raw["colour"] == "red"


def test_a_value_of_the_wrong_type_reads_as_none_and_stays_in_raw() -> None:
    event = view("PreToolUse", {**ASK, "permission_mode": 3, "effort": {"level": 1}, "tool_name": None})
    assert event.permission_mode is None
    assert event.effort is None
    assert event.tool_name is None
    assert event.raw["permission_mode"] == 3


def test_an_unknown_attribute_says_where_to_look() -> None:
    with pytest.raises(AttributeError, match=r"'PreToolUse' has no attribute 'aura'; .* in \.raw"):
        _ = view("PreToolUse", {**ASK, "aura": 1}).aura


def test_isinstance_knows_the_class() -> None:
    event = view("PreToolUse", ASK)
    assert isinstance(event, events.PreToolUse)
    assert isinstance(event, events.Event)
    assert isinstance(event, View)
    assert not isinstance(event, events.PostToolUse)
    assert isinstance(view("AskUserQuestionInput", ASK["tool_input"]).questions[0], tools.Question)
    assert attrs.has(event.__class__)


def test_class_patterns_match_views() -> None:
    match view("PreToolUse", ASK):
        case events.PreToolUse(tool_name="AskUserQuestion", cwd=cwd):
            assert cwd == ASK["cwd"]
        case _:
            pytest.fail("the view did not match its class")


def test_a_future_event_is_seen_through_the_common_fields() -> None:
    event = view("PostQuantumLeap", {**ASK, "hook_event_name": "PostQuantumLeap"})
    assert isinstance(event, events.UnknownEvent)
    assert event.hook_event_name == "PostQuantumLeap"
    with pytest.raises(AttributeError):
        _ = event.tool_name


def test_views_are_read_only() -> None:
    event = view("PreToolUse", ASK)
    with pytest.raises(AttributeError, match="read only"):
        event.cwd = "/elsewhere"
    with pytest.raises(AttributeError, match="read only"):
        event._raw = {}
    with pytest.raises(AttributeError, match="read only"):
        del event.cwd
    assert event.cwd == ASK["cwd"]


def test_equality() -> None:
    event = view("PreToolUse", ASK)
    assert event == view("PreToolUse", copy.deepcopy(ASK))
    assert event == view("PreToolUse", {**ASK, "aura": 1})
    assert event != view("PreToolUse", {**ASK, "cwd": "/elsewhere"})
    assert event != view("PostToolUse", ASK)
    assert event != ASK
    assert event != "PreToolUse"
    assert view("Option", {"label": "A"}) == tools.Option(label="A")
    assert view("Option", {"label": "A"}) != tools.Option(label="B")


def test_hashes_agree_with_equality() -> None:
    option = view("Option", {"label": "A", "extra": 1})
    assert hash(option) == hash(tools.Option(label="A"))
    assert {option, view("Option", {"label": "A"})} == {option}


def test_copies_and_pickles() -> None:
    event = view("PreToolUse", ASK)
    for other in (copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert type(other) is View
        assert other == event


def test_dir_names_the_fields() -> None:
    assert {"tool_name", "tool_input", "raw", "structured"} <= set(dir(view("PreToolUse", ASK)))


def test_structuring_a_broken_payload_says_what_is_wrong() -> None:
    with pytest.raises(PayloadError, match="tool_use_id"):
        view("PreToolUse", {key: value for key, value in ASK.items() if key != "tool_use_id"}).structured()


def test_a_record_name_that_is_not_in_the_contract_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        View("NoSuchRecord", {})


@given(st.sampled_from(sorted(FIELDS)), JSON_VALUES | OBJECTS)
def test_reading_never_raises_on_any_json(name: str, raw: object) -> None:
    record = View(name, raw)
    read_all(record, name)
    assert repr(record).startswith(f"{name}(")
    assert record == View(name, copy.deepcopy(raw))
    assert record.raw is raw
    with pytest.raises(AttributeError):
        _ = record.no_such_attribute


@given(st.sampled_from(sorted(FIELDS)), OBJECTS)
def test_what_the_check_lets_through_reads_like_its_object(name: str, raw: dict[str, Any]) -> None:
    required = {wire: {} for wire, kind, needed, *_ in FIELDS[name].values() if needed and kind in ("object", "any")}
    required |= {wire: "x" for wire, kind, needed, *_ in FIELDS[name].values() if needed and kind.startswith("string")}
    required |= {wire: True for wire, kind, needed, *_ in FIELDS[name].values() if needed and kind == "boolean"}
    required |= {
        wire: 1 for wire, kind, needed, *_ in FIELDS[name].values() if needed and kind in ("number", "integer")
    }
    required |= {wire: [] for wire, kind, needed, *_ in FIELDS[name].values() if needed and kind.startswith("array")}
    payload = {**raw, **required}
    assert check(name, payload)[0] == []
    record = View(name, payload)
    assert record == record.structured()


def test_reading_a_view_imports_neither_attrs_nor_cattrs() -> None:
    code = (
        "import sys; from hookrouter.views import view\n"
        "e = view('PreToolUse', {'tool_name': 'Bash', 'effort': {'level': 'high'}, 'tool_input': {}})\n"
        "assert e.effort.level == 'high' and e.tool_name == 'Bash' and e.cwd is None and repr(e)\n"
        "assert e != 3 and e == view('PreToolUse', dict(e.raw))\n"
        "assert not {'attr', 'attrs', 'cattrs', 'json', 'hookrouter.events'} & set(sys.modules), 'imported too much'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
