"""What the checks say about payloads, and which hooks a payload concerns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.document import recorded
from hookrouter._contract.hook_names import event_facts, hook_names, mcp_name
from hookrouter._contract.tables import EVENT_NAMES, TOOLS
from hookrouter.records import MAX_FAULTS
from hookrouter.records import check as check_class
from support.record_classes import RECORDS

SAMPLES: dict[str, Any] = recorded()

COMMON = {"session_id": "s", "transcript_path": "/t", "cwd": "/c"}

PRE_TOOL_USE = {
    **COMMON,
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def check(name: str, payload: object) -> tuple[list[str], list[str]]:
    return check_class(RECORDS[name], payload)


def wires(name: str) -> list[str]:
    return [field.wire for field in RECORDS[name].FIELDS.values()]


ARRAYS = {name for name in RECORDS if "" in wires(name)}
"""The responses that are arrays themselves."""

RECORD_NAMES = st.sampled_from(sorted(RECORDS))


@st.composite
def nearly_right(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A record name and an object whose keys are its wire names, with values of any type."""
    name = draw(RECORD_NAMES)
    nested = st.sampled_from(sorted({wire for other in RECORDS for wire in wires(other)}))
    values = JSON_VALUES | st.lists(st.dictionaries(nested, JSON_VALUES, max_size=4), max_size=3)
    return name, draw(st.dictionaries(st.sampled_from(wires(name) or ["x"]) | st.text(max_size=6), values, max_size=8))


@pytest.mark.parametrize("sample", SAMPLES)
def test_captured_payloads_have_no_faults(sample: str) -> None:
    payload = SAMPLES[sample]["payload"]
    assert check(payload["hook_event_name"], payload) == ([], [])
    if payload.get("tool_name") == "AskUserQuestion":
        assert check("AskUserQuestionInput", payload["tool_input"]) == ([], [])
        if "tool_response" in payload:
            assert check("AskUserQuestionOutput", payload["tool_response"]) == ([], [])


def test_a_missing_required_field_is_an_error_that_names_it() -> None:
    payload = {key: value for key, value in PRE_TOOL_USE.items() if key != "tool_name"}
    assert check("PreToolUse", payload) == (["tool_name: missing, allowed string"], [])


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("tool_name", 5, "tool_name: found number, allowed string"),
        ("tool_name", None, "tool_name: found null, allowed string"),
        ("tool_input", [], "tool_input: found array, allowed object"),
        ("session_id", True, "session_id: found boolean, allowed string"),
        ("cwd", {}, "cwd: found object, allowed string"),
    ],
)
def test_a_required_field_of_the_wrong_type_is_an_error(field: str, value: object, text: str) -> None:
    assert check("PreToolUse", {**PRE_TOOL_USE, field: value}) == ([text], [])


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("permission_mode", 1, "permission_mode: found number, allowed string"),
        ("effort", "high", "effort: found string, allowed object"),
        ("effort", {}, "effort.level: missing, allowed string"),
        ("mcp_server", {"name": "demo", "source": False}, "mcp_server.source: found boolean, allowed string"),
    ],
)
def test_an_optional_field_of_the_wrong_type_is_a_warning(field: str, value: object, text: str) -> None:
    assert check("PreToolUse", {**PRE_TOOL_USE, field: value}) == ([], [text])


def test_null_is_a_missing_optional_field() -> None:
    assert check("PreToolUse", {**PRE_TOOL_USE, "permission_mode": None, "effort": None}) == ([], [])


