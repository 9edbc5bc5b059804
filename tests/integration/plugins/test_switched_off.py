"""Each plugin of hookrouter's own switched off alone: what the others do goes on, and what is missing is told."""

from __future__ import annotations

import json
import subprocess
from importlib.metadata import distribution
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.dialogs.handover import WAITING, Handover
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv
from support.hook_place import HookPlace
from support.matrix import mostly_long
from support.resident import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.safety

OWN = sorted(entry.name for entry in distribution("hookrouter").entry_points if entry.group == "hookrouter")
FORM = {
    "question": "Which one?",
    "header": "One",
    "multiSelect": False,
    "options": [{"label": label, "description": ""} for label in ("A", "B")],
}
CONFIG = """
[[agents]]
id = "night"
gateways = ["told", "inbox"]

[gateways.told]
type = "command"
argv = ["/bin/sh", "-c", 'cat >> "$TOLD"; echo >> "$TOLD"']
format = "json"
set = {{ TOLD = "{told}" }}

[[approvals.rules]]
tool = "Bash"
decide = "agent"

"""
OFF = """
[plugins.{}]
enabled = false
"""
QUESTIONS, PERMISSIONS, QUEUE, TOLD, SWEPT = "questions", "permissions", "queue", "told", "swept"
STOPS = {
    "ask-user-question": {QUESTIONS},
    "approvals": {PERMISSIONS},
    "hook-reply": {QUESTIONS, PERMISSIONS},
    "sessions": {QUEUE},
    "command": {TOLD},
    "dialogs": {SWEPT},
}
"""What does not go on without a plugin; nothing of the others does."""
TELLS = {
    "ask-user-question": "plugins.ask-user-question.enabled",
    "approvals": "plugins.approvals.enabled",
    "blocked": "plugins.blocked.enabled",
    "dialogs": "plugins.dialogs.enabled",
    "monitor": "plugins.monitor.enabled",
    "page": "plugins.page.enabled",
    "sessions": "plugins.sessions.enabled",
    "command": "gateways.told.type",
    "inbox": "gateways.inbox.type",
    "hook-reply": "answer.channels[0]",
    "keystrokes": "answer.planner",
    "tmux": "answer.terminal",
    "doorbell-prompts": "sessions.channels[2]",
    "mod-prompts": "sessions.channels[0]",
    "stop-prompts": "sessions.channels[3]",
    "rules": None,
}
"""The key at which ``config check`` says what is missing; None for one that refuses nothing here."""


