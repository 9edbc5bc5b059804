"""What a word on the command line and bytes on stdin come to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.hook_names import command_word
from hookrouter._contract.tables import COMMON_FIELDS, EVENT_NAMES, EVENTS
from hookrouter._routing.hook_call import MAX_PAYLOAD, fits, parse
from hookrouter.events import EVENT_CLASSES
from hookrouter.records import check
from hookrouter.samples import sample
from support.hook_place import BASH


def data(**changes: object) -> bytes:
    return json.dumps({**BASH, **changes}).encode()


@pytest.mark.parametrize("word", ["pre-tool-use", "PreToolUse"])
def test_a_call_can_be_named_in_either_way(word: str) -> None:
    call = parse(word, data())
    assert (call.problem, call.warnings) == ("", [])
    assert (call.event, call.is_known, call.tool, call.tool_use_id) == ("PreToolUse", True, "Bash", "toolu_1")
    assert call.hooks == ("pre_tool_use_bash", "pre_tool_use", "raw_event")
    assert (call.session_id, call.payload) == ("s", BASH)


@pytest.mark.parametrize(
    ("word", "sent", "problem"),
    [
        ("pre-tool-use", None, f"the payload is larger than {MAX_PAYLOAD} bytes"),
        ("pre-tool-use", b"{", "the payload is not JSON: "),
        ("pre-tool-use", b"[]", "the payload is a JSON array, not an object"),
        ("stop", data(), "hook_event_name is 'PreToolUse', not 'Stop' as in run stop"),
        ("no-such", data(), "unknown event 'no-such'"),
        ("\x1b[31m", data(), "unknown event"),
        ("pre-tool-use", data(tool_input=None), "tool_input"),
    ],
)
def test_what_cannot_be_routed_says_why(word: str, sent: bytes | None, problem: str) -> None:
    call = parse(word, sent)
    assert problem in call.problem
    assert "\x1b" not in call.problem + call.event
    assert call.hooks == ()


@pytest.mark.parametrize("what", ["fastjson.loads", "_faults"])
def test_a_payload_that_there_is_no_memory_for_cannot_be_routed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(f"hookrouter._routing.hook_call.{what}", fail)
    call = parse("pre-tool-use", data())
    assert (call.problem, call.hooks, call.payload) == ("no memory for the payload", (), {})


def test_an_event_of_a_newer_client_reaches_the_raw_hook() -> None:
    call = parse("sun-rise", data(hook_event_name="SunRise"))
    assert (call.event, call.is_known, call.hooks, call.problem) == ("SunRise", False, ("raw_event",), "")


@given(st.sampled_from([*EVENTS, "", "x-y", "\x1b"]), st.none() | st.binary(max_size=40) | st.just(data()))
def test_nothing_makes_it_raise(word: str, sent: bytes | None) -> None:
    call = parse(word, sent)
    assert bool(call.hooks) != bool(call.problem)


def test_each_event_has_one_word() -> None:
    assert {name: command_word(name) for name in EVENT_NAMES} == EVENT_NAMES
    assert [command_word(word) for word in EVENTS] == list(EVENTS)
    assert command_word("SunRise") == command_word("sun-rise") == "sun-rise"


def fits_event(event: str, payload: dict[str, Any]) -> bool:
    return fits(COMMON_FIELDS, payload) and fits(EVENTS[EVENT_NAMES[event]].fields, payload)


@pytest.mark.parametrize("event", EVENT_NAMES)
def test_the_quick_look_knows_most_payloads_that_fit(event: str) -> None:
    payload = {**sample(event), "effort": {"level": "high"}}
    kinds = {field.wire: field.kind for field in EVENT_CLASSES[event].FIELDS.values()}
    plain = {key: value for key, value in payload.items() if not (kinds.get(key, "").startswith("array") and value)}
    assert fits_event(event, plain) or any(
        field.required and field.wire not in plain for field in EVENT_CLASSES[event].FIELDS.values()
    )


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda children: st.lists(children, max_size=2) | st.dictionaries(st.sampled_from("abc"), children, max_size=2),
    max_leaves=4,
) | st.fixed_dictionaries({"level": st.none() | st.text(max_size=2)})


@given(st.sampled_from([*EVENT_NAMES]), st.data())
def test_the_quick_look_passes_nothing_that_the_contract_refuses(event: str, data: st.DataObject) -> None:
    payload = {**sample(event)}
    fields = [field.wire for field in EVENT_CLASSES[event].FIELDS.values()]
    for wire in data.draw(st.lists(st.sampled_from(fields), max_size=3, unique=True)):
        payload[wire] = data.draw(ANYTHING)
    for wire in data.draw(st.lists(st.sampled_from(fields), max_size=1)):
        payload.pop(wire, None)
    if fits_event(event, payload):
        assert check(EVENT_CLASSES[event], payload) == ([], [])