def test_new_fields_and_new_values_are_no_faults() -> None:
    payload = {**PRE_TOOL_USE, "permission_mode": "telepathic", "aura": {"colour": "blue"}}
    assert check("PreToolUse", payload) == ([], [])


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_no_number(value: bool) -> None:
    payload = {**COMMON, "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}, "tool_use_id": "t"}
    _errors, warnings = check("PostToolUse", {**payload, "tool_response": None, "duration_ms": value})
    assert warnings == ["duration_ms: found boolean, allowed number"]
    display = {**COMMON, "hook_event_name": "MessageDisplay", "turn_id": "t", "message_id": "m", "final": False}
    errors, _warnings = check("MessageDisplay", {**display, "delta": "", "index": value})
    assert errors == ["index: found boolean, allowed integer"]


def test_null_is_allowed_where_the_contract_says_so() -> None:
    payload = {**COMMON, "hook_event_name": "PreCompact", "trigger": "auto"}
    assert check("PreCompact", {**payload, "custom_instructions": None}) == ([], [])
    assert check("PreCompact", payload)[0] == ["custom_instructions: missing, allowed string or null"]


def test_paths_lead_into_arrays_and_maps() -> None:
    form = {
        "questions": [
            {"question": "Q?", "header": "Q", "multiSelect": False, "options": [{"label": 1}, "two"]},
            "not a question",
        ],
        "annotations": {"Q?": {"notes": 3}, "R?": 4},
    }
    assert check("AskUserQuestionInput", form) == (
        [
            "questions[0].options[0].label: found number, allowed string",
            "questions[0].options[1]: found string, allowed object",
            "questions[1]: found string, allowed object",
        ],
        ["annotations['Q?'].notes: found number, allowed string", "annotations['R?']: found number, allowed object"],
    )


def test_arrays_of_strings_are_looked_into() -> None:
    payload = {**COMMON, "hook_event_name": "InstructionsLoaded", "file_path": "f", "memory_type": "User"}
    payload["load_reason"] = "include"
    assert check("InstructionsLoaded", {**payload, "globs": ["*.py"]}) == ([], [])
    _errors, warnings = check("InstructionsLoaded", {**payload, "globs": ["*.py", 7]})
    assert warnings == ["globs[1]: found number, allowed string"]


@pytest.mark.parametrize("payload", [None, [], "text", 3, True, 1.5])
def test_a_payload_that_is_no_object_is_an_error(payload: object) -> None:
    errors, warnings = check("Stop", payload)
    assert len(errors) == 1
    assert errors[0].startswith("Stop: found ")
    assert warnings == []


def test_a_huge_broken_payload_has_a_short_report() -> None:
    errors, _ = check("AskUserQuestionInput", {"questions": [0] * 100_000})
    assert len(errors) == MAX_FAULTS + 1
    assert errors[-1] == f"and {100_000 - MAX_FAULTS} more"


@given(nearly_right())
def test_check_never_raises_and_only_strings_come_back(case: tuple[str, dict[str, Any]]) -> None:
    name, payload = case
    errors, warnings = check(name, payload)
    assert all(isinstance(text, str) for text in errors + warnings)
    missing = {field.wire for field in RECORDS[name].FIELDS.values() if field.required} - set(payload)
    assert len(errors) >= min(len(missing), MAX_FAULTS)


def test_whatever_is_wrong_is_said_with_what_is_allowed() -> None:
    for name, record in RECORDS.items():
        for field in record.FIELDS.values():
            wire = field.wire
            if field.kind != "any":
                errors, warnings = check(name, 1.5j if wire == "" else {wire: 1.5j})
                (said,) = [text for text in errors + warnings if text.startswith(f"{wire}: found")]
                assert "allowed" in said
                assert (said in errors) is field.required


@given(RECORD_NAMES, JSON_VALUES)
def test_check_takes_any_json(name: str, value: object) -> None:
    errors, _warnings = check(name, value)
    assert isinstance(value, dict) or len(errors) == 1 or name in ARRAYS


@pytest.mark.parametrize("name", EVENT_NAMES)
def test_events_are_found_by_both_names(name: str) -> None:
    record = event_facts(name)
    assert record is not None
    assert record is event_facts(EVENT_NAMES[name])
    assert record.name == name


def test_unknown_events_have_no_record() -> None:
    assert event_facts("PostQuantumLeap") is None
    assert event_facts("") is None


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("mcp__demo__ask_me", ("demo", "ask_me")),
        ("mcp__demo__a__b", ("demo", "a__b")),
        ("mcp__claude_ai_Mail__send-it", ("claude_ai_Mail", "send-it")),
        ("mcp__demo", None),
        ("mcp__demo__", None),
        ("mcp____tool", None),
        ("mcp_demo_tool", None),
        ("xmcp__demo__tool", None),
        ("Bash", None),
        ("", None),
    ],
)
def test_names_of_mcp_tools(name: str, parts: tuple[str, str] | None) -> None:
    assert mcp_name(name) == parts


@pytest.mark.parametrize(
    ("event", "tool", "hooks"),
    [
        ("PreToolUse", "Bash", ("pre_tool_use_bash", "pre_tool_use", "raw_event")),
        ("pre-tool-use", "Bash", ("pre_tool_use_bash", "pre_tool_use", "raw_event")),
        ("PostToolUse", "Task", ("post_tool_use_agent", "post_tool_use", "raw_event")),
        ("PostToolUseFailure", "LSP", ("post_tool_use_failure_lsp", "post_tool_use_failure", "raw_event")),
        ("PermissionRequest", "mcp__a__b", ("permission_request_mcp", "permission_request", "raw_event")),
        ("PreToolUse", "ToolOfTomorrow", ("pre_tool_use", "raw_event")),
        ("PreToolUse", "mcp", ("pre_tool_use", "raw_event")),
        ("PreToolUse", None, ("pre_tool_use", "raw_event")),
        ("Stop", None, ("stop", "raw_event")),
        ("Stop", "Bash", ("stop", "raw_event")),
        ("PostQuantumLeap", "Bash", ("raw_event",)),
    ],
)
def test_hooks_of_a_payload(event: str, tool: str | None, hooks: tuple[str, ...]) -> None:
    assert hook_names(event, tool) == hooks


def test_every_tool_has_its_hook() -> None:
    for tool, suffix in TOOLS.items():
        assert hook_names("PreToolUse", tool)[0] == f"pre_tool_use_{suffix}"
