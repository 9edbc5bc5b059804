"""What ``hookrouter sample`` and ``hookrouter.samples`` give to those who try plugins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookrouter._contract.tables import EVENTS, TOOLS
from hookrouter.cli.main import main
from hookrouter.events import EVENT_CLASSES
from hookrouter.records import check
from hookrouter.samples import find, sample
from hookrouter.tools.calls import tool_class

EVENT_NAMES = [record.name for record in EVENTS.values()]
TOOL_EVENTS = [record.name for record in EVENTS.values() if record.is_tool]


@pytest.mark.parametrize("event", EVENT_NAMES)
def test_every_event_has_a_payload_that_fits_the_contract(event: str) -> None:
    payload = sample(event)

    assert check(EVENT_CLASSES[event], payload) == ([], [])
    assert payload["hook_event_name"] == event


@pytest.mark.parametrize("event", TOOL_EVENTS)
@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_has_a_payload_of_every_event_about_it(event: str, tool: str) -> None:
    payload = sample(event, tool)

    assert check(EVENT_CLASSES[event], payload) == ([], [])
    assert (payload["hook_event_name"], payload["tool_name"]) == (event, tool)
    assert check(tool_class(tool, "Input"), payload["tool_input"]) == ([], [])
    if "tool_response" in payload:
        assert check(tool_class(tool, "Output"), payload["tool_response"]) == ([], [])


@pytest.mark.parametrize("event", TOOL_EVENTS)
def test_a_tool_of_any_mcp_server_can_be_asked_for(event: str) -> None:
    payload = sample(event, "mcp__github__create_issue")

    assert check(EVENT_CLASSES[event], payload) == ([], [])
    assert payload["mcp_server"]["name"] == "github"


@pytest.mark.parametrize("name", ["PreToolUse", "pre-tool-use", "pre_tool_use"])
def test_an_event_has_its_payload_under_each_of_its_names(name: str) -> None:
    assert sample(name, "Read")["tool_name"] == "Read"


def test_a_former_name_of_a_tool_means_the_tool() -> None:
    assert sample("PreToolUse", "Task")["tool_name"] == "Agent"


def test_recorded_payloads_say_so_and_built_ones_too() -> None:
    assert find("PostToolUse", "Bash").recorded
    assert not find("PostToolUse", "WebFetch").recorded
    assert "built from the contract" in find("PostToolUse", "WebFetch").origin


def test_events_about_no_tool_take_a_value_of_their_matcher() -> None:
    assert sample("SessionStart", "compact")["source"] == "compact"
    assert sample("SubagentStop", "Explore")["agent_type"] == "Explore"
    assert not find("SessionStart", "resume").recorded


def test_changes_replace_fields_and_none_takes_one_away() -> None:
    payload = sample("Stop", stop_hook_active=True, permission_mode=None)

    assert payload["stop_hook_active"] is True
    assert "permission_mode" not in payload


def test_a_sample_is_a_copy_of_its_own() -> None:
    sample("PreToolUse", "Bash")["tool_input"]["command"] = "changed"

    assert sample("PreToolUse", "Bash")["tool_input"]["command"] != "changed"


@pytest.mark.parametrize(
    ("event", "tool", "message"),
    [
        ("PreTolUse", None, "there is no event 'PreTolUse'; did you mean 'PreToolUse'?"),
        ("PreToolUse", "Bsh", "there is no tool 'Bsh'; did you mean 'Bash'?"),
        ("PreToolUse", "bsah", "there is no tool 'bsah'; did you mean 'Bash'?"),
        ("PreToolUse", "web-fetch", "there is no tool 'web-fetch'; did you mean 'WebFetch'?"),
        ("SessionStart", "kompact", "SessionStart has no source 'kompact'; did you mean 'compact'?"),
        ("Stop", "Bash", "Stop takes no tool; leave 'Bash' out"),
    ],
)
def test_what_there_is_not_is_named_with_what_was_meant(event: str, tool: str | None, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message.replace("?", "[?]")):
        sample(event, tool)


def test_the_command_prints_the_payload_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", "PreToolUse", "WebFetch", "--set", "tool_input.url=https://example.org"]) == 0

    out, err = capsys.readouterr()
    assert json.loads(out)["tool_input"]["url"] == "https://example.org"
    assert "built from the contract" in err


def test_values_of_changes_are_json_where_they_can_be(capsys: pytest.CaptureFixture[str]) -> None:
    main(["sample", "Stop", "--set", "stop_hook_active=true", "--set", "cwd=/tmp", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert (document["payload"]["stop_hook_active"], document["payload"]["cwd"]) == (True, "/tmp")
    assert document["recorded"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Nothing"], "there is no event 'Nothing'"),
        (["Stop", "--set", "cwd"], "allowed is KEY=VALUE"),
        (["Stop", "--set", "tool_input.command=ls"], "no table 'tool_input'"),
    ],
)
def test_a_wrong_command_line_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_unknown_names_are_listed_in_order() -> None:
    with pytest.raises(ValueError, match=r"known are: ") as caught:
        sample("zzzzzz")
    listed = str(caught.value).partition("known are: ")[2].split(", ")
    assert listed == sorted(record.name for record in EVENTS.values())
    with pytest.raises(ValueError, match=r"known are: ") as caught:
        sample("PreToolUse", "zzzzzz")
    listed = str(caught.value).partition("known are: ")[2].partition(";")[0].split(", ")
    assert listed == sorted(TOOLS, key=str.lower)


@pytest.mark.parametrize(
    ("word", "event", "tool"),
    [
        ("PreToolUseWebFetch", "PreToolUse", "WebFetch"),
        ("post_tool_use_bash", "PostToolUse", "Bash"),
        ("AskUserQuestion", "PreToolUse", "AskUserQuestion"),
    ],
)
def test_a_name_that_holds_a_tool_is_told_as_event_and_tool(word: str, event: str, tool: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{event}' of the tool '{tool}'"):
        sample(word)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["sample", *arguments]) == 0
    payload: dict[str, Any] = json.loads(capsys.readouterr().out)
    return payload


def test_a_form_of_one_question_can_be_had(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--first", "tool_input.questions", "--set", "tool_input.questions.0.question=Why?"]
    payload = printed(capsys, "PreToolUse", "AskUserQuestion", *options)

    whole = sample("PreToolUse", "AskUserQuestion")["tool_input"]["questions"]
    assert len(whole) > 1
    assert payload["tool_input"]["questions"] == [{**whole[0], "question": "Why?"}]
    assert printed(capsys, "PreToolUse", "AskUserQuestion", *options, "--json")["recorded"] is False


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--first", "tool_input.question"], "did you mean 'tool_input.questions'?"),
        (["--first", "nothing.like.it"], "its lists are: tool_input.questions, "),
        (["--first", "cwd"], "no list of this name"),
        (["--set", "tool_inputs.x=1"], "did you mean 'tool_input'?"),
        (["--set", "tool_input.questions.7=1"], "is a list of 2, with no item '7'"),
        (["--set", "tool_input.questions.x=1"], "with no item 'x'"),
    ],
)
def test_a_wrong_path_is_named_with_what_was_meant(
    option: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", "PreToolUse", "AskUserQuestion", *option]) == 2
    assert said in capsys.readouterr().err
