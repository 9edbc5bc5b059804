"""Has the scripted Claude write a plan: into the file that the client names to it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hookrouter._sandbox.scripted_model import ToolUse
from hookrouter._sandbox.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter._sandbox.client import ClientSession
    from hookrouter._sandbox.scripted_model import ScriptedModel

__all__ = ["planned"]


def planned(client: ClientSession, model: ScriptedModel, stops: Callable[[], int], text: str) -> ToolUse:
    """Write the session's plan file, and return the call that offers it. ``stops`` counts the turns that have ended."""
    before = stops()
    client.submit("begin")
    wait_until(lambda: stops() > before, 30, "the end of the turn", client.screen)
    client.wait_idle()
    said = json.dumps([request.body for request in model.requests])
    path = Path(re.findall(r"(/[^\s\"\\]+/plans/[\w.-]+\.md)", said)[-1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return ToolUse("ExitPlanMode", {"plan": text})
