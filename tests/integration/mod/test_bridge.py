"""The module that brings calls of mods to the router, run by node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrouter._mod.bridge import bridge_source
from hookrouter._mod.results import FIELDS, SILENT_ON_MESSAGES
from hookrouter._mod.routes import Route
from hookrouter._routing.merge import merge
from support.mod_replies import ALL, AROUND, KINDS

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not on PATH, so no JavaScript can be run")
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


"""Constructors of every reply, which have tests of their own."""


def ended(event: str, reply: Any) -> dict[str, Any]:
    output = merge(event, [("p", reply)], messengers={"p"})
    return {"exit_code": output.exit_code, "stdout": output.stdout, "stderr": output.stderr}


@needs_node
def test_every_kind_of_reply_becomes_what_a_module_returns(tmp_path: Path) -> None:
    found = call(tmp_path, *(("translated", event, ended(event, reply)) for event, reply, _ in KINDS))
    for (event, reply, result), got in zip(KINDS, found, strict=True):
        assert got == {"result": result, "said": []}, (event, reply)


@needs_node
def test_a_message_is_shown_unless_claude_code_discards_it(tmp_path: Path) -> None:
    told = json.dumps({"systemMessage": "look"})
    cases = [("translated", event, {"exit_code": 0, "stdout": told, "stderr": ""}) for event in FIELDS]
    for event, got in zip(FIELDS, call(tmp_path, *cases), strict=True):
        assert got == {"result": {}, "said": [] if event in SILENT_ON_MESSAGES else [f"{event} says: look"]}


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
