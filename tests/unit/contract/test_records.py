"""Records read like frozen classes, from JSON of any shape."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import events, tools
from hookrouter._contract.document import recorded
from hookrouter._contract.tables import TOOLS
from hookrouter.events import EVENT_CLASSES
from hookrouter.records import Field, Record, ToolInput, ToolResponse, check, field, replace
from hookrouter.tools.calls import tool_class
from support.record_classes import RECORDS

SAMPLES: dict[str, Any] = recorded()

ASK = SAMPLES["PreToolUse:AskUserQuestion"]["payload"]

STOP = SAMPLES["Stop"]["payload"]

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)

WIRES = sorted({field.wire for record in RECORDS.values() for field in record.FIELDS.values()})

OBJECTS = st.dictionaries(
    st.sampled_from(WIRES),
    JSON_VALUES | st.lists(st.dictionaries(st.sampled_from(WIRES), JSON_VALUES, max_size=4), max_size=3),
)


def read_all(record: Record) -> None:
    """Read every attribute, and every attribute of the records below."""
    for name in type(record).FIELDS:
        value = getattr(record, name)
        below = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
        for item in below:
            if isinstance(item, Record):
                read_all(item)


def pre_tool_use(**changes: Any) -> events.PreToolUse:
    return events.PreToolUse.from_json({**ASK, **changes})


def form(raw: object = ASK["tool_input"]) -> tools.AskUserQuestionInput:
    return tools.AskUserQuestionInput.from_json(raw)


def option(**raw: Any) -> tools.Option:
    return tools.Option.from_json(raw)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_captured_payload_reads_by_its_fields(sample: str) -> None:
    payload = SAMPLES[sample]["payload"]
    event = EVENT_CLASSES[payload["hook_event_name"]].from_json(payload)
    assert type(event).__name__ == payload["hook_event_name"]
    assert event.raw is payload
    for wire, value in payload.items():
        read = getattr(event, wire)
        if isinstance(value, str | bool | int | float):
            assert read == value, f"{sample}: {wire}"
        else:
            assert read is not None or value is None, f"{sample}: {wire}"


def test_nested_records_are_objects() -> None:
    event = events.Stop.from_json(
        {**STOP, "session_crons": [{"id": "c", "schedule": "* *", "recurring": True, "prompt": "p"}]}
    )
    assert event.effort == events.Effort(level="medium")
    assert event.session_crons == (events.SessionCron(id="c", schedule="* *", recurring=True, prompt="p"),)
    assert event.background_tasks == ()


def test_missing_optional_fields_are_none() -> None:
    event = events.Stop.from_json({"session_id": "s", "stop_hook_active": True})
    assert (event.permission_mode, event.effort, event.background_tasks) == (None, None, None)


def test_unknown_fields_are_kept_in_raw_at_every_depth() -> None:
    event = events.Stop.from_json({**STOP, "aura": 1, "effort": {"level": "high", "budget": 5}})
    assert event.raw["aura"] == 1
    assert event.effort is not None
    assert event.effort.raw["budget"] == 5
    assert not hasattr(event, "aura")


def test_a_field_called_raw_does_not_collide() -> None:
    event = events.Stop.from_json({**STOP, "raw": "what the client calls raw"})
    assert event.raw["raw"] == "what the client calls raw"
    assert event.raw["session_id"] == STOP["session_id"]


def test_a_form_reads_with_python_names() -> None:
    asked = form()
    assert asked.questions[0].question == "Which framework?"
    assert asked.questions[0].options[1].label == "Vue"
    assert [question.multi_select for question in asked.questions] == [False, True]
    assert asked.questions[0].options[0].preview is None
    assert asked.answers is None
    assert asked.questions[1].options[1] == tools.Option(label="Logs, traces", description="b")


def test_a_form_of_the_extended_kind_reads() -> None:
    question = {"question": "How many?", "header": "N", "kind": "number", "options": [{"label": "1"}]}
    asked = form({"title": "T", "questions": [question]})
    assert asked.questions[0].multi_select is False
    assert asked.questions[0].options[0].description == ""
    assert asked.questions[0].raw["kind"] == "number"
    assert asked.raw["title"] == "T"


def test_an_answered_form_reads() -> None:
    response = SAMPLES["PostToolUse:AskUserQuestion"]["payload"]["tool_response"]
    output = tools.AskUserQuestionOutput.from_json({**response, "afkTimeoutMs": 60000, "followUp": True})
    assert output.answers == {"Which framework?": "Vue", "Which features?": "Auth"}
    assert output.annotations is not None
    assert output.annotations["Which framework?"].notes == "because small"
    assert (output.afk_timeout_ms, output.follow_up) == (60000, True)


def test_answers_are_kept_as_they_came() -> None:
    asked = form({**ASK["tool_input"], "answers": {"0": ["Auth", "Cache"], "Q": 5, "R": None}})
    assert asked.answers == {"0": ["Auth", "Cache"], "Q": 5, "R": None}


def test_a_record_is_shown_with_its_fields() -> None:
    assert repr(option(label="A", extra=1)) == "Option(label='A', description='', preview=None)"


def test_annotations_are_records_by_question() -> None:
    asked = form({"questions": [], "annotations": {"Q": {"notes": "n", "colour": "red"}}})
    assert asked.annotations is not None
    assert asked.annotations["Q"].notes == "n"
    assert asked.annotations["Q"].preview is None
    assert asked.annotations["Q"].raw["colour"] == "red"


def test_a_value_of_the_wrong_type_reads_as_none_and_stays_in_raw() -> None:
    event = pre_tool_use(permission_mode=3, effort={"level": 1}, tool_name=None)
    assert (event.permission_mode, event.effort, event.tool_name) == (None, None, None)
    assert event.raw["permission_mode"] == 3


def test_an_unknown_attribute_says_where_to_look() -> None:
    with pytest.raises(AttributeError, match=r"'PreToolUse' has no attribute 'aura'; .* in \.raw"):
        _ = pre_tool_use(aura=1).aura  # type: ignore[attr-defined]


def test_isinstance_knows_the_class() -> None:
    event: object = pre_tool_use()
    assert type(event) is events.PreToolUse
    assert isinstance(event, events.Event)
    assert isinstance(event, Record)
    assert not isinstance(event, events.PostToolUse)
    assert type(form().questions[0]) is tools.Question


def test_class_patterns_match() -> None:
    match pre_tool_use():
        case events.PreToolUse(tool_name="AskUserQuestion", cwd=cwd):
            assert cwd == ASK["cwd"]
        case _:
            pytest.fail("the record did not match its class")


def test_records_are_read_only() -> None:
    event = pre_tool_use()
    with pytest.raises(AttributeError, match="read only"):
        event.cwd = "/elsewhere"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="read only"):
        event._raw = {}
    with pytest.raises(AttributeError, match="read only"):
        del event.cwd
    assert event.cwd == ASK["cwd"]


def test_equality() -> None:
    event = pre_tool_use()
    assert event == events.PreToolUse.from_json(copy.deepcopy(ASK))
    assert event == pre_tool_use(aura=1)
    assert event != pre_tool_use(cwd="/elsewhere")
    assert event != events.PostToolUse.from_json(ASK)
    assert event != ASK
    assert option(label="A") == tools.Option(label="A")
    assert option(label="A") != tools.Option(label="B")


def test_hashes_agree_with_equality() -> None:
    assert hash(option(label="A", extra=1)) == hash(tools.Option(label="A"))
    assert {option(label="A", extra=1), option(label="A")} == {option(label="A")}
    with pytest.raises(TypeError, match="unhashable"):
        hash(pre_tool_use())


def test_copies_and_pickles() -> None:
    event = pre_tool_use()
    for other in (copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert type(other) is events.PreToolUse
        assert other == event


def test_dir_names_the_fields() -> None:
    assert {"tool_name", "tool_input", "raw"} <= set(dir(pre_tool_use()))


def test_records_are_made_by_hand_for_tests_of_plugins() -> None:
    values = {"session_id": "s", "transcript_path": "", "cwd": "/", "hook_event_name": "Setup", "trigger": "init"}
    made = events.Setup(**values)
    assert made == events.Setup.from_json(values)
    assert made.raw == values
    asked = tools.AskUserQuestionInput(
        questions=(tools.Question(question="Q?", header="Q", options=(tools.Option(label="A"),), multi_select=True),)
    )
    assert asked.raw == {
        "questions": [{"question": "Q?", "header": "Q", "options": [{"label": "A"}], "multiSelect": True}]
    }
    assert form(asked.raw) == asked
    resources = (tools.ListMcpResourcesToolResource(uri="u", name="n", server="s"),)
    assert tools.ListMcpResourcesToolOutput(resources=resources).raw == [{"uri": "u", "name": "n", "server": "s"}]


def test_a_record_made_by_hand_needs_what_is_required_and_knows_its_fields() -> None:
    with pytest.raises(TypeError, match="Option lacks label"):
        tools.Option()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Option has no field 'colour'"):
        tools.Option(label="A", colour="red")  # type: ignore[call-arg]


def test_a_copy_has_other_values() -> None:
    question = form().questions[0]
    changed = replace(question, header="H", multi_select=True)
    assert (changed.header, changed.multi_select, changed.question) == ("H", True, question.question)
    assert changed.raw["multiSelect"] is True
    assert question.header != "H"
    assert question.__replace__(header="H").header == "H"
    with pytest.raises(TypeError, match="no field 'head'"):
        replace(question, head="H")


def test_a_class_shows_its_fields() -> None:
    assert isinstance(vars(tools.BashInput)["command"], Field)
    assert tools.BashOutput.FIELDS["git_operation"].wire == "gitOperation"
    assert tools.BashOutput.FIELDS["git_operation"].record is tools.BashGitOperation


def test_a_record_class_of_ones_own() -> None:
    class Note(Record):
        """A note."""

        text: str = field("string")
        tags: tuple[str, ...] = field("array<string>", "tagNames", default=())

    assert Note.from_json({"text": "t", "tagNames": ["a", 5]}).tags == ()
    assert Note.from_json({"text": "t", "tagNames": ["a"]}).tags == ("a",)
    assert Note(text="t").raw == {"text": "t"}
    assert check(Note, {"tagNames": "a"}) == (
        ["text: missing, allowed string"],
        ["tagNames: found string, allowed array of strings"],
    )


@given(st.sampled_from(sorted(RECORDS)), JSON_VALUES | OBJECTS | st.lists(OBJECTS, max_size=3))
def test_reading_never_raises_on_any_json(name: str, raw: object) -> None:
    record = RECORDS[name].from_json(raw)
    read_all(record)
    assert repr(record).startswith(f"{name}(")
    assert record == RECORDS[name].from_json(copy.deepcopy(raw))
    assert record.raw is raw
    with pytest.raises(AttributeError):
        _ = record.no_such_attribute  # type: ignore[attr-defined]


def fitting(name: str) -> Any:
    """Return the smallest JSON that has what the record requires."""
    values: dict[str, Any] = {"object": {}, "any": {}, "boolean": True, "number": 1, "integer": 1}
    known: dict[str, Any] = {}
    for each in RECORDS[name].FIELDS.values():
        if each.required and each.kind.endswith("|null"):
            known[each.wire] = None
        elif each.required and each.kind.startswith("array"):
            known[each.wire] = []
        elif each.required:
            known[each.wire] = fitting(each.record.__name__) if each.record else values.get(each.kind, "x")
    return known.get("", known)


@given(st.sampled_from(sorted(RECORDS)), OBJECTS)
def test_what_the_check_lets_through_reads_as_its_types_say_and_can_be_made_by_hand(
    name: str, raw: dict[str, Any]
) -> None:
    payload = fitting(name)
    if isinstance(payload, dict):
        payload = {**raw, **payload}
    kind = RECORDS[name]
    assert check(kind, payload)[0] == []
    record = kind.from_json(payload)
    for attribute, known in kind.FIELDS.items():
        if known.required and not known.kind.endswith("|null") and known.kind != "any":
            assert getattr(record, attribute) is not None
    assert replace(record) == record


BASH = {
    "stdout": "a\n",
    "stderr": "",
    "interrupted": False,
    "gitOperation": {"commit": {"sha": "1", "kind": "amended"}},
}


def test_a_changed_input_keeps_what_is_not_named() -> None:
    raw = {"command": "ls", "timeout": 5, "dangerouslyDisableSandbox": True, "of_a_newer_client": [1]}
    given = tools.BashInput.from_json(raw)

    assert given.changed() == raw
    assert given.changed(command="nice ls") == {**raw, "command": "nice ls"}
    assert given.changed(dangerously_disable_sandbox=False) == {**raw, "dangerouslyDisableSandbox": False}
    without = {key: value for key, value in raw.items() if key != "timeout"}
    assert given.changed(timeout=None) == without
    assert tools.BashInput.from_json(without).changed(timeout=None) == without
    assert raw["command"] == "ls"


def test_records_in_a_changed_input_become_json() -> None:
    questions = form().questions
    assert form().changed(questions=questions) == ASK["tool_input"]
    changed = form().changed(questions=(replace(questions[0], question="Why?"),))
    assert changed["questions"][0]["question"] == "Why?"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cmd": "ls"}, "BashInput has no field 'cmd'; it has command, timeout, description, "),
        ({"raw": {}}, "BashInput has no field 'raw'"),
        ({"dangerouslyDisableSandbox": True}, "has no field 'dangerouslyDisableSandbox'"),
        ({"command": 5}, "BashInput.command: found number, allowed string"),
        ({"command": None}, "BashInput.command: found null, allowed string"),
        ({"timeout": "5"}, "BashInput.timeout: found string, allowed number"),
        ({"command": object()}, "BashInput.command: found "),
    ],
)
def test_a_change_that_does_not_fit_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        tools.BashInput.from_json({"command": "ls"}).changed(**change)


@pytest.mark.parametrize("raw", [None, [], "ls", 5])
def test_an_input_that_is_no_object_cannot_be_changed(raw: object) -> None:
    with pytest.raises(TypeError, match="BashInput was made of "):
        tools.BashInput.from_json(raw).changed(command="ls")


@given(OBJECTS, st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=3))
def test_a_change_of_any_input_touches_one_key(known: dict[str, Any], more: dict[str, Any]) -> None:
    raw = {**known, **more}
    assert tools.EditInput.from_json(raw).changed(old_string="x") == {**raw, "old_string": "x"}


def test_a_tools_response_reads_like_its_class() -> None:
    response = tools.BashOutput.from_json(BASH)
    assert (response.stdout, response.interrupted, response.is_image) == ("a\n", False, None)
    assert response.git_operation is not None
    assert response.git_operation.commit is not None
    assert (response.git_operation.commit.kind, response.git_operation.push) == ("amended", None)
    assert response.raw is BASH


def test_options_that_are_no_words_have_names_that_are() -> None:
    asked = tools.GrepInput.from_json({"pattern": "x", "-n": True, "-A": 3})
    assert (asked.line_numbers, asked.lines_after, asked.lines_before) == (True, 3, None)
    changed = tools.TaskUpdateStatusChange.from_json({"from": "pending", "to": "completed"})
    assert (changed.from_, changed.to) == ("pending", "completed")


@pytest.mark.parametrize("raw", [None, "Error: no", ["a"], 3, {"stdout": 5, "gitOperation": "none"}])
def test_a_response_that_does_not_fit_reads_as_empty(raw: object) -> None:
    response = tools.BashOutput.from_json(raw)
    assert (response.stdout, response.interrupted, response.git_operation) == ("", False, None)
    read = tools.ReadOutput.from_json(raw)
    assert (read.type, read.file.content, read.file.dimensions) == ("", None, None)
    assert response.raw is raw


@pytest.mark.parametrize("raw", [{"command": ["git", "push", "--force"]}, {"command": {"a": 1}}, {}, [], None])
def test_what_an_input_lacks_reads_as_none_as_its_type_says(raw: object) -> None:
    assert tools.BashInput.from_json(raw).command is None
    assert tools.BashInput.__annotations__["command"] == "str | None"


def test_a_response_that_is_an_array_reads_by_the_name_of_its_items() -> None:
    found = [{"uri": "file:///a", "name": "a", "server": "s"}]
    response = tools.ListMcpResourcesToolOutput.from_json(found)
    assert [resource.name for resource in response.resources] == ["a"]
    assert response.raw is found
    assert tools.ListMcpResourcesToolOutput.from_json({"resources": found}).resources == ()
    assert check(tools.ListMcpResourcesToolOutput, [{"uri": 1}])[0][0] == "[0].uri: found number, allowed string"
    assert "allowed" in check(tools.ListMcpResourcesToolOutput, {"resources": found})[0][0]


def test_items_may_be_records_or_text() -> None:
    results = ["I searched.", {"tool_use_id": "t", "content": [{"title": "T", "url": "u"}]}]
    raw = {"query": "q", "results": results, "durationSeconds": 1}
    text, hits = tools.WebSearchOutput.from_json(raw).results
    assert text == "I searched."
    assert isinstance(hits, tools.WebSearchResult)
    assert hits.content[0].title == "T"
    assert tools.WebSearchOutput.from_json({**raw, "results": [5]}).results == ()


def test_null_is_a_value_where_the_contract_allows_it() -> None:
    assert check(tools.TaskGetOutput, {"task": None}) == ([], [])
    assert tools.TaskGetOutput.from_json({"task": None}) == tools.TaskGetOutput(task=None)
    assert check(tools.TaskGetOutput, {"task": 1}) == (["task: found number, allowed object or null"], [])


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(("part", "base"), [("Input", ToolInput), ("Output", ToolResponse)])
def test_every_tool_has_its_classes(tool: str, part: str, base: type) -> None:
    kind = tool_class(tool, part)
    assert issubclass(kind, base)
    assert tool == kind.TOOL
    assert getattr(tools, kind.__name__) is kind
    record = kind.from_json({"extra": 1})
    assert record.raw == {"extra": 1}
    assert set(kind.FIELDS) <= set(dir(record))


def test_a_tool_that_is_not_known_has_no_class() -> None:
    with pytest.raises(KeyError):
        tool_class("ToolOfTomorrow", "Input")
