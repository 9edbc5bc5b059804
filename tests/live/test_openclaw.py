"""The gateway plugin on a real OpenClaw gateway with a scripted model: every route, every fault, the whole loop."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hookrouter_openclaw
from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.cli.dialogs.skill import install, skill_text
from hookrouter.messaging import http
from hookrouter.messaging.gateway import Message, Probe, SendResult
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.home import Home
from support.fake_openclaw import FakeOpenClaw
from support.matrix import mostly_long
from support.openclaw import OPENCLAW_VERSION, OpenClaw, find_openclaw
from support.scripted_chat import Call, Chat, ScriptedChat, Words
from support.tabled_gateway import TabledGateway

pytestmark = [pytest.mark.openclaw, pytest.mark.xdist_group("openclaw")]

PATIENCE = 5
"""Tries for a message: a gateway on a busy machine may need more than its 15 s to begin a run, and then says 503."""


def gateway() -> TabledGateway:
    return TabledGateway(hookrouter_openclaw.gateway())


class Claw(NamedTuple):
    real: OpenClaw
    chat: ScriptedChat

    def table(self, **settings: object) -> dict[str, object]:
        return {"url": self.real.url, "agent": "main", "token_env": "HOOK_TOKEN", **settings}

    def deliver(self, wake: Message, **settings: object) -> SendResult:
        """Deliver as the deliverer does: again, while that can help."""
        for _ in range(PATIENCE):
            woken = gateway().deliver(wake, self.table(**settings))
            if woken.delivered or not woken.retry:
                break
        return woken

    def turns(self, wake: Message) -> int:
        return len(self.chat.turns(wake.text))


@pytest.fixture(scope="module")
def claw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Claw]:
    """Return one gateway for all tests; its workspace holds the skill, its main session is warm."""
    installed = find_openclaw()
    assert installed is not None
    folder = tmp_path_factory.mktemp("openclaw")
    with ScriptedChat() as chat, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("HOOK_TOKEN", OpenClaw.hook_token)
        monkeypatch.setenv("GATEWAY_TOKEN", OpenClaw.gateway_token)
        real = OpenClaw(installed, str(folder), chat.url)
        home = Home.in_folder(str(folder / "hookrouter"))
        install(f"{real.workspace}/skills/hookrouter/SKILL.md", skill_text(home, "openclaw", {}))
        with real:
            running = Claw(real, chat)
            first = wake("warm up")
            assert running.deliver(first).delivered
            chat.wait_for(first.text, timeout=120)
            yield running


def wake(what: str = "a question") -> Message:
    """Return a message that no other test has sent."""
    name = uuid.uuid4().hex
    return Message("question", "a", "claw", "managed", "sid", "toolu_1", "Claude asks", f"{what} <{name}>", name, "now")


def run_of(woken: SendResult) -> str:
    assert woken.delivered, woken.reason
    return woken.reason.rpartition(" ")[2]


def test_a_message_becomes_one_turn_that_knows_the_skill(claw: Claw) -> None:
    message = wake()

    woken = claw.deliver(message)

    assert woken.reason.startswith(f"OpenClaw {OPENCLAW_VERSION} admitted it as run ")
    [turn] = claw.chat.wait_for(message.text, timeout=60)
    assert "EXTERNAL_UNTRUSTED_CONTENT" in turn.prompt
    assert "Answers what Claude Code sessions" in turn.system
    assert "exec" in turn.tools


def test_a_message_that_is_sent_twice_becomes_one_turn(claw: Claw) -> None:
    message, later = wake(), wake()

    assert run_of(claw.deliver(message)) == run_of(claw.deliver(message))
    assert claw.deliver(later).delivered

    claw.chat.wait_for(message.text, timeout=60)
    claw.chat.wait_for(later.text, timeout=60)
    assert claw.turns(message) == 1


ROUTES: list[tuple[dict[str, Any], bool]] = [
    ({"agent": "helper"}, True),
    ({"session_key": "hook:claude", "session_mode": "persistent"}, True),
    ({"route": "mapping", "mapping": OpenClaw.mapping}, False),
    ({"route": "wake"}, False),
    ({"route": "operator", "token_env": "GATEWAY_TOKEN", "agent": "helper"}, False),
]


@pytest.mark.parametrize(("settings", "wrapped"), mostly_long(ROUTES, *ROUTES[3:], several=True))
def test_each_route_reaches_the_model(claw: Claw, settings: dict[str, Any], wrapped: bool) -> None:
    message = wake()

    woken = claw.deliver(message, **settings)

    assert woken.delivered, woken.reason
    turn = claw.chat.wait_for(message.text, timeout=120)[0]
    assert ("EXTERNAL_UNTRUSTED_CONTENT" in turn.prompt) is wrapped


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"token_env": "GATEWAY_TOKEN"}, "answered 401: Unauthorized; correct the token that token_env names"),
        ({"route": "operator"}, "answered 401: Unauthorized; correct the token that token_env names"),
        ({"agent": "ghost"}, 'answered 400: unknown agentId "ghost"'),
        ({"agent": "ghost", "route": "wake"}, 'answered 400: unknown agentId "ghost"'),
        ({"agent": "ghost", "route": "operator", "token_env": "GATEWAY_TOKEN"}, "400: Unknown agent 'ghost'."),
        ({"route": "mapping", "mapping": "none"}, "answered 404: Not Found; enable OpenClaw's hooks, with a mapping"),
        ({"session_key": "other"}, "answered 400: sessionKey must start with one of"),
        ({"hooks_path": "/none"}, "answered 404: Not Found"),
    ],
)
def test_what_a_change_of_config_mends_is_given_up(claw: Claw, settings: dict[str, Any], reason: str) -> None:
    message = wake()

    woken = gateway().deliver(message, claw.table(**settings))

    assert (woken.delivered, woken.retry) == (False, False)
    assert f"OpenClaw {OPENCLAW_VERSION}" in woken.reason
    assert reason in woken.reason
    assert OpenClaw.hook_token not in woken.reason
    assert claw.turns(message) == 0


def test_a_turn_that_ends_in_silence_fails_on_the_operator_route_alone(
    claw: Claw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claw.chat, "script", lambda _chat: Words("NO_REPLY"))
    message, other = wake(), wake()

    silent = gateway().deliver(message, claw.table(route="operator", token_env="GATEWAY_TOKEN"))

    assert (silent.delivered, silent.retry) == (False, True)
    assert "answered 500: internal error" in silent.reason
    assert "never with NO_REPLY" in claw.chat.turns(message.text)[0].prompt
    assert claw.deliver(other).delivered


def test_doctor_hears_the_version(claw: Claw) -> None:
    assert gateway().probe(claw.table()) == Probe(True, f"OpenClaw {OPENCLAW_VERSION} at {claw.real.url}")


@pytest.mark.long
def test_a_message_to_a_frozen_gateway_runs_once(claw: Claw) -> None:
    message, later = wake(), wake()

    with claw.real.frozen():
        frozen = gateway().deliver(message, claw.table(timeout=15.5))
    assert (frozen.delivered, frozen.retry) == (False, True)
    assert "did not answer within 15.5 s, and may have got the message" in frozen.reason

    assert claw.deliver(message).delivered
    assert claw.deliver(later).delivered
    claw.chat.wait_for(message.text, timeout=120)
    claw.chat.wait_for(later.text, timeout=120)
    assert claw.turns(message) == 1


HOOK = {"Authorization": f"Bearer {OpenClaw.hook_token}"}
OPERATOR = {"Authorization": f"Bearer {OpenClaw.gateway_token}"}
SAME: list[tuple[str, str, dict[str, str], Any]] = [
    ("POST", "/hooks/agent", HOOK, {"message": "m"}),
    ("POST", "/hooks/agent", {}, {"message": "m", "agentId": "main"}),
    ("POST", "/hooks/agent", {"Authorization": "Bearer wrong"}, {}),
    ("POST", "/hooks/agent", {"x-openclaw-token": "wrong"}, {}),
    ("POST", "/hooks/agent", OPERATOR, {"message": "m", "agentId": "main"}),
    ("POST", "/hooks/agent", HOOK, {"message": "m", "agentId": "ghost"}),
    ("POST", "/hooks/agent", HOOK, {"message": " ", "agentId": "main"}),
    ("POST", "/hooks/agent", HOOK, b""),
    ("POST", "/hooks/agent", HOOK, b"[1]"),
    ("POST", "/hooks/agent", HOOK, b"{broken"),
    ("POST", "/hooks/agent", HOOK, {"message": "m", "agentId": "main", "sessionKey": "other"}),
    ("POST", "/hooks/agent", HOOK, {"message": "m", "agentId": "main", "sessionMode": "persistent"}),
    ("POST", "/hooks/agent", HOOK, {"message": "m" * 300_000, "agentId": "main"}),
    ("POST", "/hooks/agent?token=x", HOOK, {}),
    ("GET", "/hooks/agent", HOOK, None),
    ("POST", "/hooks/none", HOOK, {}),
    ("POST", "/none", HOOK, {}),
    ("POST", "/hooks/claude", {}, {"message": "m"}),
    ("GET", "/hooks/claude", HOOK, None),
    ("POST", "/hooks/wake", HOOK, {"text": "", "agentId": "main"}),
    ("POST", "/hooks/wake", HOOK, {"text": "t", "agentId": "ghost"}),
    ("POST", "/hooks/wake", HOOK, {"text": "t"}),
    ("POST", "/v1/chat/completions", HOOK, {"model": "openclaw/main", "messages": []}),
    ("POST", "/v1/chat/completions", OPERATOR, {"model": "openclaw/ghost", "messages": []}),
    ("POST", "/v1/chat/completions", OPERATOR, {"model": "openclaw/main", "messages": []}),
    ("GET", "/v1/chat/completions", OPERATOR, None),
    ("GET", "/healthz", {}, None),
]


@pytest.mark.parametrize(("method", "path", "headers", "body"), SAME)
def test_the_fake_refuses_as_the_real_gateway_does(
    claw: Claw, method: str, path: str, headers: dict[str, str], body: Any
) -> None:
    data = json.dumps(body).encode() if isinstance(body, dict) else body

    def answer(url: str) -> tuple[int, str, str | None, Any]:
        got = http.send(method, f"{url}{path}", headers=headers, body=data, timeout=60)
        kind = got.headers["content-type"].partition(";")[0]
        said = json.loads(got.text) if kind == "application/json" else got.text
        return got.status, kind, got.headers.get("allow"), said

    with FakeOpenClaw() as fake:
        assert answer(fake.url) == answer(claw.real.url)


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        ("/hooks/agent", HOOK, {"message": "same", "agentId": "main", "deliver": False}),
        ("/hooks/claude", HOOK, {"message": "same"}),
        ("/hooks/wake", HOOK, {"text": "same", "mode": "now", "agentId": "helper"}),
        (
            "/v1/chat/completions",
            OPERATOR,
            {"model": "openclaw/helper", "messages": [{"role": "user", "content": "s"}]},
        ),
    ],
)
def test_the_fake_admits_as_the_real_gateway_does(
    claw: Claw, path: str, headers: dict[str, str], body: dict[str, Any]
) -> None:
    def shape(value: object) -> object:
        if isinstance(value, dict):
            return {key: shape(one) for key, one in value.items()}
        return [shape(one) for one in value] if isinstance(value, list) else type(value)

    def answer(url: str) -> dict[str, Any]:
        for _ in range(PATIENCE):
            got = http.send("POST", f"{url}{path}", headers=headers, body=json.dumps(body).encode(), timeout=120)
            if got.status != 503:
                break
        assert got.status == 200, got.text
        found: dict[str, Any] = json.loads(got.text)
        return found

    with FakeOpenClaw() as fake:
        faked, real = answer(fake.url), answer(claw.real.url)
    # What a plugin may rely on is what the fake has.
    assert faked.keys() <= real.keys()
    assert shape(faked) == shape({key: real[key] for key in faked})


CONFIG = """\
[[agents]]
id = "tester"
sessions = ["managed*"]
gateway = "claw"

