"""The gateway that wakes OpenClaw agents: what it sends, what each answer means, and what a bad table is told."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hookrouter_openclaw
from hookrouter.messaging.gateway import Message, Probe, SendResult
from hookrouter_openclaw import posting
from support import fake_openclaw, openclaw
from support.fake_openclaw import FakeOpenClaw, FakeReply
from support.paired_http import PairedServer, paired_http
from support.tabled_gateway import TabledGateway

WRONG = "a-wrong-token-that-nobody-may-see"


def gateway() -> TabledGateway:
    return TabledGateway(hookrouter_openclaw.gateway())


def wake(text: str = "hello\nworld", name: str = "17-1-0", **fields: str) -> Message:
    made = Message("question", "a", "claw", "my session", "sid", "toolu_1", "Claude asks", text, name, "2026-11-21")
    return made._replace(**fields)


@pytest.fixture(autouse=True)
def _paired(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(fake_openclaw, "ThreadingHTTPServer", PairedServer)
    with paired_http():
        yield


@pytest.fixture
def fake() -> Iterator[FakeOpenClaw]:
    with FakeOpenClaw() as running:
        yield running


@pytest.fixture(autouse=True)
def _tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_TOKEN", FakeOpenClaw.hook_token)
    monkeypatch.setenv("GATEWAY_TOKEN", FakeOpenClaw.gateway_token)
    monkeypatch.setenv("WRONG_TOKEN", WRONG)


def table(fake: FakeOpenClaw, **settings: object) -> dict[str, object]:
    return {"url": fake.url, "agent": "main", "token_env": "HOOK_TOKEN", **settings}


def deliver(fake: FakeOpenClaw, made: Message | None = None, **settings: object) -> SendResult:
    return gateway().deliver(made or wake(), table(fake, **settings))


def posts(fake: FakeOpenClaw) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in fake.requests if request.method == "POST"]


def test_a_message_becomes_one_turn_of_the_agent(fake: FakeOpenClaw) -> None:
    woken = deliver(fake)

    assert woken.delivered
    assert woken.reason.startswith("OpenClaw 2026.9.6 admitted it as run ")
    assert [(run.route, run.agent, run.text, run.key) for run in fake.runs] == [
        ("agent", "main", "hello\nworld", "17-1-0")
    ]
    assert posts(fake) == [{"message": "hello\nworld", "name": "hookrouter", "agentId": "main", "deliver": False}]


def test_what_a_table_sets_reaches_the_gateway(fake: FakeOpenClaw) -> None:
    woken = deliver(fake, name="claude", model="p/m", session_key="hook:claude", session_mode="persistent")

    assert woken.delivered, woken.reason
    [body] = posts(fake)
    assert body["name"] == "claude"
    assert (body["model"], body["sessionKey"], body["sessionMode"]) == ("p/m", "hook:claude", "persistent")


def test_a_repeated_message_is_the_same_turn_and_another_one_is_not(fake: FakeOpenClaw) -> None:
    assert deliver(fake).delivered
    assert deliver(fake).delivered
    assert len(fake.runs) == 1

    assert deliver(fake, wake(name="17-1-1")).delivered
    assert len(fake.runs) == 2


def test_a_mapping_gets_the_message_and_its_fields(fake: FakeOpenClaw) -> None:
    woken = gateway().deliver(
        wake(), {"url": fake.url, "token_env": "HOOK_TOKEN", "route": "mapping", "mapping": "claude"}
    )

    assert woken.delivered, woken.reason
    assert [(run.route, run.text, run.key) for run in fake.runs] == [("mapping", "hello\nworld", "17-1-0")]
    [body] = posts(fake)
    assert (body["kind"], body["session"], body["tool_use_id"]) == ("question", "my session", "toolu_1")


def test_the_main_session_gets_a_system_event(fake: FakeOpenClaw) -> None:
    woken = deliver(fake, route="wake")

    assert (woken.delivered, woken.reason) == (True, "OpenClaw 2026.9.6 took it as a system event (queued)")
    assert posts(fake) == [{"text": "hello\nworld", "mode": "now", "agentId": "main"}]
    assert deliver(fake, route="wake").reason.endswith("(coalesced)")


def test_the_operator_route_uses_the_gateway_token_and_the_session(fake: FakeOpenClaw) -> None:
    woken = deliver(fake, route="operator", token_env="GATEWAY_TOKEN", session_key="agent:main:claude")

    assert woken.delivered, woken.reason
    [run] = fake.runs
    assert (run.route, run.agent) == ("operator", "main")
    assert run.text.startswith("hello\nworld\n\n")
    assert "never with NO_REPLY" in run.text
    [request] = [request for request in fake.requests if request.method == "POST"]
    assert request.headers["x-openclaw-session-key"] == "agent:main:claude"


def test_a_notice_names_session_and_question_and_quotes_nothing(fake: FakeOpenClaw) -> None:
    assert deliver(fake, wake(session="s\n1"), format="notice").delivered

    assert posts(fake)[0]["message"] == (
        "hookrouter notice (question): session `s\\x0a1`, question `toolu_1`. Claude asks"
    )


def test_a_text_that_has_no_utf_8_form_is_delivered(fake: FakeOpenClaw) -> None:
    assert deliver(fake, wake("half a pair \ud800 and \0")).delivered
    assert posts(fake)[0]["message"] == "half a pair \ud800 and \0"


@pytest.mark.parametrize("named", ["env", "file"])
def test_a_wrong_token_is_given_up_with_what_to_correct(fake: FakeOpenClaw, tmp_path: Path, named: str) -> None:
    file = tmp_path / "token"
    file.write_text(f"{WRONG}\n")
    file.chmod(0o600)
    settings = table(fake, **{f"token_{named}": "WRONG_TOKEN" if named == "env" else str(file)})
    if named == "file":
        del settings["token_env"]

    woken = gateway().deliver(wake(), settings)

    assert woken == SendResult(
        delivered=False,
        reason=f"OpenClaw 2026.9.6 answered 401: Unauthorized; correct the token that token_{named} names: it must be "
        "hooks.token of OpenClaw's configuration",
        retry=False,
    )
    assert fake.runs == []


def test_a_lockout_is_waited_for(fake: FakeOpenClaw) -> None:
    for _ in range(20):
        assert deliver(fake, token_env="WRONG_TOKEN").retry is False

    woken = deliver(fake, token_env="WRONG_TOKEN")

    assert (woken.delivered, woken.retry, woken.retry_after) == (False, True, 60.0)
    assert "token_env" in woken.reason
    assert deliver(fake).delivered


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"agent": "ghost"}, '400: unknown agentId "ghost"; compare agent'),
        ({"session_key": "x"}, "400: sessionKey must start with one of: hook:"),
        ({"route": "mapping", "mapping": "none"}, "404: Not Found; enable OpenClaw's hooks, with a mapping 'none'"),
        ({"hooks_path": "/other"}, "404: Not Found; enable OpenClaw's hooks, or correct url and hooks_path"),
        ({"route": "wake", "agent": "ghost"}, '400: unknown agentId "ghost"'),
        ({"route": "operator", "agent": "ghost", "token_env": "GATEWAY_TOKEN"}, "400: Unknown agent 'ghost'."),
        ({"route": "operator"}, "401: Unauthorized; correct the token that token_env names: it must be gateway.auth"),
    ],
)
def test_what_a_change_of_config_mends_is_given_up(fake: FakeOpenClaw, settings: dict[str, Any], reason: str) -> None:
    woken = deliver(fake, **settings)

    assert (woken.delivered, woken.retry) == (False, False)
    assert f"answered {reason}" in woken.reason
    assert fake.runs == []


def test_a_message_that_is_too_large_is_given_up(fake: FakeOpenClaw) -> None:
    woken = deliver(fake, wake("x" * 300_000))

    assert (woken.retry, woken.reason) == (False, "OpenClaw 2026.9.6 answered 413: payload too large")


DRAINING = {"error": {"message": "Gateway is temporarily unavailable", "type": "service_unavailable"}}


@pytest.mark.parametrize(
    ("reply", "retry", "after", "said"),
    [
        (FakeReply(408, "Request Timeout"), True, None, "408: Request Timeout"),
        (FakeReply(409, {"ok": False, "error": "session conflict"}), True, None, "409: session conflict"),
        (FakeReply(429, "Too Many Requests", {"Retry-After": "60"}), True, 60.0, "429: Too Many Requests"),
        (FakeReply(500, "<html>\x1b[31mbroken</html>"), True, None, "500: <html>\\x1b[31mbroken</html>"),
        (FakeReply(502, {"ok": False, "error": "preparation failed"}), True, None, "502: preparation failed"),
        (FakeReply(503, DRAINING, {"Retry-After": "1"}), True, 1.0, "503: Gateway is temporarily unavailable"),
        (FakeReply(503, {"ok": False, "error": "not started", "runId": "x"}), True, None, "503: not started"),
        (FakeReply(503, "", {"Retry-After": "soon"}), True, None, "answered 503"),
        (FakeReply(504, "[1, 2"), True, None, "504: [1, 2"),
        (FakeReply(400, "x" * 200_000), False, None, "400: xxx"),
        (FakeReply(400, {"ok": False, "error": 5}), False, None, "400: {"),
        (FakeReply(403, ""), False, None, "answered 403; correct the token"),
        (FakeReply(405, "Method Not Allowed"), False, None, "405: Method Not Allowed"),
        (FakeReply(418, "teapot"), False, None, "418: teapot"),
        (FakeReply(204, ""), False, None, "answered 204"),
        (FakeReply(200, "<html>a sign-in page</html>"), True, None, "answered 200, but not as OpenClaw does"),
        (FakeReply(200, {"ok": False}), True, None, "answered 200, but not as OpenClaw does"),
        (FakeReply(200, "[" * 60_000), True, None, "answered 200, but not as OpenClaw does"),
    ],
)
def test_every_answer_is_understood(
    fake: FakeOpenClaw, reply: FakeReply, retry: bool, after: float | None, said: str
) -> None:
    fake.replies.append(reply)

    woken = deliver(fake)

    assert (woken.delivered, woken.retry, woken.retry_after) == (False, retry, after)
    assert said in woken.reason
    assert len(woken.reason) < 800


def test_a_redirect_is_not_followed(fake: FakeOpenClaw) -> None:
    with FakeOpenClaw() as other:
        for status in (301, 302, 303, 307, 308):
            fake.replies.append(FakeReply(status, "", {"Location": f"{other.url}/hooks/agent?secret=1"}))
            woken = deliver(fake)
            assert (woken.delivered, woken.retry) == (False, False)
            assert f"redirects to {other.url} ({status}), which is not followed" in woken.reason
        assert other.requests == []


def test_a_gateway_that_is_down_gets_the_message_later(fake: FakeOpenClaw) -> None:
    fake.stop()

    assert deliver(fake) == SendResult(
        delivered=False, reason=f"nothing listens at {fake.url}; is the OpenClaw gateway running?", retry=True
    )
    fake.start()
    assert deliver(fake).delivered
    assert len(fake.runs) == 1


def test_a_gateway_that_drains_asks_to_come_again(fake: FakeOpenClaw) -> None:
    fake.draining = True

    woken = deliver(fake)

    assert (woken.retry, woken.retry_after) == (True, 1.0)
    assert "the OpenClaw gateway answered 503: Gateway is temporarily unavailable" in woken.reason


def test_a_gateway_that_is_frozen_runs_the_message_once(fake: FakeOpenClaw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "ADMISSION", 0.0)
    with fake.frozen():
        woken = deliver(fake, timeout=0.3)
        assert (woken.delivered, woken.retry) == (False, True)
        assert woken.reason == f"{fake.url} did not answer within 0.3 s, and may have got the message"

    assert deliver(fake).delivered
    assert len(fake.runs) == 1


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_the_token_is_in_no_reason_and_no_log(
    fake: FakeOpenClaw, status: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    fake.replies.append(FakeReply(status, f"you sent Bearer {WRONG}", {"X-Echo": WRONG}))

    with caplog.at_level(logging.DEBUG):
        woken = deliver(fake, token_env="WRONG_TOKEN")

    assert not woken.delivered
    for text in (woken.reason, caplog.text, *capfd.readouterr()):
        assert WRONG not in text


def test_a_token_that_no_header_can_hold_is_not_shown(fake: FakeOpenClaw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRONG_TOKEN", f"{WRONG}\r\nX-Injected: 1")

    woken = deliver(fake, token_env="WRONG_TOKEN")

    assert woken.reason == "token_env: what WRONG_TOKEN holds is not one line of plain ASCII"
    assert fake.requests == []


def test_the_credentials_of_netrc_do_not_replace_the_token(fake: FakeOpenClaw) -> None:
    file = Path("~/.netrc").expanduser()
    file.write_text("machine 127.0.0.1 login me password secret\n")
    file.chmod(0o600)

    assert deliver(fake).delivered


def test_a_proxy_of_the_environment_does_not_get_what_is_for_this_machine(
    fake: FakeOpenClaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert deliver(fake).delivered


def test_a_token_file_is_read_without_its_newline(fake: FakeOpenClaw, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{fake.hook_token}\n")
    file.chmod(0o600)
    settings = table(fake, token_file=str(file))
    del settings["token_env"]

    assert gateway().check(settings) == []
    assert gateway().deliver(wake(), settings).delivered


def test_a_token_that_cannot_be_read_is_said_and_kept_for_a_retry(tmp_path: Path, fake: FakeOpenClaw) -> None:
    def found(path: Path) -> str:
        settings = {"url": fake.url, "agent": "main", "token_file": str(path)}
        [problem] = gateway().check(settings)
        woken = gateway().deliver(wake(), settings)
        assert (woken.delivered, woken.retry, woken.reason) == (False, True, problem)
        return problem

    assert found(tmp_path / "none") == f"token_file: {tmp_path / 'none'} cannot be read: No such file or directory"
    os.mkfifo(tmp_path / "pipe")
    assert found(tmp_path / "pipe") == f"token_file: {tmp_path / 'pipe'} is not a file"
    file = tmp_path / "token"
    file.write_text("  \n")
    file.chmod(0o600)
    assert found(file) == f"token_file: {file} is empty"
    file.write_text("secret")
    file.chmod(0o644)
    assert found(file) == (f"token_file: every user of this machine may read {file}; run: chmod 600 {file}")
    file.chmod(0o600)
    file.write_text("x" * 20_000)
    assert found(file) == f"token_file: {file} is larger than 16384 bytes"
    assert gateway().check({"agent": "main", "token_env": "NO_SUCH_TOKEN"}) == [
        "token_env: the environment variable NO_SUCH_TOKEN is not set here"
    ]
    assert fake.requests == []


GOOD: dict[str, Any] = {"agent": "main", "token_env": "HOOK_TOKEN"}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"token_env": "HOOK_TOKEN"}, "agent: missing; the agent's id in OpenClaw is needed"),
        ({**GOOD, "agent": ""}, "agent: found ''; allowed: one line of text"),
        ({**GOOD, "agent": 3}, "agent: found 3"),
        ({"agent": "main"}, "token_env: missing; token_env or token_file must name the token of OpenClaw's hooks"),
        ({**GOOD, "token_file": "/x"}, "token_env: found together with token_file; allowed: one of them"),
        (
            {**GOOD, "token_env": "a=b"},
            "token_env: found a value that is not shown; allowed: the name of an environment variable",
        ),
        ({"agent": "a", "token_file": "x"}, "token_file: found a value that is not shown; allowed: an absolute path"),
        ({**GOOD, "route": "agents"}, "route: found 'agents', did you mean 'agent'?"),
        ({**GOOD, "route": "mapping"}, "mapping: missing; the name of a mapping is needed"),
        ({**GOOD, "mapping": "m"}, "mapping: found with route 'agent'; allowed: with 'mapping'"),
        ({**GOOD, "route": "wake", "model": "m"}, "model: found with route 'wake'; allowed: with 'agent'"),
        ({**GOOD, "session_mode": "kept"}, "session_mode: found 'kept'; allowed:"),
        ({**GOOD, "session_mode": "persistent"}, "session_mode: found 'persistent' without session_key"),
        ({**GOOD, "session_key": "hook:\u00fc"}, "session_key: found 'hook:\u00fc'; allowed: plain ASCII"),
        ({**GOOD, "session_key": 5}, "session_key: found 5"),
        ({**GOOD, "timeout": 15}, "timeout: found 15; allowed: seconds above 15 and up to 3600, because the"),
        ({**GOOD, "timeout": True}, "timeout: found true"),
        ({**GOOD, "timeout": "20"}, "timeout: found '20'"),
        ({**GOOD, "url": 5}, "url: found 5; allowed: a text"),
        ({**GOOD, "url": "localhost:18789"}, "url: found an address of the form localhost://?"),
        ({**GOOD, "url": "ws://localhost"}, "url: found an address of the form ws://localhost"),
        ({**GOOD, "url": "http://[::1"}, "url: no address can be made out"),
        ({**GOOD, "url": "http://localhost:99999"}, "url: no address can be made out"),
        ({**GOOD, "url": "http://u:geheim@localhost"}, "url: found a user name or password in the address"),
        ({**GOOD, "url": "http://box.lan:18789"}, "url: found plain http to box.lan; allowed: https"),
        ({**GOOD, "allow_http": 1}, "allow_http: found 1; allowed: true or false"),
        ({**GOOD, "hooks_path": "hooks"}, "hooks_path: found 'hooks'; allowed: a path"),
        ({**GOOD, "format": "json"}, "format: found 'json'; allowed:"),
        ({**GOOD, "ca_file": "x"}, "ca_file: found a value that is not shown; allowed: an absolute path"),
        ({**GOOD, "agnet": "main"}, "agnet: unknown key, did you mean 'agent'?"),
    ],
)
def test_a_bad_table_is_told_what_is_allowed(settings: dict[str, Any], problem: str) -> None:
    [found] = gateway().check(settings)
    assert found.startswith(problem)
    assert "geheim" not in found


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"url": "http://[::1]:18789/", "timeout": 60},
        {"url": "http://localhost:1", "hooks_path": "/my/hooks"},
        {"url": "https://claw.example.org/gateway", "name": "n", "model": "a/b", "session_key": "hook:s"},
        {"url": "http://box.lan", "allow_http": True},
        {"route": "wake", "session_key": "hook:s"},
        {"route": "operator", "session_key": "s", "timeout": 1200},
        {"route": "mapping", "mapping": "m"},
    ],
)
def test_a_good_table_has_no_problems(more: dict[str, Any]) -> None:
    assert gateway().check({**GOOD, **more}) == []


def test_doctor_hears_whether_the_gateway_is_there(fake: FakeOpenClaw) -> None:
    made = gateway()
    assert made.probe(table(fake)) == Probe(True, f"OpenClaw 2026.9.6 at {fake.url}")
    assert fake.runs == []

    fake.draining = True
    usable, message, fix = made.probe(table(fake))
    assert not usable
    assert fix.startswith("wait until it has started")
    assert "is not an OpenClaw gateway that is ready" in message
    fake.stop()
    assert made.probe(table(fake)) == Probe(
        False, f"nothing listens at {fake.url}", "start the OpenClaw gateway, or correct url"
    )


def test_a_named_installation_that_is_none_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(openclaw.OpenClawError, match="holds no node_modules/openclaw"):
        openclaw.find_openclaw({"HOOKROUTER_OPENCLAW": str(tmp_path)})

    assert openclaw.main(["instal"]) == 2
    assert "usage: python tests/support/openclaw.py install" in capsys.readouterr().err


def test_an_installation_without_npm_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert openclaw.main(["install", str(tmp_path / "claw")]) == 1
    assert "npm is not on PATH" in capsys.readouterr().err


@given(
    st.dictionaries(
        st.sampled_from(["url", "agent", "token_env", "token_file", "route", "timeout", "mapping", "x", "ca_file"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9), st.lists, max_leaves=4
        ),
    )
)
def test_check_never_raises(settings: dict[str, object]) -> None:
    assert all(isinstance(problem, str) for problem in gateway().check(settings))
