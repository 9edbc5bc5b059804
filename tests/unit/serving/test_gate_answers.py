"""What an http hook answers for a program's exit code and output, event by event."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.document import contract
from hookrouter._serving.caller import BroughtCall, Outcome
from hookrouter._serving.gate import answers, hook_api
from hookrouter._serving.gate.answers import FailedHook, answer_of
from hookrouter._serving.gate.messages import BadRequest, call_request, wait_of
from hookrouter._serving.gate.waits import Waits

EVENTS: Mapping[str, Any] = contract()["events"]


def said(event: str, exit_code: int = 0, stdout: str = "", stderr: str = "") -> dict[str, Any]:
    return answer_of(event, Outcome(exit_code, stdout.encode(), stderr.encode()))


def test_exit_code_2_is_said_as_the_contract_takes_it() -> None:
    for event, facts in EVENTS.items():
        answer = said(event, 2, stderr="no")
        fields = {name.rstrip("?").partition("?")[0] for name in facts["output"]}
        specific = {name.rstrip("?") for name in facts["output"].get("hookSpecificOutput?", {})}
        if event in answers.PERMISSION_EVENTS:
            refusal = {"permissionDecision": "deny", "permissionDecisionReason": "no"}
            assert answer == {"hookSpecificOutput": {"hookEventName": event, **refusal}}
            assert set(refusal) <= specific
        elif event in answers.DECISION_EVENTS:
            assert answer == {"decision": "block", "reason": "no"}
            assert {"decision", "reason"} <= fields or event == "PostToolBatch"
        elif event in answers.TOLD_EVENTS:
            assert answer == {"systemMessage": "no"}
            assert not facts["blockable"]
        else:
            assert answer == {}
        if "decision" in fields:
            assert event in answers.DECISION_EVENTS + answers.PERMISSION_EVENTS


def test_plain_text_is_context_where_it_is_for_a_command() -> None:
    for event, facts in EVENTS.items():
        is_context = "Claude" in facts["plain_stdout"] and "http" in facts["types"]
        assert (event in answers.CONTEXT_EVENTS) == is_context, event
        answer = said(event, stdout="word\n")
        if is_context:
            assert answer == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "word"}}
            assert "additionalContext?" in facts["output"]["hookSpecificOutput?"]


def test_json_passes_and_another_exit_code_fails() -> None:
    assert said("Stop", 0, '{"decision": "block", "reason": "r"}\n') == {"decision": "block", "reason": "r"}
    assert said("Stop", 1, '{"systemMessage": "m"}') == {"systemMessage": "m"}
    assert said("PreToolUse", 2, '{"systemMessage": "m", "decision": "approve"}', "no")["systemMessage"] == "m"
    assert "decision" not in said("PreToolUse", 2, '{"decision": "approve"}', "no")
    assert said("Stop") == {}
    with pytest.raises(FailedHook, match="exit code 137: killed"):
        said("Stop", 137, "", "killed")


@given(st.sampled_from(sorted(EVENTS)), st.integers(0, 255), st.binary(), st.binary())
def test_whatever_a_program_writes_the_answer_is_a_json_object(event: str, code: int, out: bytes, err: bytes) -> None:
    try:
        assert json.loads(json.dumps(answer_of(event, Outcome(code, out, err)))) is not None
    except FailedHook:
        assert code not in (0, 2)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda one: st.lists(one) | st.dictionaries(st.text(), one),
)
KEYS = st.sampled_from(["id", "event", "cwd", "environ", "payload", "wait", "before"])


@given(st.binary() | st.dictionaries(KEYS, JSON).map(lambda one: json.dumps(one).encode()))
def test_a_body_is_a_call_or_is_refused(body: bytes) -> None:
    for parse in (call_request, wait_of):
        with suppress(BadRequest):
            parse(body)


class Client:
    """What uvicorn is to an application, for one request."""

    def __init__(self, path: str, headers: list[tuple[bytes, bytes]], body: bytes, method: str = "POST") -> None:
        self.scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": headers}
        self._body = body
        self.left = asyncio.Event()
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None  # type: ignore[assignment]
            return {"type": "http.request", "body": body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.sent)


OURS = [(b"Host", b"127.0.0.1:1"), (b"Authorization", b"Bearer t"), (b"Content-Type", b"application/json")]


def test_blanks_are_sent_while_a_call_waits_and_then_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_api, "HEARTBEAT", 0.01)

    async def run() -> Client:
        client = Client("/hook/stop", OURS, b"{}")

        async def bring(_call: BroughtCall) -> Outcome:
            while client.body.count(b" ") < 3:
                await asyncio.sleep(0)
            return Outcome(2, b"", b"no")

        await hook_api.HookApi("127.0.0.1:1", "t", {}, bring)(client.scope, client.receive, client.send)
        return client

    client = asyncio.run(run())
    assert client.status == 200
    assert client.body.startswith(b"   ")
    assert json.loads(client.body) == {"decision": "block", "reason": "no"}


NAMES = st.sampled_from(
    [b"host", b"Origin", b"AUTHORIZATION", b"content-type", b"x-hookrouter-tmux", b"content-length"]
)
VALUES = st.sampled_from([b"127.0.0.1:1", b"Bearer t", b"application/json", b"null", b""]) | st.binary()


@given(
    st.lists(st.tuples(NAMES, VALUES)), st.binary() | st.just(b"{}"), st.sampled_from(["/hook/stop", "/", "/hook/\xff"])
)
def test_no_request_but_the_clients_makes_a_call(headers: list[tuple[bytes, bytes]], body: bytes, path: str) -> None:
    made: list[BroughtCall] = []

    async def bring(call: BroughtCall) -> Outcome:
        made.append(call)
        return Outcome(0, b"", b"")

    client = Client(path, headers, body)
    asyncio.run(hook_api.HookApi("127.0.0.1:1", "t", {}, bring)(client.scope, client.receive, client.send))
    found = {name.lower(): value for name, value in headers}
    is_ours = (
        b"origin" not in found and found.get(b"authorization") == b"Bearer t" and found.get(b"host") == b"127.0.0.1:1"
    )
    assert not made or is_ours
    assert client.status != 200 or made
    assert is_ours or (client.status in (401, 403) and client.body == b"")


def test_a_subagents_request_is_not_ended_by_the_main_agent() -> None:
    async def run() -> None:
        waits = Waits()
        task = asyncio.ensure_future(asyncio.Event().wait())
        waits.add(task, {"session_id": "s", "agent_id": "a", "tool_name": "Bash", "tool_input": {"command": "ls"}})
        for event in ("Stop", "UserPromptSubmit"):
            waits.heard(event, {"session_id": "s"})
        waits.heard("PreToolUse", {"session_id": "s", "agent_id": "a"})
        assert not task.cancelling()
        waits.heard("SubagentStop", {"session_id": "s", "agent_id": "a"})
        assert task.cancelling()

    asyncio.run(run())
