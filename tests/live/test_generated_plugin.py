"""A plugin as ``hookrouter plugins new`` writes it, called by the real client: its own live test, and its fixture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter.testing import PluginFailed, ScriptedClaude

if TYPE_CHECKING:
    from support.generated import Generated

pytestmark = pytest.mark.live

PLUGIN = """
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply

@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    if "fail" in tool_input.command:
        raise RuntimeError("told to fail")
    if "secret" in tool_input.command:
        return PreToolUseReply.deny("not the secret")
"""


@pytest.mark.xdist_group("generated")
@pytest.mark.long
def test_its_own_live_test_passes(generated: Generated) -> None:
    program = find_client()
    assert program is not None
    variables = {"HOOKROUTER_CLAUDE": program, "HOOKROUTER_REQUIRE_LIVE": "1"}
    done = generated.run("pytest", "-q", "tests/test_live.py", "-p", "no:cacheprovider", **variables)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^1 passed", done.stdout, re.MULTILINE), done.stdout


def test_the_scripted_client_does_what_a_test_says(claude: ScriptedClaude) -> None:
    claude.add_plugin("keeper", PLUGIN)

    outcome = claude.use_tool("Bash", {"command": "cat secret"})
    assert "not the secret" in outcome.result
    assert [call["outcome"] for call in outcome.records if call["plugin"] == "keeper"] == ["replied"]
    (payload,) = claude.payloads("PreToolUse")
    assert payload["tool_input"]["command"] == "cat secret"

    (claude.project / "note").write_text("hello from a file")
    assert "hello from a file" in claude.use_tool("Bash", {"command": "cat note"}).result
    with pytest.raises(PluginFailed, match="keeper: failed in pre_tool_use_bash: RuntimeError: told to fail"):
        claude.use_tool("Bash", {"command": "true fail"})

    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    asked = claude.ask({"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False})
    answered = claude.answer({"action": "select", "optionIndex": 1})
    assert answered["tool_use_id"] == asked, answered
    assert answered["outcome"] == "verified", answered