class Place(HookPlace):
    def command(self, *words: str, ok: bool = True) -> Any:
        done = subprocess.run([*script_argv(), *words], env=self.environ, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is ok, (words, done.stdout, done.stderr)
        return json.loads(done.stdout) if ok and "--json" in words else done.stdout + done.stderr

    def decided(self, tool: str, tool_input: Mapping[str, Any], decision: str) -> dict[str, Any]:
        """Have Claude Code ask, decide as an agent does, and return what the client is handed."""
        call = self.call(tool, tool_input)
        self.run(call)
        request = {**call, "hook_event_name": "PermissionRequest"}
        del request["tool_use_id"]
        waiting = self.start(request)

        store = open_store(Home.in_folder(str(self.home)), pytest.fail)

        def is_asked() -> bool:
            return any(Handover(store, name).waiting() for name, _ in store.entries(WAITING))

        try:
            eventually(is_asked)
            (asked,) = self.command("questions", "--json")["questions"]
            self.command("answer", "--wait", "0", "--session", asked["session"], decision)
            out, errors = waiting.communicate(timeout=60)
        finally:
            waiting.kill()
        assert errors == b""
        handed: dict[str, Any] = json.loads(out)["hookSpecificOutput"]["decision"]
        return handed

    def call(self, tool: str, tool_input: Mapping[str, Any], **more: object) -> dict[str, Any]:
        """Return the payload of a call's PreToolUse, or with ``more`` of another event."""
        here = {"cwd": str(self.home), "tool_use_id": f"toolu_{tool}"}
        return {**self.payload, **here, "tool_name": tool, "tool_input": tool_input, **more}

    def ended(self) -> list[tuple[str, str]]:
        return [(one["kind"], one["outcome"]) for one in self.command("history", "--json")["questions"]]


REST = tuple(name for name in OWN if name not in STOPS)
"""Those without which everything goes on: also without all of them."""


@pytest.fixture
def place(tmp_path: Path, off: tuple[str, ...]) -> Place:
    made = Place(tmp_path)
    made.config(CONFIG.format(told=tmp_path / "told.jsonl") + "".join(map(OFF.format, off)))
    return made


@pytest.mark.parametrize(
    "off",
    mostly_long([(name,) for name in OWN] + [REST], *((name,) for name in STOPS), REST),
    ids=[*OWN, "all the rest"],
)
def test_what_the_others_do_goes_on(place: Place, off: tuple[str, ...], tmp_path: Path) -> None:
    stops = STOPS.get(off[0], set())
    if QUESTIONS not in stops:
        handed = place.decided("AskUserQuestion", {"questions": [FORM]}, '[{"action":"select","optionIndex":1}]')
        answers = handed["updatedInput"]["answers"]
        assert answers == {"Which one?": "B"}
        recorded = {"questions": [FORM], "answers": answers}
        after = {"hook_event_name": "PostToolUse", "tool_response": recorded}
        place.run(place.call("AskUserQuestion", recorded, **after))
        assert place.ended() == [("question", "verified")]
    if PERMISSIONS not in stops:
        known = len(place.ended())
        handed = place.decided("Bash", {"command": "ls"}, '[{"action":"allow"}]')
        assert handed["behavior"] == "allow"
        place.run(place.call("Bash", {"command": "ls"}, hook_event_name="PostToolUse", tool_response={}))
        assert len(place.ended()) == known + 1
        assert ("permission", "verified") in place.ended()
    if TOLD not in stops:
        told = tmp_path / "told.jsonl"
        asked = {"toolu_AskUserQuestion": QUESTIONS, "toolu_Bash": PERMISSIONS}
        wanted = {call for call, loop in asked.items() if loop not in stops}

        def messages() -> dict[str, Any]:
            lines = told.read_text().splitlines() if told.exists() else []
            return {one["tool_use_id"]: one for one in map(json.loads, filter(None, lines))}

        eventually(lambda: messages().keys() >= wanted)
        # Completed right before it goes out.
        assert all("answer" in messages()[call]["data"]["command"] for call in wanted)
    if off != ("ask-user-question",):
        place.run(place.call("AskUserQuestion", {"questions": [FORM]}, tool_use_id="toolu_left"))
        base = ("session_id", "transcript_path", "permission_mode")
        stop = {"hook_event_name": "Stop", "stop_hook_active": False, "cwd": str(place.home)}
        place.run({**{key: place.payload[key] for key in base}, **stop})
        assert (("question", "unanswered") in place.ended()) is (SWEPT not in stops)
    place.command("pause", "--all")
    place.command("resume", "--all")
    assert "hookrouter answer" in place.command("skill")
    place.command("queue", "list", "--json", ok=QUEUE not in stops)


@pytest.mark.parametrize("off", [(name,) for name in OWN], ids=OWN)
def test_what_is_missing_is_told(place: Place, off: tuple[str, ...]) -> None:
    key = TELLS.get(off[0])
    report = place.command("config", "check", "--json", ok=key is None or key.startswith("plugins."))
    found = {one["key"] for one in report["problems"]} if isinstance(report, dict) else set()
    told = report if isinstance(report, str) else found
    if key is not None:
        assert key in told
    else:
        assert not any(one.startswith(("plugins.", "gateways.", "answer.", "sessions.")) for one in found)
