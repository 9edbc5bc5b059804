"""The mod's source: written for the routes, and what its pure functions make of calls and answers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrouter import replies
from hookrouter._contract.tables import EVENTS
from hookrouter._mod.bridge import Surroundings, bridge_source
from hookrouter._mod.results import COMMAND_ONLY, FIELDS, SILENT_ON_MESSAGES
from hookrouter._mod.routes import Route
from hookrouter._routing.hook_call import HANDLED_MARK
from hookrouter._routing.merge import merge
from support.mod_interface import members

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not on PATH, so no JavaScript can be run")

DATA = Path(__file__).parents[2] / "data" / "mod"
AROUND = Surroundings("/run/http", ["/bin/hookrouter"], "/a/home", "/bin/python")
ALL = [Route(event, None, f"hookrouter run {event}") for event in FIELDS]
CALLED = "import * as bridge from './bridge.mjs'; import { readFileSync } from 'node:fs'; \
const cases = JSON.parse(readFileSync(0)); \
console.log(JSON.stringify(cases.map(([name, ...given]) => bridge[name](...given) ?? null)))"


def call(folder: Path, *cases: tuple[Any, ...]) -> list[Any]:
    """Call pure functions of the mod for every event: name and arguments each; return what they return."""
    assert NODE is not None
    more = "\nexport { takes, translated, merged, toolPayload, baseOf }\n"
    more += "export const left = (...given) => { const { hooks, taken } = withoutOurs(...given); "
    more += "return { hooks, taken: [...taken] } }\n"
    (folder / "bridge.mjs").write_text(bridge_source(ALL, AROUND) + more)
    (folder / "call.mjs").write_text(CALLED)
    done = subprocess.run(
        [NODE, "call.mjs"], cwd=folder, input=json.dumps(cases), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


R = replies
SAID = "T"
NEW = {"command": "ls"}
CONTEXT = {"additionalContext": [SAID]}
CONTEXT_EVENTS = (
    *("UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("SubagentStart", "SubagentStop", "Stop", "PostModelSwitch"),
)
BLOCK_EVENTS = (
    *("UserPromptSubmit", "UserPromptExpansion", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStop"),
    *("Stop", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange"),
)
RULE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}

KINDS: list[tuple[str, Any, dict[str, Any]]] = [
    *((event, R.expected_reply(event).context(SAID), CONTEXT) for event in CONTEXT_EVENTS),  # type: ignore[attr-defined]
    *((event, R.expected_reply(event).block(SAID), {"block": SAID}) for event in BLOCK_EVENTS),  # type: ignore[attr-defined]
    ("Stop", R.StopReply.go_on(SAID), {"block": SAID}),
    ("PreToolUse", R.PreToolUseReply.allow(), {"allow": True}),
    ("PreToolUse", R.PreToolUseReply.allow(updated_input=NEW), {"allow": True, "updatedInput": NEW}),
    ("PreToolUse", R.PreToolUseReply.deny(SAID, context=SAID), {"deny": SAID, **CONTEXT}),
    ("PreToolUse", R.PreToolUseReply.ask(SAID), {"ask": SAID}),
    ("PreToolUse", R.PreToolUseReply.ask(), {"ask": "hookrouter asks"}),
    ("PreToolUse", R.PreToolUseReply.defer(), {"ask": "hookrouter leaves this call to you"}),
    ("PreToolUse", R.PreToolUseReply.update_input(NEW), {"updatedInput": NEW}),
    ("PreToolUse", R.PreToolUseReply.halt(SAID), {"deny": SAID}),
    (
        "PermissionRequest",
        R.PermissionRequestReply.allow(updated_input=NEW, updated_permissions=[RULE]),
        {"decision": {"behavior": "allow", "updatedInput": NEW, "updatedPermissions": [RULE]}},
    ),
    (
        "PermissionRequest",
        R.PermissionRequestReply.deny(SAID, interrupt=True),
        {"decision": {"behavior": "deny", "message": SAID, "interrupt": True}},
    ),
    ("PermissionRequest", R.PermissionRequestReply.deny(SAID), {"decision": {"behavior": "deny", "message": SAID}}),
    ("PermissionDenied", R.PermissionDeniedReply.retry(), {"retry": True}),
    ("PostToolUse", R.PostToolUseReply.update_output({"a": 1}), {"updatedToolOutput": {"a": 1}}),
    ("PostToolUse", R.PostToolUseReply.update_output(""), {"updatedToolOutput": ""}),
    ("PostToolUse", R.PostToolUseReply.update_mcp_output([1]), {"updatedMCPToolOutput": [1]}),
    ("PostToolUse", R.PostToolUseReply.classifier_context(SAID), {}),
    (
        "UserPromptSubmit",
        R.UserPromptSubmitReply.block(SAID, suppress_original_prompt=True),
        {"block": SAID, "suppressOriginalPrompt": True},
    ),
    (
        "UserPromptExpansion",
        R.UserPromptExpansionReply.block(SAID, suppress_original_prompt=True),
        {"block": SAID, "suppressOriginalPrompt": True},
    ),
    ("UserPromptSubmit", R.UserPromptSubmitReply.title(SAID), {"sessionTitle": SAID}),
    ("MessageDisplay", R.MessageDisplayReply.display(SAID), {"displayContent": SAID}),
    ("MessageDisplay", R.MessageDisplayReply.display(""), {"displayContent": ""}),
    ("PreModelSwitch", R.PreModelSwitchReply.allow(), {"permissionDecision": "allow"}),
    (
        "PreModelSwitch",
        R.PreModelSwitchReply.deny(SAID),
        {"permissionDecision": "deny", "permissionDecisionReason": SAID},
    ),
    (
        "PreModelSwitch",
        R.PreModelSwitchReply.ask(SAID),
        {"permissionDecision": "ask", "permissionDecisionReason": SAID},
    ),
]
COMMON = {"message", "halt", "terminal"}
"""Constructors of every reply, which have tests of their own."""


def ended(event: str, reply: Any) -> dict[str, Any]:
    output = merge(event, [("p", reply)], messengers={"p"})
    return {"exit_code": output.exit_code, "stdout": output.stdout, "stderr": output.stderr}


def constructors(kind: type[Any]) -> set[str]:
    names = {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, classmethod)}
    return {name for name in names if not name.startswith("_") and hasattr(kind, name)}


def with_reply() -> list[str]:
    """Return the events that a plugin may reply to at all."""
    return [event for event in FIELDS if event in R.REPLIES]


@needs_node
def test_every_kind_of_reply_becomes_what_a_module_returns(tmp_path: Path) -> None:
    found = call(tmp_path, *(("translated", event, ended(event, reply)) for event, reply, _ in KINDS))
    for (event, reply, result), got in zip(KINDS, found, strict=True):
        assert got == {"result": result, "said": []}, (event, reply)


def test_no_kind_of_reply_is_forgotten() -> None:
    for event in with_reply():
        kind = R.expected_reply(event)
        made = sum(name == event for name, _, _ in KINDS)
        assert made >= len(constructors(kind) - COMMON), event


@needs_node
def test_a_message_is_shown_unless_claude_code_discards_it(tmp_path: Path) -> None:
    told = json.dumps({"systemMessage": "look"})
    cases = [("translated", event, {"exit_code": 0, "stdout": told, "stderr": ""}) for event in FIELDS]
    for event, got in zip(FIELDS, call(tmp_path, *cases), strict=True):
        assert got == {"result": {}, "said": [] if event in SILENT_ON_MESSAGES else [f"{event} says: look"]}


def test_the_messages_that_are_discarded_are_those_of_the_contract() -> None:
    discarded = {facts.name for facts in EVENTS.values() if "systemMessage" in facts.discarded}
    assert discarded & set(FIELDS) == set(SILENT_ON_MESSAGES)


@needs_node
def test_the_turn_is_ended_where_that_can_be_said(tmp_path: Path) -> None:
    halt = json.dumps({"continue": False, "stopReason": "enough"})
    cases = [("translated", event, {"exit_code": 0, "stdout": halt, "stderr": ""}) for event in FIELDS]
    for event, got in zip(FIELDS, call(tmp_path, *cases), strict=True):
        stops = {"preventContinuation": True, "stopReason": "enough"} if "stopReason" in FIELDS[event] else {}
        assert got["result"] == ({"deny": "enough"} if event == "PreToolUse" else stops), event


@needs_node
def test_exit_codes(tmp_path: Path) -> None:
    cases = [
        ("translated", event, {"exit_code": code, "stdout": '{"decision":"block"}', "stderr": "why\n"})
        for event in FIELDS
        for code in (2, 1)
    ]
    got = iter(call(tmp_path, *cases))
    for event in FIELDS:
        block = {"block": "why"} if "block" in FIELDS[event] else {}
        assert next(got) == {"result": {"deny": "why"} if event == "PreToolUse" else block, "said": []}
        assert next(got) == {"result": {}, "said": [f"{event}: exit code 1: why"]}


@needs_node
@pytest.mark.parametrize("stdout", ["", "no json", "[1]", "null", "1", '{"hookSpecificOutput": {}}', '{"else": 1}'])
def test_what_says_nothing_decides_nothing(tmp_path: Path, stdout: str) -> None:
    cases = [("translated", event, {"exit_code": 0, "stdout": stdout, "stderr": ""}) for event in FIELDS]
    assert all(got == {"result": {}, "said": []} for got in call(tmp_path, *cases))


@needs_node
def test_the_stricter_answer_stands_and_contexts_are_joined(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
        ({}, {}, {}),
        ({"allow": True}, {"deny": "x"}, {"deny": "x"}),
        ({"deny": "x"}, {"allow": True}, {"deny": "x"}),
        ({"ask": "x"}, {"allow": True}, {"ask": "x"}),
        ({"deny": "x"}, {"ask": "y"}, {"deny": "x"}),
        ({"deny": "mine"}, {"deny": "theirs"}, {"deny": "theirs\nmine"}),
        ({"block": "mine"}, {"block": "theirs"}, {"block": "theirs\nmine"}),
        ({}, {"decision": {"behavior": "deny"}}, {"decision": {"behavior": "deny"}}),
        (
            {"additionalContext": ["b"]},
            {"additionalContext": ["a"], "sessionTitle": "t"},
            {"additionalContext": ["a", "b"], "sessionTitle": "t"},
        ),
        (
            {"permissionDecision": "allow"},
            {"permissionDecision": "deny", "permissionDecisionReason": "no"},
            {"permissionDecision": "deny", "permissionDecisionReason": "no"},
        ),
        (
            {"permissionDecision": "ask"},
            {"permissionDecision": "allow", "permissionDecisionReason": "yes"},
            {"permissionDecision": "ask"},
        ),
    ]
    got = call(tmp_path, *(("merged", mine, theirs) for mine, theirs, _ in cases))
    assert got == [result for _, _, result in cases]


@needs_node
def test_nobody_elses_entry_is_taken_out(tmp_path: Path) -> None:
    ours = {"type": "command", "command": "hookrouter run stop", "timeout": 60}
    routes = [
        {"event": "Stop", "matcher": None, "command": ours["command"], "names": None, "part": None},
        {"event": "PreToolUse", "matcher": "Bash", "command": "hookrouter run pre-tool-use", "names": [], "part": None},
    ]
    other = {"type": "command", "command": "timeout 3 hookrouter run stop"}
    guard = {**ours, "onFailure": "block"}
    tool = {"type": "command", "command": "hookrouter run pre-tool-use"}
    hooks = {
        "Stop": [{"hooks": [ours, other]}, {"hooks": [ours]}, {"hooks": [guard]}, {"matcher": "x", "hooks": [ours]}],
        "SubagentStop": [{"hooks": [ours]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [tool]}],
        "Odd": "text",
        "Other": [None, {"hooks": "text"}, {"hooks": [None, {"type": "http", "url": "u"}]}],
    }
    (got,) = call(tmp_path, ("left", routes, hooks))
    assert got["taken"] == [0, 1]
    kept = {**hooks, "Stop": [{"hooks": [other]}, {"hooks": [guard]}, {"matcher": "x", "hooks": [ours]}]}
    del kept["PreToolUse"]
    assert got["hooks"] == kept


@needs_node
def test_which_calls_a_route_takes(tmp_path: Path) -> None:
    every = Route("PreToolUse", None, "c").to_json()
    some = Route("PreToolUse", "Agent|Bash|Task", "c").to_json()
    mcp = Route("PreToolUse", "mcp__.*", "c").to_json()
    cases = [(every, "Bash", True), (some, "Bash", True), (some, "Agent", True), (some, "Write", False)]
    cases += [(some, "mcp__a__b", False), (mcp, "mcp__a__b", True), (mcp, "Bash", False)]
    server, alike = (Route("PreToolUse", f"{name}.*", "c").to_json() for name in ("mcp__a__", "mcp__a__get_"))
    cases += [(server, "mcp__a__b", True), (server, "mcp__ab__c", False), (server, "Bash", False)]
    cases += [(alike, "mcp__a__get_x", True), (alike, "mcp__a__set_x", False)]
    dashed = Route("PreToolUse", "mcp__a-b__c", "c").to_json()
    cases += [(dashed, "mcp__a-b__c", True), (dashed, "mcp__a-b__d", False)]
    idle = Route("Notification", "idle_prompt", "c").to_json()
    cases += [(idle, "idle_prompt", True), (idle, "permission_prompt", False)]
    got = call(tmp_path, *(("takes", route, tool) for route, tool, _ in cases))
    assert got == [expected for _, _, expected in cases]


@needs_node
def test_the_payload_of_a_tool_call(tmp_path: Path) -> None:
    envelope = {"tool": "Bash", "tool_use_id": "t1", "command": "ls", "requestMeta": {"a": 1}}
    base = {"transcript_path": "/t", "prompt_id": "p", "permission_mode": "plan", "agent_type": "x"}
    session = {"id": "s", "cwd": "/c", "base": base, "agent": "a1"}
    got, bare = call(tmp_path, ("toolPayload", envelope, session), ("toolPayload", envelope, {"id": "s", "cwd": "/c"}))
    about = {"session_id": "s", "cwd": "/c", "hook_event_name": "PreToolUse"}
    call_ = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}
    assert got == {**base, **about, **call_, "agent_id": "a1"}
    assert bare == {**about, **call_, "transcript_path": ""}


def test_the_source_says_what_matchers_look_at() -> None:
    source = bridge_source([Route("Notification", "idle_prompt", "c"), Route("Stop", None, "c")], AROUND)
    setup = json.loads(source.partition("const SETUP = ")[2].partition("\n\nconst")[0])
    assert setup["matched"] == {"Notification": "notification_type"}


def test_the_source_names_each_event_and_no_other() -> None:
    source = bridge_source([Route("Stop", None, "c")], AROUND)
    # The start of a session, which no route may be, tells the mod which session it asks prompts for.
    assert re.findall(r'on\("classic\.(\w+)"', source) == ["SessionStart", "Stop"]
    assert "__" not in source


def test_a_source_that_knows_of_tool_calls_watches_what_they_lack() -> None:
    source = bridge_source([Route("PreToolUse", "Bash", "c")], AROUND)
    heard = re.findall(r'on\("classic\.(\w+)"', source)
    assert {"UserPromptSubmit", "PostToolUse", "SubagentStart"} < set(heard)


def test_the_mark_is_the_one_that_a_run_knows() -> None:
    assert set(re.findall(r"hookrouter_\w+", bridge_source(ALL, AROUND))) == {HANDLED_MARK}


def test_every_event_of_the_contract_is_brought_or_says_why_not() -> None:
    names = {facts.name for facts in EVENTS.values()}
    assert set(FIELDS) | set(COMMAND_ONLY) == names
    assert set(FIELDS) & set(COMMAND_ONLY) == set()


@pytest.mark.parametrize("path", sorted(DATA.glob("interface-*.json")), ids=lambda path: path.stem)
def test_the_fields_are_those_that_the_client_reads(path: Path) -> None:
    own = members(json.loads(path.read_text())["ClassicResultFields"])
    every = {"block", "preventContinuation", "stopReason"}
    for event, fields in FIELDS.items():
        known = own.get(event, set())
        if event == "PreToolUse":
            continue
        assert set(fields) <= known | every, event
        assert known <= set(fields), event
