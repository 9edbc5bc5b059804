"""What a command hook's exit code and output mean, as the client was seen to read them (2.1.332 for PreToolUse)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrouter._contract.tables import EVENTS
from hookrouter._routing.merge import merge
from hookrouter._routing.reply_check import checked_reply
from hookrouter.hook_output import read_output

NAMES = [record.name for record in EVENTS.values()]


def own(event: str, **fields: Any) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})


DENIED = own("PreToolUse", permissionDecision="deny", permissionDecisionReason="r")


@pytest.mark.parametrize(
    ("event", "code", "stdout", "stderr", "verdict", "reason"),
    [
        ("PreToolUse", 2, "", "No way\n", "deny", "[cmd]: No way\n"),
        ("PreToolUse", 2, "out", "", "deny", "[cmd]: No stderr output"),
        ("PreToolUse", 2, '{"decision":"block","reason":"jr"}', "err", "deny", "jr"),
        ("PreToolUse", 2, own("PreToolUse", permissionDecision="allow"), "no", "deny", "[cmd]: no"),
        ("PreToolUse", 2, "{broken}", "no", "deny", "[cmd]: no"),
        ("PreToolUse", 1, '{"decision":"block","reason":"r7"}', "", "deny", "r7"),
        ("PreToolUse", 0, '{"decision":"block"}', "", "deny", "Blocked by hook"),
        ("PreToolUse", 0, '{"decision":"approve"}', "", "allow", None),
        ("PreToolUse", 0, DENIED, "", "deny", "r"),
        ("PreToolUse", 0, f"noise\n{DENIED}", "", None, None),
        ("PreToolUse", 0, f"{DENIED} trailing", "", None, None),
        ("PreToolUse", 0, DENIED + DENIED, "", None, None),
        ("PreToolUse", 0, "[1]", "", None, None),
        ("PreToolUse", 0, f"\ufeff{DENIED}\n", "", "deny", "r"),
        ("PreToolUse", 0, f"\x1c{DENIED}", "", None, None),
        pytest.param("PreToolUse", 0, f'{{"x":{"1" * 5000},{DENIED[1:]}', "", "deny", "r", id="large"),
        ("PermissionRequest", 2, "", "no", None, None),
        ("PermissionRequest", 0, '{"decision":"block","reason":"x"}', "", None, None),
        (
            "PermissionRequest",
            0,
            own("PermissionRequest", decision={"behavior": "deny", "message": "m"}),
            "",
            "deny",
            "m",
        ),
        ("PostToolUse", 2, "", "late", "block", "[cmd]: late"),
        ("Stop", 2, "", "go on", "block", "[cmd]: go on"),
        ("TaskCompleted", 0, '{"decision":"block","reason":"x"}', "", None, None),
        ("TaskCompleted", 2, "", "not yet", "block", "[cmd]: not yet"),
        ("WorktreeCreate", 1, "", "no disk", "block", "[cmd]: no disk"),
        ("WorktreeRemove", -9, "", "", "block", "[cmd]: No stderr output"),
        ("PreModelSwitch", 2, "", "no", "deny", "[cmd]: no"),
        ("Elicitation", 2, own("Elicitation", action="accept", content={"a": 1}), "no", "decline", "[cmd]: no"),
        ("Elicitation", 0, own("Elicitation", action="cancel"), "", "cancel", None),
        ("SessionStart", 2, "", "no", None, None),
    ],
)
def test_a_verdict_is_read_as_the_client_reads_it(
    event: str, code: int, stdout: str, stderr: str, verdict: str | None, reason: str | None
) -> None:
    said = read_output(event, "cmd", code, stdout, stderr).reply
    assert (verdict, reason) == (None, None) if said is None else (said.verdict, said.reason) == (verdict, reason)


@pytest.mark.parametrize(
    ("event", "stdout", "output"),
    [
        ("SessionStart", "hello\n", {"additionalContext": "hello"}),
        ("UserPromptSubmit", "a\nb", {"additionalContext": "a\nb"}),
        ("PreToolUse", "hello", None),
        ("WorktreeCreate", "making\n/tmp/tree\n\n", {"worktreePath": "/tmp/tree"}),
        ("PreCompact", "be short", {"text": "be short"}),
        ("PreCompact", ' {"systemMessage": "hi"}\n', {"text": '{"systemMessage": "hi"}'}),
        ("PostCompact", "{}", {"text": "{}"}),
        ("PreCompact", '{"decision": "block", "reason": "no"}', {}),
        ("PostToolUse", own("PostToolUse", updatedToolOutput=0), {"updatedToolOutput": 0}),
        ("PreToolUse", own("PreToolUse", updatedInput={"command": "ls"}), {"updatedInput": {"command": "ls"}}),
        # Larger than any number of JavaScript's.
        (
            "PreToolUse",
            own("PreToolUse", updatedInput={"a": "N", "b": 7, "c": 0.5}).replace('"N"', "1e999"),
            {"updatedInput": {"a": None, "b": 7, "c": 0.5}},
        ),
    ],
)
def test_what_else_is_said_reaches_claude(event: str, stdout: str, output: object) -> None:
    said = read_output(event, "cmd", 0, stdout, "").reply
    assert (None if said is None else said.output) == output


@pytest.mark.parametrize(
    ("code", "stdout", "fault"),
    [
        (1, "", "ended with exit code 1: bad"),
        (127, "text", "ended with exit code 127: bad"),
        (-9, "", "was ended by signal 9: bad"),
        (0, "{bad}", "its stdout is no JSON: "),
        (0, '{"decision":"block","x":NaN}', "its stdout is no JSON: NaN is not JSON"),
        pytest.param(0, f'{{"x":{"[" * 2000}{"]" * 2000}}}', "its stdout is no JSON: the document is", id="deep"),
        (0, '{"decision":5}', 'its "decision" is neither approve nor block'),
        (0, '{"continue":"no"}', 'its "continue" is a JSON string'),
        (0, '{"hookSpecificOutput":{"permissionDecision":"deny"}}', 'its "hookSpecificOutput" does not have '),
        (0, own("PreToolUse", permissionDecision="nope"), 'its "permissionDecision" is none of allow, '),
        (0, own("PreToolUse", updatedInput=[]), 'its "updatedInput" is a JSON array'),
    ],
)
def test_what_the_client_takes_for_a_failure_is_one(code: int, stdout: str, fault: str) -> None:
    outcome = read_output("PreToolUse", "cmd", code, stdout, "bad")
    assert outcome.reply is None
    assert outcome.fault.startswith(fault)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["behavior", "a"]), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from(
    [
        *("hookEventName", "decision", "reason", "continue", "stopReason"),
        *("systemMessage", "permissionDecision", "updatedInput", "watchPaths", "action"),
        *("content", "additionalContext", "terminalSequence", "updatedToolOutput", "interrupt"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    event=st.sampled_from(NAMES),
    code=st.sampled_from([0, 1, 2, -9]),
    outer=st.dictionaries(KEYS, JSON | st.sampled_from(["block", "approve"]), max_size=3),
    inner=st.dictionaries(KEYS, JSON | st.sampled_from(["allow", "deny", "accept"]), max_size=3),
    named=st.booleans(),
)
def test_nothing_that_a_hook_prints_is_a_fault_of_the_reader(
    event: str, code: int, outer: dict[str, Any], inner: dict[str, Any], named: bool
) -> None:
    inner = {**inner, "hookEventName": event} if named else inner
    outcome = read_output(event, "cmd", code, json.dumps({**outer, "hookSpecificOutput": inner}), "e")
    if (reply := checked_reply(event, outcome.reply)) is not None:
        merge(event, [("scripts", reply)])


def test_a_refused_compaction_is_named_once() -> None:
    """Claude Code puts the command before what stopped a compaction: seen on 2.1.332."""
    said = read_output("PreCompact", "cmd", 2, "", "not now\n").reply
    assert said is not None
    assert (said.verdict, said.reason) == ("block", "not now")
