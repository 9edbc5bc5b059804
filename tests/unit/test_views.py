"""Views read like the attrs classes, from JSON of any shape."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import events, tools
from hookrouter.converter import PayloadError, record_class, structure
from hookrouter.payloads import check, fields_of
from hookrouter.samples import recorded
from hookrouter.tables import FIELDS, TOOLS
from hookrouter.tool_fields import TOOL_FIELDS
from hookrouter.views import View, tool_view, view

SAMPLES: dict[str, Any] = recorded()

ASK = SAMPLES["PreToolUse:AskUserQuestion"]["payload"]

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)

RECORDS = {**FIELDS, **TOOL_FIELDS}

WIRES = sorted({wire for table in RECORDS.values() for wire, *_ in table.values()})

OBJECTS = st.dictionaries(
    st.sampled_from(WIRES),
    JSON_VALUES | st.lists(st.dictionaries(st.sampled_from(WIRES), JSON_VALUES, max_size=4), max_size=3),
)


def read_all(record: Any, type_name: str) -> None:
    """Read every attribute, and every attribute of the views below."""
    for name, (_wire, _kind, _required, nested, _default) in RECORDS[type_name].items():
        value = getattr(record, name)
        if nested is None or value is None:
            continue
        below = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
        for item in below:
            if not isinstance(item, str):
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


@given(st.sampled_from(sorted(RECORDS)), JSON_VALUES | OBJECTS | st.lists(OBJECTS, max_size=3))
def test_reading_never_raises_on_any_json(name: str, raw: object) -> None:
    record = View(name, raw)
    read_all(record, name)
    assert repr(record).startswith(f"{name}(")
    assert record == View(name, copy.deepcopy(raw))
    assert record.raw is raw
    with pytest.raises(AttributeError):
        _ = record.no_such_attribute


def fitting(name: str) -> Any:
    """Return the smallest JSON that has what the record requires."""
    values: dict[str, Any] = {"object": {}, "any": {}, "boolean": True, "number": 1, "integer": 1}
    known = {
        wire: [] if kind.startswith("array") else fitting(nested) if nested else values.get(kind, "x")
        for wire, kind, needed, nested, _ in RECORDS[name].values()
        if needed and not kind.endswith("|null")
    } | {wire: None for wire, kind, needed, *_ in RECORDS[name].values() if needed and kind.endswith("|null")}
    return known.get("", known)


@given(st.sampled_from(sorted(RECORDS)), OBJECTS)
def test_what_the_check_lets_through_reads_like_its_object(name: str, raw: dict[str, Any]) -> None:
    payload = fitting(name)
    if isinstance(payload, dict):
        payload = {**raw, **payload}
    assert check(name, payload)[0] == []
    record = View(name, payload)
    assert record == record.structured()
    assert record.structured() == record


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


BASH = {
    "stdout": "a\n",
    "stderr": "",
    "interrupted": False,
    "gitOperation": {"commit": {"sha": "1", "kind": "amended"}},
}


def test_a_tools_response_reads_like_its_class() -> None:
    response: tools.BashOutput = tool_view("Bash", "Output", BASH)
    assert (response.stdout, response.interrupted, response.is_image) == ("a\n", False, None)
    assert response.git_operation is not None
    assert response.git_operation.commit is not None
    assert (response.git_operation.commit.kind, response.git_operation.push) == ("amended", None)
    assert isinstance(response, tools.BashOutput)
    assert response.raw is BASH


def test_options_that_are_no_words_have_names_that_are() -> None:
    asked: tools.GrepInput = tool_view("Grep", "Input", {"pattern": "x", "-n": True, "-A": 3})
    assert (asked.line_numbers, asked.lines_after, asked.lines_before) == (True, 3, None)
    changed = view("TaskUpdateStatusChange", {"from": "pending", "to": "completed"})
    assert (changed.from_, changed.to) == ("pending", "completed")


@pytest.mark.parametrize("raw", [None, "Error: no", ["a"], 3, {"stdout": 5, "gitOperation": "none"}])
def test_a_response_that_does_not_fit_reads_as_empty(raw: object) -> None:
    response: tools.BashOutput = tool_view("Bash", "Output", raw)
    assert (response.stdout, response.interrupted, response.git_operation) == ("", False, None)
    read: tools.ReadOutput = tool_view("Read", "Output", raw)
    assert (read.type, read.file.content, read.file.dimensions) == ("", None, None)
    assert response.raw is raw


def test_what_an_input_lacks_reads_as_none_so_that_no_guard_takes_it_for_harmless() -> None:
    assert tool_view("Bash", "Input", {"command": ["rm"]}).command is None
    assert tool_view("Bash", "Input", {}).command is None


def test_a_response_that_is_an_array_reads_by_the_name_of_its_items() -> None:
    found = [{"uri": "file:///a", "name": "a", "server": "s"}]
    response: tools.ListMcpResourcesToolOutput = tool_view("ListMcpResourcesTool", "Output", found)
    assert [resource.name for resource in response.resources] == ["a"]
    assert response.raw is found
    assert response == structure("ListMcpResourcesToolOutput", found)
    assert tool_view("ListMcpResourcesTool", "Output", {"resources": found}).resources == ()
    assert check("ListMcpResourcesToolOutput", [{"uri": 1}])[0][0] == "[0].uri: found number, allowed string"
    with pytest.raises(PayloadError, match="allowed"):
        structure("ListMcpResourcesToolOutput", {"resources": found})


def test_items_may_be_records_or_text() -> None:
    results = ["I searched.", {"tool_use_id": "t", "content": [{"title": "T", "url": "u"}]}]
    raw = {"query": "q", "results": results, "durationSeconds": 1}
    response: tools.WebSearchOutput = tool_view("WebSearch", "Output", raw)
    text, hits = response.results
    assert text == "I searched."
    assert isinstance(hits, tools.WebSearchResult)
    assert hits.content[0].title == "T"
    assert response == structure("WebSearchOutput", raw)
    assert tool_view("WebSearch", "Output", {**raw, "results": [5]}).results == ()


def test_null_is_a_value_where_the_contract_allows_it() -> None:
    assert check("TaskGetOutput", {"task": None}) == ([], [])
    assert tool_view("TaskGet", "Output", {"task": None}).task is None
    assert structure("TaskGetOutput", {"task": None}) == tools.TaskGetOutput(task=None)
    assert check("TaskGetOutput", {"task": 1}) == (["task: found number, allowed object or null"], [])


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("part", ["Input", "Output"])
def test_every_tool_has_its_views(tool: str, part: str) -> None:
    record = tool_view(tool, part, {"extra": 1})
    assert record.raw == {"extra": 1}
    assert isinstance(record, getattr(tools, record._type_name))
    assert set(fields_of(record._type_name)) <= set(dir(record))


def test_the_fields_of_tools_are_loaded_when_the_first_is_read() -> None:
    code = (
        "import sys; from hookrouter.views import tool_view\n"
        "record = tool_view('Bash', 'Input', {'command': 'ls'}); record.raw\n"
        "assert 'hookrouter.tool_fields' not in sys.modules\n"
        "assert record.command == 'ls' and 'hookrouter.tool_fields' in sys.modules\n"
        "assert not {'attr', 'attrs', 'cattrs', 'json', 'hookrouter.tools'} & set(sys.modules), 'imported too much'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
