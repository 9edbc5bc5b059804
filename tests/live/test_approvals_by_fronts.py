"""Permissions, plans and forms through the client's module and as http hooks: a resident router waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, bash
from hookrouter._sandbox.waiting import wait_until
from hookrouter._serving.token import TOKEN_VARIABLE, read_token
from support.approval_session import FORM, ApprovalSession
from support.mod_stage import short_folder
from support.ports import free_port
from support.resident import Resident

if TYPE_CHECKING:
    from hookrouter._sandbox.stage import Stage
    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

Start = Callable[..., ApprovalSession]


@pytest.fixture(params=["mod", "http"])
def start(request: pytest.FixtureRequest, tmux_server: PrivateTmux) -> Iterator[Start]:
    pytest.importorskip("uvicorn")
    front = request.param
    table = "mod = true" if front == "mod" else f'http = "127.0.0.1:{free_port()}"'
    with ExitStack() as stack:

        def serving(stage: Stage) -> dict[str, str]:
            router = stack.enter_context(Resident(stage.environ))
            key = "mod" if front == "mod" else "http"
            wait_until(lambda: (router.status()["gate"] or {}).get(key), 20, "the gate", lambda: str(router.status()))
            if front == "mod":
                return {}
            wait_until(lambda: bool(read_token(stage.home)), 20, "the token", lambda: str(router.status()))
            return {TOKEN_VARIABLE: read_token(stage.home)}

        def started(mode: str = "default", *, strict: bool = True) -> ApprovalSession:
            folder, model = Path(stack.enter_context(short_folder())), stack.enter_context(ScriptedModel())
            options = {"more": f"\n[serve]\n{table}\n", "install": ("--front", front), "prepare": serving}
            one = ApprovalSession(folder, tmux_server, model, mode, strict=strict, **options)
            stack.enter_context(one.client)
            wait_until(one.has_servers_tools, 30, "the server's tools", one.client.screen)
            return one

        yield started


@pytest.mark.long
def test_a_permission(start: Start) -> None:
    one = start()
    assert one.decided(bash(f"touch {one.folder}/one"), {"action": "allow"})["outcome"] == "verified"
    assert (one.folder / "one").exists()
    result = one.decided(bash(f"touch {one.folder}/two"), {"action": "deny", "text": "not this one"})
    assert (result["outcome"], result["channel"]) == ("verified", "reply")
    assert not (one.folder / "two").exists()


@pytest.mark.long
def test_a_plan(start: Start) -> None:
    one = start("plan", strict=False)
    use = one.planned("# Plan\n1. do x\n")
    result = one.decided(use, {"action": "revise", "text": "Add a step"})
    assert (result["outcome"], result["kind"]) == ("verified", "plan")
    assert one.said().endswith("Add a step")
    result = one.decided(use, {"action": "approve", "mode": "acceptEdits", "plan": "# Plan\n1. do y\n"})
    assert (result["outcome"], result["channel"]) == ("verified", "reply")
    assert one.stage.payloads("PostToolUse")[-1]["permission_mode"] == "acceptEdits"


@pytest.mark.long
def test_a_form(start: Start) -> None:
    one = start()
    one.call(ToolUse(FORM, {}))
    one.waiting()
    one.decide({"action": "allow"}, "--wait", "0")
    wait_until(lambda: [each["kind"] for each in one.waiting()] == ["elicitation"], 30, "the form", one.told)
    result = one.decide({"action": "submit", "content": {"name": "bob"}})
    assert (result["outcome"], result["kind"], result["channel"]) == ("verified", "elicitation", "reply")
    wait_until(lambda: one.count("Stop") == 1, 30, "the end of the turn", one.told)
    assert json.loads(one.said()) == {"action": "accept", "content": {"name": "bob"}}
