"""Payloads become objects of the event classes."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import attrs
import cattrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import events, tools
from hookrouter.converter import PayloadError, make_converter, record_class, structure, structure_event
from hookrouter.payloads import check
from hookrouter.samples import recorded
from hookrouter.tables import FIELDS

SAMPLES: dict[str, Any] = recorded()

ASK = SAMPLES["PreToolUse:AskUserQuestion"]["payload"]

STOP = SAMPLES["Stop"]["payload"]


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_captured_payload_structures(sample: str) -> None:
    payload = SAMPLES[sample]["payload"]
    event = structure_event(payload)
    assert type(event).__name__ == payload["hook_event_name"]
    assert event.raw == payload
    for wire, value in payload.items():
        read = getattr(event, wire)
        if isinstance(value, str | bool | int | float):
            assert read == value, f"{sample}: {wire}"
        else:
            assert read is not None or value is None, f"{sample}: {wire}"


def test_nested_records_are_objects() -> None:
    event = structure_event(
        {**STOP, "session_crons": [{"id": "c", "schedule": "* *", "recurring": True, "prompt": "p"}]}
    )
    assert isinstance(event, events.Stop)
    assert event.effort == events.Effort(level="medium")
    assert event.session_crons == (events.SessionCron(id="c", schedule="* *", recurring=True, prompt="p"),)
    assert event.background_tasks == ()


def test_missing_optional_fields_are_none() -> None:
    event = structure_event(
        {key: STOP[key] for key in ("session_id", "transcript_path", "cwd", "hook_event_name", "stop_hook_active")}
    )
    assert isinstance(event, events.Stop)
    assert event.permission_mode is None
    assert event.effort is None
    assert event.background_tasks is None


def test_unknown_fields_are_kept_in_raw_at_every_depth() -> None:
    payload = {**STOP, "aura": 1, "effort": {"level": "high", "budget": 5}}
    event = structure_event(payload)
    assert event.raw["aura"] == 1
    assert event.effort is not None
    assert event.effort.raw["budget"] == 5
    assert not hasattr(event, "aura")


def test_a_field_called_raw_does_not_collide() -> None:
    event = structure_event({**STOP, "raw": "what the client calls raw"})
    assert event.raw["raw"] == "what the client calls raw"
    assert event.raw["session_id"] == STOP["session_id"]


def test_a_future_event_is_an_unknown_event() -> None:
    event = structure_event({**STOP, "hook_event_name": "PostQuantumLeap", "year": 1956})
    assert isinstance(event, events.UnknownEvent)
    assert event.hook_event_name == "PostQuantumLeap"
    assert event.raw["year"] == 1956


def test_faults_name_path_found_and_allowed() -> None:
    payload = copy.deepcopy(ASK)
    del payload["tool_name"]
    payload["cwd"] = 5
    with pytest.raises(PayloadError) as caught:
        structure_event(payload)
    assert caught.value.type_name == "PreToolUse"
    assert sorted(caught.value.problems) == [
        "found number, allowed string @ $.cwd",
        "required field missing @ $.tool_name",
    ]


def test_faults_in_arrays_have_an_index() -> None:
    form = copy.deepcopy(ASK["tool_input"])
    form["questions"][1]["options"][0]["label"] = None
    with pytest.raises(PayloadError) as caught:
        structure("AskUserQuestionInput", form)
    assert caught.value.problems == ["found null, allowed string @ $.questions[1].options[0].label"]


@pytest.mark.parametrize("payload", [None, [], "x", 1])
def test_what_is_no_object_is_a_payload_error(payload: object) -> None:
    with pytest.raises(PayloadError, match="allowed object"):
        structure_event(payload)


def test_no_value_is_converted() -> None:
    with pytest.raises(PayloadError):
        structure_event({**STOP, "stop_hook_active": "false"})
    with pytest.raises(PayloadError):
        structure_event({**STOP, "stop_hook_active": 0})
    with pytest.raises(PayloadError):
        structure("AskUserQuestionInput", {"questions": {"not": "a list"}})


def test_optional_fields_of_the_wrong_type_take_their_default() -> None:
    event = structure_event({**STOP, "permission_mode": 3, "effort": {}, "background_tasks": [{"id": "only"}]})
    assert isinstance(event, events.Stop)
    assert (event.permission_mode, event.effort, event.background_tasks) == (None, None, None)
    assert event.raw["permission_mode"] == 3


def test_a_form_structures_with_python_names() -> None:
    form = structure("AskUserQuestionInput", ASK["tool_input"])
    assert isinstance(form, tools.AskUserQuestionInput)
    assert [question.multi_select for question in form.questions] == [False, True]
    assert form.questions[1].options[1] == tools.Option(label="Logs, traces", description="b")


def test_a_form_of_the_extended_kind_structures() -> None:
    form = structure(
        "AskUserQuestionInput",
        {
            "title": "T",
            "questions": [{"question": "How many?", "header": "N", "kind": "number", "options": [{"label": "1"}]}],
        },
    )
    assert form.questions[0].multi_select is False
    assert form.questions[0].options[0].description == ""
    assert form.questions[0].raw["kind"] == "number"
    assert form.raw["title"] == "T"


def test_an_answered_form_structures() -> None:
    response = SAMPLES["PostToolUse:AskUserQuestion"]["payload"]["tool_response"]
    output = structure("AskUserQuestionOutput", {**response, "afkTimeoutMs": 60000, "followUp": True})
    assert output.answers == {"Which framework?": "Vue", "Which features?": "Auth"}
    assert output.annotations["Which framework?"].notes == "because small"
    assert (output.afk_timeout_ms, output.follow_up) == (60000, True)


def test_answers_are_kept_as_they_came() -> None:
    form = structure(
        "AskUserQuestionInput", {**ASK["tool_input"], "answers": {"0": ["Auth", "Cache"], "Q": 5, "R": None}}
    )
    assert form.answers == {"0": ["Auth", "Cache"], "Q": 5, "R": None}


def test_events_are_frozen_and_compare_by_their_fields() -> None:
    event = structure_event(STOP)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.cwd = "/elsewhere"  # type: ignore[misc]
    assert event == structure_event({**STOP, "aura": 1})
    assert event != structure_event({**STOP, "cwd": "/elsewhere"})
    assert attrs.evolve(event, cwd="/elsewhere") == structure_event({**STOP, "cwd": "/elsewhere"})
    assert pickle.loads(pickle.dumps(event)) == event


def test_events_are_made_by_hand_for_tests_of_plugins() -> None:
    made = events.Setup(session_id="s", transcript_path="", cwd="/", hook_event_name="Setup", trigger="init")
    assert made.raw == {}
    assert made == structure_event(
        {"session_id": "s", "transcript_path": "", "cwd": "/", "hook_event_name": "Setup", "trigger": "init"}
    )


def test_hooks_are_added_to_a_converter_and_leave_its_other_types_alone() -> None:
    mine = cattrs.Converter()
    mine.register_structure_hook(Path, lambda value, _: Path(value))
    assert make_converter(mine) is mine
    assert mine.structure(STOP, events.Stop) == structure_event(STOP)
    assert mine.structure("/x", Path) == Path("/x")
    assert mine.structure(5, str) == "5"
    assert structure_event(STOP, mine) == structure_event(STOP)


def test_unknown_record_names_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        record_class("attrs")
    with pytest.raises(KeyError):
        structure("NoSuchRecord", {})


@given(
    st.sampled_from(sorted(SAMPLES)),
    st.data(),
)
def test_structuring_fails_exactly_where_the_check_finds_errors(sample: str, data: st.DataObject) -> None:
    payload = dict(SAMPLES[sample]["payload"])
    event = payload["hook_event_name"]
    values = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just({}) | st.just([]) | st.just([{}])
    for wire, *_ in data.draw(st.lists(st.sampled_from(sorted(FIELDS[event].values(), key=str)), max_size=3)):
        if wire == "hook_event_name":
            continue
        if data.draw(st.booleans()):
            payload.pop(wire, None)
        else:
            payload[wire] = data.draw(values)
    errors, _warnings = check(event, payload)
    if not errors:
        assert structure_event(payload).raw == payload
        return
    with pytest.raises(PayloadError) as caught:
        structure_event(payload)
    assert len(caught.value.problems) == len(errors)
