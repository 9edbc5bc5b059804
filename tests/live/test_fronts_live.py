"""The main path through each front: the real client starts it, a real router serves the hooks, an agent answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.waiting import wait_until

if TYPE_CHECKING:
    from support.live_fronts import LiveRouters

pytestmark = pytest.mark.live

# The class is in conftest.py, which cannot be imported from here.
Live = Any

WAY = {
    "question": "Which way should we go?",
    "header": "Way",
    "multiSelect": False,
    "options": [{"label": label, "description": f"about {label}"} for label in ("Left", "Right")],
}


def test_a_question_is_answered_by_its_waiting_hook_and_one_by_keys(fronted: tuple[Live, LiveRouters]) -> None:
    live, routers = fronted
    for index, channel, label in ((1, "reply", "Right"), (0, "keys", "Left")):
        tool_use_id = live.ask(WAY)
        wait_until(lambda: live.stage.documents("reply-waiting"), 20, "waiting hook")
        done = live.answer({"action": "select", "optionIndex": index}, options=("--channel", channel))
        result = json.loads(done.stdout)
        assert (done.returncode, result["outcome"], result["channel"]) == (0, "verified", channel), result
        assert live.recorded(tool_use_id)["answers"] == {WAY["question"]: label}
        assert live.outcome(tool_use_id)["outcome"] == "verified"
        live.client.wait_idle()
    assert live.stage.documents("question") == live.stage.documents("reply-waiting") == []
    routers.assert_served()
    # Each question has at least PreToolUse, PermissionRequest and PostToolUse.
    assert routers.calls() >= 6
