"""Values that a decision, or a server, may hold and that go through no further: refused before anything is done."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import events
from hookrouter.config import ApprovalRule
from hookrouter.dialogs.decisions import MAX_DEPTH, DecisionError, load_json
from hookrouter.dialogs.documents import Dialog
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.replies import PermissionRequestReply
from hookrouter.util import fastjson
from hookrouter_approvals.comparing import compared
from hookrouter_approvals.decisions import parse
from hookrouter_approvals.requests import form_request
from hookrouter_approvals.schema import content_faults, fields_of
from hookrouter_approvals.typed_values import read_values

TOOL = "mcp__demo__echo"
ASKED = {"text": "hi"}


@pytest.fixture
def asked(asking: Any) -> Any:
    """Return a session whose call waits for a decision, by rules that forbid an agent nothing."""
    rules = (ApprovalRule(tool="*", decide="agent"),)
    asking.config = asking.config._with(approvals=asking.config.approvals._with(rules=rules))
    asking.asked(TOOL, ASKED)
    return asking


def nested(depth: int, within: str = "object") -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if within == "object" else [value]
    return value


def test_an_empty_input_is_refused(asked: Any) -> None:
    result = asked.decide({"action": "allow", "input": {}})
    assert (result.outcome, result.exit_code) == ("invalid", 2)
    assert "Claude Code would run its own" in result.reason
    assert asked.app.store.stamps("pending-answer") == {}
    [question] = asked.open()
    assert question.request["answer_schema"]["prefixItems"][0]["anyOf"][0]["properties"]["input"]["minProperties"] == 1


def test_what_is_given_empty_is_compared_as_given(asked: Any) -> None:
    [question] = asked.open()
    assert not compared(question, {"action": "allow", "input": {}}, tool_input=ASKED).matches
    assert compared(question, {"action": "allow"}, tool_input=ASKED).matches
    plan = question._replace(kind="plan", request={"input": {"plan": "# Plan"}})
    assert not compared(plan, {"action": "approve", "plan": ""}, tool_input={}, plan="# Plan").matches


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1E+400", "NaN", "Infinity", "-Infinity", "9" * 5000])
def test_a_number_that_json_cannot_write_is_refused(asked: Any, number: str) -> None:
    for said in (f'{{"n": {number}}}', f'{{"n": [{{"m": {number}}}]}}'):
        result = asked.decide(f'[{{"action": "allow", "input": {said}}}]')
        assert (result.outcome, result.exit_code) == ("invalid", 2)
    assert asked.app.store.stamps("pending-answer") == {}


@pytest.mark.parametrize("within", ["object", "list"])
@pytest.mark.parametrize("depth", [MAX_DEPTH, 400, 5000, 100_000])
def test_what_is_nested_too_deeply_is_refused_and_the_hook_waits_on(asked: Any, depth: int, within: str) -> None:
    opening, closing = ('{"a":' * depth, "}" * depth) if within == "object" else ("[" * depth, "]" * depth)
    result = asked.decide(f'[{{"action": "allow", "input": {{"a": {opening}1{closing}}}}}]')
    assert (result.outcome, result.exit_code) == ("invalid", 2)
    assert "nested too deeply" in result.reason
    asked.decide({"action": "allow"})
    assert asked.given() == PermissionRequestReply.allow()


def test_the_deepest_input_that_is_taken_reaches_the_hook(asked: Any) -> None:
    given_input = nested(MAX_DEPTH - 2)
    assert asked.decide([{"action": "allow", "input": given_input}]).outcome == "delivered"
    assert asked.given().updated_input == given_input


def test_a_proposal_that_no_reply_can_give_is_refused_by_the_hook_with_the_reason(asking: Any) -> None:
    rules = (ApprovalRule(tool="*", decide="agent"),)
    asking.config = asking.config._with(approvals=asking.config.approvals._with(rules=rules))
    asking.asked(TOOL, ASKED, permission_suggestions=[{"type": "of a later client"}])
    result = asking.decide({"action": "allow", "always": 1})
    assert result.outcome == "not_delivered"
    assert "the waiting hook cannot use the answer: " in result.reason
    asking.decide({"action": "allow"})
    assert asking.given() == PermissionRequestReply.allow()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
def test_all_json_that_is_read_can_be_written(value: object) -> None:
    try:
        found = load_json(json.dumps(value))
    except DecisionError:
        return
    assert fastjson.loads(fastjson.dumps(found)) == found


def _schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Schemas as a server may send them: of what the protocol names, anything may stand in each place."""
    names = st.sampled_from(["a", "b", "a=b", ""])
    kinds = st.sampled_from(["string", "number", "integer", "boolean", "array", "object"]) | JSON
    options = st.lists(st.fixed_dictionaries({"const": st.text(max_size=3), "title": JSON}) | JSON, max_size=3) | JSON
    field = st.fixed_dictionaries(
        {},
        optional={
            "type": kinds,
            "enum": st.lists(JSON, max_size=3) | JSON,
            "enumNames": st.lists(JSON, max_size=3) | JSON,
            "oneOf": options,
            "anyOf": options,
            "items": st.fixed_dictionaries({}, optional={"enum": st.lists(JSON, max_size=3), "anyOf": options}) | JSON,
            **dict.fromkeys(("minimum", "maxLength", "minItems", "format", "title", "description", "default"), JSON),
        },
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "type": JSON,
            "properties": st.dictionaries(names, field | JSON, max_size=3) | JSON,
            "required": st.lists(names | JSON, max_size=3) | JSON,
        },
    )


