"""What plugins may reply, through the mod on the real client: each kind has the effect that it has as a hook's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.scripted_model import Say, ScriptedModel, ToolUse, bash
from support.mod_stage import CLIENTS, Answers, short_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("mod replies")]  # most share a client


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    with short_folder() as folder:
        answers = Answers(folder)
        with answers.gate:
            yield answers


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def output(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def told(model: ScriptedModel) -> str:
    """Return all that the model was sent."""
    return "\n".join(str(request.body["messages"]) for request in model.requests if request.body.get("tools"))


def results(model: ScriptedModel) -> str:
    return "\n".join(model.tool_results().values())


def touched(answers: Answers, name: str) -> bool:
    return os.path.exists(os.path.join(answers.stage.client_home.project, name))


def test_each_event_is_brought_once_and_no_entry_is_run(answers: Answers, model: ScriptedModel) -> None:
    model.script("t", bash("echo one"))
    # A slow client may start entries before its settings hold, and goes on so all its life: another one may do better.
    for _ in range(CLIENTS):
        assert "Done." in answers.run(model, "RUN t", "--permission-mode", "bypassPermissions")
        events = [seen.payload["hook_event_name"] for seen in answers.gate.seen]
        for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop"):
            assert events.count(event) == 1
        if answers.entries_run() == []:
            return
    raise AssertionError(answers.entries_run())


def test_the_payload_of_a_tool_call_is_what_a_command_hook_gets(answers: Answers, model: ScriptedModel) -> None:
    model.script("t", bash("echo one"))
    answers.run(model, "RUN t", "--permission-mode", "bypassPermissions")
    (before,), (after,) = answers.payloads("PreToolUse"), answers.payloads("PostToolUse")
    assert before.pop("hook_event_name") == "PreToolUse"
    same = {name: value for name, value in after.items() if name in before}
    assert before == same
    missing = set(after) - set(before) - {"hook_event_name", "tool_response", "duration_ms", "effort"}
    assert missing == set()


def test_a_hooks_variables_are_those_of_a_command_hook(answers: Answers, model: ScriptedModel) -> None:
    answers.run(model, "hello")
    seen = answers.gate.seen[0]
    environ = seen.environ
    assert environ["CLAUDE_CODE_SESSION_ID"] == seen.payload["session_id"]
    assert environ["CLAUDE_PROJECT_DIR"] == answers.stage.client_home.project
    assert environ["CLAUDECODE"] == "1"
    assert environ["CLAUDE_PID"].isdecimal()
    assert environ["HOME"] == answers.stage.client_home.home
    assert environ["HOOKROUTER_HOME"] == answers.stage.home.root
    assert "CLAUDE_PLUGIN_ROOT" not in environ


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("UserPromptSubmit", output("UserPromptSubmit", additionalContext="CONTEXT-7")),
        ("PreToolUse", output("PreToolUse", additionalContext="CONTEXT-7")),
        ("PostToolUse", output("PostToolUse", additionalContext="CONTEXT-7")),
        ("PostToolUse", {"decision": "block", "reason": "CONTEXT-7"}),
        ("PostToolBatch", output("PostToolBatch", additionalContext="CONTEXT-7")),
        ("Stop", [output("Stop", additionalContext="CONTEXT-7")]),
        ("Stop", [{"decision": "block", "reason": "CONTEXT-7"}]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_claude_is_told(answers: Answers, model: ScriptedModel, event: str, said: Any) -> None:
    model.script("t", bash("echo one"))
    answers.run(model, "RUN t", "--permission-mode", "bypassPermissions", **{event: said})
    assert "CONTEXT-7" in told(model)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("PostToolUseFailure", output("PostToolUseFailure", additionalContext="CONTEXT-7")),
        ("PostToolUseFailure", {"decision": "block", "reason": "CONTEXT-7"}),
    ],
)
def test_what_claude_is_told_of_a_failure(answers: Answers, model: ScriptedModel, event: str, said: Any) -> None:
    model.script("t", bash("exit 3"))
    answers.run(model, "RUN t", "--permission-mode", "bypassPermissions", **{event: said})
    assert "CONTEXT-7" in told(model)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (output("PreToolUse", permissionDecision="deny", permissionDecisionReason="NOT-7"), "NOT-7"),
        ({"decision": "block", "reason": "NOT-7"}, "NOT-7"),
        ({"continue": False, "stopReason": "NOT-7"}, "NOT-7"),
        ({"exit_code": 2, "stdout": "", "stderr": "NOT-7\n"}, "NOT-7"),
        (output("PreToolUse", permissionDecision="ask", permissionDecisionReason="NOT-7"), ""),
        (output("PreToolUse", permissionDecision="defer"), ""),
    ],
)
def test_a_tool_call_is_refused(answers: Answers, model: ScriptedModel, said: Any, reason: str) -> None:
    model.script("t", bash("touch made-anyway"))
    answers.run(model, "RUN t", "--permission-mode", "bypassPermissions", PreToolUse=said)
    assert not touched(answers, "made-anyway")
    assert reason in results(model)


def test_a_tool_call_is_allowed(answers: Answers, model: ScriptedModel) -> None:
    model.script("t", bash("touch made-by-allow"))
    answers.run(model, "RUN t", "--permission-mode", "default")
    assert not touched(answers, "made-by-allow")
    allowed = output("PreToolUse", permissionDecision="allow")
    answers.run(model, "RUN t", "--permission-mode", "default", PreToolUse=allowed)
    assert touched(answers, "made-by-allow")


def test_a_tools_input_is_replaced(answers: Answers, model: ScriptedModel) -> None:
    model.script("t", bash("echo one"))
    said = output("PreToolUse", updatedInput={"command": "echo two-7", "description": "x"})
    answers.run(model, "RUN t", "--permission-mode", "bypassPermissions", PreToolUse=said)
    assert "two-7" in results(model)


def test_a_tools_output_is_replaced(answers: Answers, model: ScriptedModel) -> None:
    model.script("t", bash("echo one"))
    shown = {"stdout": "OTHER-7", "stderr": "", "interrupted": False, "isImage": False}
    said = output("PostToolUse", updatedToolOutput=shown)
    answers.run(model, "RUN t", "--permission-mode", "bypassPermissions", PostToolUse=said)
    assert "OTHER-7" in results(model)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("PostToolUse", {"continue": False, "stopReason": "enough"}),
        ("PostToolBatch", {"decision": "block", "reason": "enough"}),
    ],
)
def test_the_turn_ends(answers: Answers, model: ScriptedModel, event: str, said: Any) -> None:
    model.script("t", [bash("echo one"), Say("went on")])
    printed = answers.run(model, "RUN t", "--permission-mode", "bypassPermissions", **{event: said})
    assert "went on" not in printed
    assert results(model) == ""


@pytest.mark.parametrize(
    "said",
    [
        {"decision": "block", "reason": "NOT-7"},
        {**output("UserPromptSubmit", suppressOriginalPrompt=True), "decision": "block", "reason": "NOT-7"},
        {"exit_code": 2, "stdout": "", "stderr": "NOT-7"},
    ],
)
def test_a_prompt_is_refused(answers: Answers, model: ScriptedModel, said: Any) -> None:
    printed = answers.run(model, "a secret prompt", UserPromptSubmit=said)
    assert "NOT-7" in printed
    assert "a secret prompt" not in told(model)
    assert ("a secret prompt" in printed) is ("hookSpecificOutput" not in said)


@pytest.mark.parametrize(
    ("decision", "made", "said"),
    [
        ({"behavior": "allow"}, ["asked"], ""),
        ({"behavior": "allow", "updatedInput": {"command": "touch other", "description": "x"}}, ["other"], ""),
        ({"behavior": "deny", "message": "NOT-7"}, [], "NOT-7"),
        ({"behavior": "deny", "message": "NOT-7", "interrupt": False}, [], "NOT-7"),
    ],
)
def test_a_permission_is_decided(
    answers: Answers, model: ScriptedModel, decision: dict[str, Any], made: list[str], said: str
) -> None:
    model.script("t", bash("touch asked"))
    answers.run(model, "RUN t", "--permission-mode", "default", PermissionRequest=output("", decision=decision))
    found = [name for name in ("asked", "other") if touched(answers, name)]
    for name in found:
        os.unlink(os.path.join(answers.stage.client_home.project, name))
    assert found == made
    assert said in results(model)


def test_a_command_is_expanded_with_context_or_refused(answers: Answers, model: ScriptedModel) -> None:
    folder = os.path.join(answers.stage.client_home.project, ".claude", "commands")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "greet.md"), "w", encoding="utf-8") as file:
        file.write("Say hello to the world.")
    said = output("UserPromptExpansion", additionalContext="CONTEXT-7")
    answers.run(model, "/greet", UserPromptExpansion=said)
    assert "CONTEXT-7" in told(model)
    before = len(model.requests)
    printed = answers.run(model, "/greet", UserPromptExpansion={"decision": "block", "reason": "NOT-7"})
    assert "NOT-7" in printed
    assert not any(request.body.get("tools") for request in model.requests[before:])


SUBAGENT = ToolUse(
    "Agent",
    {"description": "Look", "prompt": "RUN sub", "subagent_type": "general-purpose", "run_in_background": False},
)


def test_a_subagents_calls_say_whose_they_are(answers: Answers, model: ScriptedModel) -> None:
    model.script("t", SUBAGENT)
    model.script("sub", bash("echo below"))
    answers.run(model, "RUN t", "--permission-mode", "bypassPermissions")
    calls = {payload["tool_name"]: payload for payload in answers.payloads("PreToolUse")}
    (start,) = answers.payloads("SubagentStart")
    assert (calls["Bash"]["agent_id"], calls["Bash"]["agent_type"]) == (start["agent_id"], start["agent_type"])
    assert "agent_id" not in calls["Agent"]
    assert [one["agent_id"] for one in answers.payloads("SubagentStop")] == [start["agent_id"]]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("SubagentStart", output("SubagentStart", additionalContext="CONTEXT-7")),
        ("SubagentStop", [{"decision": "block", "reason": "CONTEXT-7"}]),
        ("SubagentStop", [output("SubagentStop", additionalContext="CONTEXT-7")]),
    ],
)
def test_what_a_subagent_is_told(answers: Answers, model: ScriptedModel, event: str, said: Any) -> None:
    model.script("t", SUBAGENT)
    model.script("sub", bash("echo below"))
    answers.run(model, "RUN t", "--permission-mode", "bypassPermissions", **{event: said})
    assert "CONTEXT-7" in told(model)


def test_a_message_is_shown_otherwise(answers: Answers, model: ScriptedModel) -> None:
    answers.run(model, "hello", MessageDisplay=output("MessageDisplay", displayContent="SHOWN-7"))
    assert answers.payloads("MessageDisplay")


def test_a_hook_that_fails_lets_the_call_go_on(answers: Answers, model: ScriptedModel) -> None:
    model.script("t", bash("echo one"))
    failed = {"exit_code": 1, "stdout": "", "stderr": "broken"}
    printed = answers.run(model, "RUN t", "--permission-mode", "bypassPermissions", PreToolUse=failed)
    assert "Done." in printed
    assert "one" in results(model)
