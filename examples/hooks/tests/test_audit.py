import json
from pathlib import Path

from hookrouter.testing import Hooks


def test_every_event_is_a_line_that_only_its_owner_reads(hooks: Hooks) -> None:
    hooks.add("./audit.py")
    hooks.fire("UserPromptSubmit", prompt="two\nlines, ünicode")
    hooks.fire("PreToolUse", "Bash", tool_input={"command": "ls"})
    file = Path(hooks.home.logs) / "audit.jsonl"
    first, second = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert (first["hook_event_name"], first["prompt"]) == ("UserPromptSubmit", "two\nlines, ünicode")
    assert (second["tool_input"], second["session"][:7]) == ({"command": "ls"}, "claude-")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_link_in_its_place_is_not_followed(hooks: Hooks, tmp_path: Path) -> None:
    hooks.add("./audit.py")
    Path(hooks.home.logs).mkdir(parents=True)
    (Path(hooks.home.logs) / "audit.jsonl").symlink_to(tmp_path / "elsewhere")
    hooks.fire("Stop", check=False)
    assert not (tmp_path / "elsewhere").exists()