@given(_schemas(), st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON, max_size=3), st.text())
def test_no_schema_of_a_server_raises_anything_but_what_is_told(
    schema: dict[str, Any], content: dict[str, Any], said: str
) -> None:
    schema = json.loads(json.dumps(schema))
    assert all(isinstance(fault, str) for fault in content_faults(content, schema))
    for text in (said, " ".join(f"{name}={said}" for name in fields_of(schema))):
        try:
            read_values(text, schema)
        except DecisionError:
            continue
    payload = {"mcp_server_name": "demo", "message": "?", "requested_schema": schema, "session_id": "s-1"}
    opening = form_request(events.Elicitation.from_json(payload), "form", "Elicitation")
    question = Dialog("s", "s-1", terminal=None, agent="night", gateway="inbox", **_told(opening))
    for decision in ({"action": "submit", "content": content}, {"action": "type", "text": said or "x"}):
        try:
            parse(question, json.dumps(decision))
        except DecisionError:
            continue


def _told(opening: Any) -> dict[str, Any]:
    return {key: value for key, value in opening._asdict().items() if key != "session"}


@pytest.mark.parametrize(
    ("told", "is_verified"),
    [
        ("No such file", True),
        ("approvals: No such file", True),
        ("cat: x: No such file", False),
        ("other: No such file", False),
        ("approvals: cat: No such file", False),
        ("approvals: No such file\nother: no", False),
    ],
)
def test_a_refusal_is_verified_by_exactly_what_claude_was_told(asked: Any, told: str, *, is_verified: bool) -> None:
    asked.decide({"action": "deny", "text": "No such file"})
    asked.given()
    asked.refused(told)
    asked.hook("stop")
    [verdict] = list_verdicts(asked.app.store)
    assert verdict.outcome == ("verified" if is_verified else "mismatch")


@pytest.mark.parametrize("decide", ["agent", "allow"])
def test_a_plan_without_an_input_is_approved_with_an_empty_one(asking: Any, decide: str) -> None:
    rules = (ApprovalRule(tool="ExitPlanMode", decide=decide),)
    asking.config = asking.config._with(approvals=asking.config.approvals._with(rules=rules))
    approved = PermissionRequestReply.allow(updated_input={})
    if decide == "allow":
        asking.call("ExitPlanMode", {})
        assert asking.request("ExitPlanMode", {})[0] == approved
        return
    asking.asked("ExitPlanMode", {})
    assert asking.decide({"action": "approve"}).outcome == "delivered"
    assert asking.given() == approved
