"""A hook that is about some calls of an event, on the real client: no other call of it starts hookrouter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from support.forms import FORM
from support.matrix import mostly_long
from support.mod_stage import short_folder
from support.resident import Resident
from support.tested_client import needs_mods

pytestmark = pytest.mark.live

CONFIG = '[plugins.ask-user-question]\nenabled = false\n[[agents]]\nid = "tester"\ngateway = "inbox"\n'


@pytest.mark.parametrize("front", mostly_long(["cold", "native", "mod"], "mod"))
def test_only_the_notification_that_is_read_starts_hookrouter(tmux_server: PrivateTmux, front: str) -> None:
    program = find_client()
    assert program is not None
    if front == "mod":
        needs_mods()
        pytest.importorskip("uvicorn")
    with short_folder() as folder, ScriptedModel({"form": ask(FORM)}) as model:
        stage = Stage(folder, f"{CONFIG}[serve]\nmod = true\n")
        stage.record("Notification", "Stop")
        stage.install("--front", front)
        own = Path(stage.client_home.home, ".claude.json")
        own.write_text(json.dumps({**json.loads(own.read_text()), "messageIdleNotifThresholdMs": 1500}))

        def kinds() -> list[str]:
            return [str(one["notification_type"]) for one in stage.payloads("Notification")]

        def runs() -> int:
            return sum(record.get("event") == "Notification" for record in stage.journal())

        with Resident(stage.environ), stage.client(program, tmux_server, model, session="managed") as client:
            client.submit("ASK form")
            client.wait_dialog("Which way?", 30)
            wait_until(lambda: "permission_prompt" in kinds(), 30, "the notification of a dialog", client.screen)
            client.confirm()
            stage.wait_payload("Stop", timeout=30)
            wait_until(lambda: "idle_prompt" in kinds(), 30, "the one of an idle session", client.screen)
            wait_until(runs, 20, "a run of hookrouter", lambda: str(stage.journal()))
            assert runs() == kinds().count("idle_prompt") == 1
