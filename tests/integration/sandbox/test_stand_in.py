"""The stand-in for a client, in tests: its keys, its screen and its sessions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from hookrouter._sandbox.client import prompt_box
from hookrouter._sandbox.stand_in import StandIn
from support.shown_display import Display


def test_a_prompt_that_was_taken_leaves_the_box_before_its_hooks_run(tmp_path: Path) -> None:
    settings, shown, seen = (tmp_path / name for name in ("settings.json", "shown", "seen"))
    hook = {"type": "command", "command": f"cp {shlex.quote(str(shown))} {shlex.quote(str(seen))}"}
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}), encoding="utf-8")
    script = {"forms": {}, "settings": str(settings), "session_id": "s"}
    StandIn(script, Display("please ASK single", shown)).run()
    box = prompt_box(seen.read_text(encoding="utf-8"))
    assert box is not None
    assert box.text == ""


def test_a_session_begins_and_clear_begins_another_one(tmp_path: Path) -> None:
    settings, seen = tmp_path / "settings.json", tmp_path / "seen"
    hook = {"type": "command", "command": f"cat >> {shlex.quote(str(seen))}; echo >> {shlex.quote(str(seen))}"}
    events = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop")
    settings.write_text(json.dumps({"hooks": {name: [{"hooks": [hook]}] for name in events}}), encoding="utf-8")
    StandIn({"forms": {}, "settings": str(settings), "session_id": "s"}, Display("/clear", tmp_path / "shown")).run()
    told = [json.loads(line) for line in seen.read_text(encoding="utf-8").splitlines()]
    assert [(one["hook_event_name"], one.get("source") or one.get("reason")) for one in told] == [
        ("SessionStart", "startup"),
        ("SessionEnd", "clear"),
        ("SessionStart", "clear"),
    ]
    first, ended, second = (one["session_id"] for one in told)
    assert first == ended == "s"
    assert second != first
