"""A third party's plugins, a guard and a broken one: their hooks are run as settings.json says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.smoke import SmokeStage

GUARD = """
from hookrouter import PreToolUseReply, hookimpl

@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    if "rm -rf" in tool_input.command:
        return PreToolUseReply.deny("nothing is removed here")
    return None
"""

BROKEN = """
from hookrouter import hookimpl

@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    raise RuntimeError("a bug")
"""


def test_a_guard_refuses_what_it_must_and_explain_says_who_is_asked(stage: SmokeStage) -> None:
    stage.plugin("guard", GUARD)
    stage.install()

    (refused,) = stage.hooks("PreToolUse", "Bash", {"command": "rm -rf /"})
    (let_by,) = stage.hooks("PreToolUse", "Bash", {"command": "ls"})

    assert (refused.code, refused.decision, refused.reason) == (0, "deny", "guard: nothing is removed here")
    assert (let_by.code, let_by.reply, let_by.errors) == (0, {}, "")
    # No process is started for calls that nobody listens to.
    assert stage.hooks("PreToolUse", "Write", {"file_path": "/x", "content": ""}) == []
    assert "1. guard (pre_tool_use_bash): " in stage.call("explain", "PreToolUse", "--tool", "Bash")


def test_a_broken_plugin_lets_calls_by_and_is_noticed(stage: SmokeStage) -> None:
    stage.plugin("guard", GUARD)
    stage.plugin("broken", BROKEN)
    stage.install()

    (refused,) = stage.hooks("PreToolUse", "Bash", {"command": "rm -rf /"})
    (let_by,) = stage.hooks("PreToolUse", "Bash", {"command": "ls"})

    assert refused.decision == "deny"
    assert (let_by.code, let_by.decision) == (0, "")
    assert "plugin broken failed in pre_tool_use_bash (RuntimeError: a bug)" in let_by.reply["systemMessage"]
    assert [call["outcome"] for call in stage.journal()[-1]["plugins"]] == ["failed", "none"]


def test_a_broken_guard_that_fails_closed_refuses_every_call(stage: SmokeStage) -> None:
    stage.plugin("broken", BROKEN)
    stage.configure(f'{stage.agent}\n[plugins.broken]\non_error = "closed"\n')
    stage.install()

    (refused,) = stage.hooks("PreToolUse", "Bash", {"command": "ls"})
    assert refused.decision == "deny"
    assert "set to fail closed" in refused.reason

    stage.plugin("broken", "import no_such_module\n")
    (refused,) = stage.hooks("PreToolUse", "Bash", {"command": "ls"})
    assert refused.decision == "deny"
