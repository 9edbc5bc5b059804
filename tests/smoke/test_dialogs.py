"""Permissions and plans under rules: decided at once, or by the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.smoke import SmokeStage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

RULES = """
[[approvals.rules]]
tool = "Bash(rm:*)"
decide = "deny"

[[approvals.rules]]
tool = "Bash"
decide = "agent"

[[approvals.rules]]
tool = "ExitPlanMode"
decide = "agent"
"""


def bash(command: str) -> Mapping[str, Any]:
    return {"tool": "Bash", "input": {"command": command, "description": "as asked"}, "mode": "default"}


CALLS = {
    "make": bash("mkdir reports"),
    "remove": bash("rm -rf reports"),
    "plan": {
        "tool": "ExitPlanMode",
        "input": {"plan": "# Sync\n\n1. Read\n2. Write", "planFilePath": "~/.claude/plans/sync.md"},
        "mode": "plan",
    },
}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[SmokeStage]:
    """One with rules, that keeps what its hooks have replied."""
    with SmokeStage(tmp_path, RULES) as stage:
        stage.variables["HOOKROUTER_TRACE"] = "1"
        stage.install()
        yield stage


def test_the_agent_allows_a_call_and_a_rule_refuses_another_one_at_once(stage: SmokeStage) -> None:
    with stage.starts({}, CALLS) as claude:
        claude.submit("please ASK make")
        asked = stage.hears()
        assert (asked["data"]["dialog"], asked["data"]["request"]["input"]["command"]) == (
            "permission",
            "mkdir reports",
        )
        assert stage.answer(asked, {"action": "allow"})["outcome"] == "verified"

        claude.submit("please ASK remove")
        stage.wait("refusal", lambda: "⎿  Rejected" in claude.screen())
    assert stage.outcomes("PermissionRequest")[1:] == ["deny"]
    assert len(stage.told()) == 1


def test_the_agent_refuses_a_call_and_claude_reads_why(stage: SmokeStage) -> None:
    with stage.starts({}, CALLS) as claude:
        claude.submit("please ASK make")
        asked = stage.hears()
        # The stand-in writes no transcript, which alone proves a refusal: so it is not waited for.
        result = stage.json("deny", f"--session={asked['session']}", "--wait=0", "use the other folder")
        assert result["outcome"] == "delivered"
        stage.wait("refusal", lambda: "⎿  Rejected" in claude.screen())
    (record,) = (one for one in stage.journal() if one["event"] == "PermissionRequest")
    (reply,) = (call["reply"] for call in record["plugins"] if call["outcome"] == "replied")
    assert reply == {"verdict": "deny", "reason": "use the other folder"}


def test_a_plan_is_sent_back_and_the_next_one_approved(stage: SmokeStage) -> None:
    with stage.starts({}, CALLS) as claude:
        claude.submit("please ASK plan")
        asked = stage.hears()
        assert asked["data"]["dialog"] == "plan"
        assert "> 1. Read" in asked["text"]
        stage.answer(asked, {"action": "revise", "text": "test it"}, wait=0)
        stage.wait("refusal", lambda: "⎿  Rejected" in claude.screen())

        claude.submit("please ASK plan")
        asked = stage.hears(count=2)
        # In that mode Claude Code would not ask about what a rule refuses.
        result = stage.answer(asked, {"action": "approve", "mode": "acceptEdits"}, code=2)
        assert "no agent may grant it" in result["reason"]
        result = stage.answer(asked, {"action": "approve", "mode": "default"})
        assert (result["outcome"], '"mode":"default"' in result["questions"][0]["recorded"]) == ("verified", True)
