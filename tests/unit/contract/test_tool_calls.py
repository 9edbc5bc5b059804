"""What a hook of all tools finds out about a call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.tables import TOOL_ALIASES, TOOLS
from hookrouter.events import EVENT_CLASSES, PostToolBatch, PostToolUse
from hookrouter.samples import sample
from hookrouter.tools import (
    BashInput,
    BashOutput,
    EditInput,
    EditOutput,
    WriteInput,
    mcp_name,
    mcp_text,
    typed_input,
    typed_response,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "content"]), inner),
    max_leaves=8,
)


def call(tool: str, event: str = "PostToolUse", **changes: Any) -> Any:
    return EVENT_CLASSES[event].from_json(sample(event, tool, **changes))


def test_a_call_of_the_wanted_tool_is_typed_and_no_other() -> None:
    event = call("Bash")
    asked = typed_input(event, BashInput)
    assert isinstance(asked, BashInput)
    assert asked.command == event.tool_input["command"]
    answered = typed_response(event, BashOutput)
    assert isinstance(answered, BashOutput)
    assert answered.stdout == event.tool_response["stdout"]
    assert typed_input(event, EditInput) is None
    assert typed_response(event, EditOutput) is None


def test_calls_of_several_tools_are_told_apart_by_their_classes() -> None:
    def path(event: Any) -> str | None:
        match typed_input(event):
            case EditInput(file_path=path) | WriteInput(file_path=path):
                return path
        return None

    assert path(call("Edit")) == call("Edit").tool_input["file_path"]
    assert path(call("Write")) == call("Write").tool_input["file_path"]
    assert path(call("Bash")) is None


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUseFailure"])
def test_every_event_of_a_call_has_its_input(event: str) -> None:
    assert isinstance(typed_input(call("Bash", event)), BashInput)


@pytest.mark.parametrize("tool", ["mcp__github__create_issue", "ToolOfTomorrow"])
def test_what_is_not_in_the_contract_is_not_typed(tool: str) -> None:
    event = PostToolUse.from_json({**sample("PostToolUse", "Bash"), "tool_name": tool})
    assert typed_input(event) is None
    assert typed_response(event) is None
    assert typed_input(event, BashInput) is None
    assert event.tool_input == sample("PostToolUse", "Bash")["tool_input"]


def test_former_names_of_tools_are_understood() -> None:
    for old, new in TOOL_ALIASES.items():
        event = SimpleNamespace(tool_name=old, tool_input={}, tool_response={})
        found = typed_input(event)
        assert found is not None
        assert new == found.TOOL
        assert typed_input(event, type(found)) == found


@pytest.mark.parametrize("wanted", ["Bash", BashOutput, dict, BashInput(command="ls")])
def test_what_is_no_class_of_an_input_is_an_error_that_names_one(wanted: Any) -> None:
    with pytest.raises(TypeError, match=r"allowed is a class of hookrouter\.tools such as BashInput"):
        typed_input(call("Edit"), wanted)


def test_the_calls_of_a_batch_are_typed() -> None:
    raw = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t", "tool_response": "a.txt"}
    (one,) = PostToolBatch.from_json({"tool_calls": [raw]}).tool_calls
    asked, answered = typed_input(one, BashInput), typed_response(one, BashOutput)
    assert asked is not None
    assert asked.command == "ls"
    assert answered is not None
    assert (answered.stdout, answered.raw) == ("", "a.txt")


def test_every_tool_is_known_by_its_name() -> None:
    for tool in TOOLS:
        asked = typed_input(call(tool))
        assert asked is not None
        assert type(asked).__module__ == f"hookrouter.tools.{TOOLS[tool]}"


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("done", "done"),
        (
            [{"type": "text", "text": "one"}, {"type": "image", "data": "…"}, {"type": "text", "text": "two"}],
            "one\ntwo",
        ),
        ({"content": [{"type": "text", "text": "one"}]}, "one"),
        ({"content": "one"}, "one"),
        ({"rows": 3}, ""),
        ([{"type": "text"}, {"type": "text", "text": 5}, "loose"], ""),
        (None, ""),
    ],
)
def test_the_text_of_an_mcp_response(response: object, text: str) -> None:
    assert mcp_text(response) == text


@given(JSON)
def test_any_response_has_a_text(response: object) -> None:
    assert isinstance(mcp_text(response), str)


def test_mcp_names() -> None:
    assert mcp_name("mcp__github__create_issue") == ("github", "create_issue")
    assert mcp_name("Bash") is None
