"""The router that stays: it serves hooks, and nothing is lost if it is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.resident import Resident

if TYPE_CHECKING:
    from support.smoke import SmokeStage

GUARD = """
from hookrouter import PreToolUseReply, hookimpl

@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    return PreToolUseReply.deny("not while I watch")
"""


def test_hooks_are_served_by_the_router_and_run_by_themselves_once_it_is_killed(stage: SmokeStage) -> None:
    stage.plugin("guard", GUARD)
    # The page's port is one for all homes of this machine.
    stage.configure(f"{stage.agent}\n[page]\nenabled = false\n")
    stage.install("--front", "python")

    with Resident(stage.environ) as router:
        (served,) = stage.hooks("PreToolUse", "Bash", {"command": "ls"})
        status = stage.json("serve", "--status")
        assert (status["pid"], status["calls"], status["sent_away"]) == (router.pid, 1, {})
        router.kill()
        assert "error" in stage.json("serve", "--status", code=1)
        (cold,) = stage.hooks("PreToolUse", "Bash", {"command": "ls"})

    assert [(one.code, one.decision, one.reason) for one in (served, cold)] == [
        (0, "deny", "guard: not while I watch")
    ] * 2
    assert len(stage.outcomes("PreToolUse")) == 2
