from typing import Any

import pytest

from hookrouter.testing import Hooks, sample

TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("tool", "changed"),
    [
        ("Write", {"content": f"token = '{TOKEN}'"}),
        ("Edit", {"new_string": f"x\n{TOKEN}\n"}),
        ("NotebookEdit", {"new_source": "-----BEGIN OPENSSH " + "PRIVATE KEY-----"}),
        ("Bash", {"command": f"curl -H 'Authorization: {TOKEN}' x"}),
        ("Bash", {"command": f"curl -H 'Authorization: {TOKEN[:9]}''{TOKEN[9:]}' x"}),
        ("Bash", {"command": "cat > x <<END\n" + "AKIA" + "A1B2" * 4 + "\nEND"}),
        ("Write", {"content": ["no", "text"]}),
    ],
)
def test_a_secret_is_refused(hooks: Hooks, tool: str, changed: dict[str, Any]) -> None:
    hooks.add("./no_secrets.py")
    payload = sample("PreToolUse", "Write" if tool == "NotebookEdit" else tool)
    payload |= {"tool_name": tool, "tool_input": {**payload["tool_input"], **changed}}
    result = hooks.fire(payload)
    assert result.decision == "deny"
    assert TOKEN not in result.reason


@pytest.mark.parametrize("text", ["token = os.environ['GH_TOKEN']", "ghp_short", "sk-ant-...", "AKIAfoo"])
def test_all_else_is_written(hooks: Hooks, text: str) -> None:
    hooks.add("./no_secrets.py")
    assert hooks.fire("PreToolUse", "Write", tool_input={"file_path": "/x", "content": text}).decision is None
