"""Typed tools in the real program: no input of a newer client is refused, and nothing is loaded for nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrouter.samples import sample
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.fronts import COLD_ONLY, THROUGH_FRONTS, Front

pytestmark = THROUGH_FRONTS

HEAD = (
    "import sys\nfrom hookrouter import hookimpl\nfrom hookrouter.replies import PreToolUseReply, PostToolUseReply\n\n"
)


def run(folder: Path, source: str, event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Run the hook in the real program with one plugin; return ``hookSpecificOutput``, empty where there is none."""
    write_plugin(folder / "plugins", "author", HEAD + source)
    done = subprocess.run(
        [*script_argv(), "run", event],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(folder / "plugins"), "HOOKROUTER_HOME": str(folder / "home")},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    output: dict[str, Any] = json.loads(done.stdout or b"{}")
    assert "systemMessage" not in output, output
    found: dict[str, Any] = output.get("hookSpecificOutput", {})
    return found


@COLD_ONLY  # a served call runs in a process that has more loaded
def test_a_hook_loads_the_classes_of_its_tool_and_of_no_other(tmp_path: Path) -> None:
    source = (
        "@hookimpl\ndef pre_tool_use_bash(event, tool_input, context):\n"
        "    loaded = {name.rpartition('.')[2] for name in sys.modules if name.startswith('hookrouter.tools.')}\n"
        "    return PreToolUseReply.deny(f'{tool_input.command} {sorted(loaded)} {\"attr\" in sys.modules}')\n"
    )
    payload = sample("PreToolUse", "Bash", tool_input={"command": "ls"})
    assert run(tmp_path, source, "pre-tool-use", payload)["permissionDecisionReason"].endswith(
        "ls ['bash', 'calls'] False"
    )


@pytest.mark.parametrize("tool_input", [{"command": ["ls"]}, {}, {"cmd": "ls"}, {"command": "ls", "timeout": "soon"}])
def test_an_input_of_another_shape_is_not_refused(tmp_path: Path, tool_input: dict[str, Any]) -> None:
    source = (
        "@hookimpl\ndef pre_tool_use_bash(tool_input):\n"
        "    return PreToolUseReply.deny(f'{tool_input.command} {tool_input.timeout} {tool_input.raw}')\n"
    )
    output = run(tmp_path, source, "pre-tool-use", sample("PreToolUse", "Bash", tool_input=tool_input))
    command = "ls" if tool_input.get("command") == "ls" else None
    assert output["permissionDecisionReason"].endswith(f"{command} None {tool_input}")


@pytest.mark.parametrize("response", ["text", ["a", 1], None, 3, {"stdout": 1}])
def test_a_response_of_any_shape_breaks_no_hook(tmp_path: Path, response: object) -> None:
    source = (
        "@hookimpl\ndef post_tool_use_bash(event, tool_input, tool_response, context):\n"
        "    lines = tool_response.stdout.splitlines()\n"
        "    return PostToolUseReply.context(f'{tool_input.command} {lines} {tool_response.raw}')\n"
    )
    payload = {**sample("PostToolUse", "Bash", tool_input={"command": "ls"}), "tool_response": response}
    assert run(tmp_path, source, "post-tool-use", payload)["additionalContext"].endswith(f"ls [] {response}")


def test_a_former_name_of_a_tool_has_the_typed_input_of_todays(tmp_path: Path) -> None:
    source = (
        "@hookimpl\ndef pre_tool_use_agent(tool_input):\n    return PreToolUseReply.deny(tool_input.subagent_type)\n"
    )
    payload = sample("PreToolUse", "Agent", tool_name="Task")
    output = run(tmp_path, source, "pre-tool-use", payload)
    assert output["permissionDecisionReason"].endswith("general-purpose")


def test_a_generic_hook_reads_the_input_of_the_tools_that_it_knows(tmp_path: Path, front: Front) -> None:
    # A served call runs in a process that has more loaded.
    lean = "    assert 'attr' not in sys.modules\n" if front.name == "cold" else ""
    source = (
        "@hookimpl\ndef pre_tool_use(event, context):\n"
        "    from hookrouter.tools import WriteInput, mcp_name, typed_input\n"
        "    write = typed_input(event, WriteInput)\n"
        "    said = write.file_path if write is not None else mcp_name(event.tool_name)\n"
        f"{lean}    return PreToolUseReply.deny(str(said))\n"
    )
    written = sample("PreToolUse", "Write")
    output = run(tmp_path, source, "pre-tool-use", written)
    assert output["permissionDecisionReason"].endswith(written["tool_input"]["file_path"])
    output = run(tmp_path, source, "pre-tool-use", sample("PreToolUse", "mcp__github__create_issue"))
    assert output["permissionDecisionReason"].endswith("('github', 'create_issue')")