[gateways.claw]
type = "openclaw"
url = "{url}"
agent = "main"
token_file = "{token}"
"""

FORM = {
    "questions": [
        {
            "question": "Which database shall the service use?",
            "header": "Database",
            "options": [
                {"label": "SQLite", "description": "embedded"},
                {"label": "Postgres", "description": "a server"},
            ],
            "multiSelect": False,
        }
    ]
}


def stage(claw: Claw, folder: Path) -> Stage:
    token = folder / "token"
    token.write_text(f"{OpenClaw.hook_token}\n")
    token.chmod(0o600)
    return Stage(str(folder), CONFIG.format(url=claw.real.url, token=token))


@pytest.mark.live
def test_a_question_wakes_the_agent_whose_answer_is_verified(
    claw: Claw, tmp_path: Path, tmux_server: PrivateTmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stage(claw, tmp_path)
    made.record("PreToolUse", "PostToolUse")
    made.install()
    program = find_client()
    assert program is not None

    def agent(chat: Chat) -> Words | Call:
        """Answer as the skill says, with the command from the message."""
        command = re.search(r"(env HOOKROUTER_HOME=\S+ .*--tool-use-id=\S+)", chat.prompt)
        if command is None or chat.results:
            return Words("NO_REPLY")
        line = command[1].replace(" answer ", " answer --json --wait 60 ").partition(" --file")[0]
        decisions = json.dumps([{"action": "select", "optionIndex": 1}])
        return Call("exec", {"command": f"{line} --file - <<'D'\n{decisions}\nD", "yieldMs": 120_000})

    monkeypatch.setattr(claw.chat, "script", agent)
    with (
        ScriptedModel({"database": ask(FORM)}) as model,
        made.client(program, tmux_server, model, session="managed") as client,
    ):
        client.submit("please ASK database")
        identifier = made.wait_payload("PreToolUse", timeout=60)["tool_use_id"]
        recorded = made.wait_payload("PostToolUse", timeout=180)
        assert model.wait_for_result(identifier, timeout=60)

    assert recorded["tool_use_id"] == identifier
    assert recorded["tool_response"]["answers"] == {"Which database shall the service use?": "Postgres"}
    outcomes = [record["outcome"] for record in made.journal() if record.get("event") == "PostToolUse"]
    assert outcomes == ["verified"]

    def result() -> str:
        turns = [chat for chat in claw.chat.chats(identifier) if chat.results]
        return turns[-1].results[-1] if turns else ""

    said = wait_until(result, 60, "the result of hookrouter answer in the agent's turn")
    assert '"outcome": "verified"' in said
    assert len(claw.chat.turns(identifier)) == 1


@pytest.mark.long
def test_a_gateway_that_was_down_gets_each_message_once(claw: Claw, tmp_path: Path) -> None:
    made = stage(claw, tmp_path)
    outbox = Outbox(made.home, print)
    first, second = wake("first"), wake("second")
    claw.real.stop()
    try:
        kept = [outbox.put(message) for message in (first, second)]
        assert made.run("deliver", timeout=300).returncode == 0
        message = outbox.get(kept[0].id)
        assert message is not None
        assert "is the OpenClaw gateway running?" in message.last_error
    finally:
        claw.real.start()

    def is_empty() -> bool:
        for name in outbox.ids():
            outbox.hurry(name)
        assert made.run("deliver", timeout=600).returncode == 0
        return outbox.count() == 0

    wait_until(is_empty, 240, "an empty outbox", lambda: str(outbox.pending()))
    claw.chat.wait_for(first.text, timeout=120)
    claw.chat.wait_for(second.text, timeout=120)
    assert [claw.turns(first), claw.turns(second)] == [1, 1]
