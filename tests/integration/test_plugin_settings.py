"""A plugin's settings in real hook runs: from config.toml to the attrs class, and what happens where they are wrong."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.fronts import THROUGH_FRONTS, Front

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = THROUGH_FRONTS

PAYLOAD = {
    "session_id": "s",
    "transcript_path": "",
    "cwd": "/",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "t",
}
GUARD = """
import sys
from hookrouter import PreToolUseReply, hookimpl


@hookimpl
def plugin_settings():
    from guard_settings import GuardSettings

    return GuardSettings


@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    words = context.settings("guard")["deny"]
    plain = [name for name in ("attrs", "cattrs") if name in sys.modules]
    from guard_settings import GuardSettings

    settings = context.settings(GuardSettings)
    context.note("seen", [words, list(settings.deny), plain, "cattrs" in sys.modules])
    if tool_input.command in settings.deny:
        return PreToolUseReply.deny("by the rules")
    return None
"""
SETTINGS = """
from __future__ import annotations

import attrs


@attrs.frozen
class GuardSettings:
    deny: tuple[str, ...] = ("rm",)
    {more}
"""


class Place:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.site = folder / "site"
        self.home.mkdir()
        write_plugin(self.site, "guard", GUARD)
        self.declare("")
        self.environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self.environ |= {"HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(self.site)}

    def declare(self, more: str) -> None:
        (self.site / "guard_settings.py").write_text(SETTINGS.format(more=more))

    def run(self, config: str) -> tuple[str | None, str, dict[str, Any]]:
        """Run one hook under this config; return the decision, its reason, and the journal record."""
        (self.home / "config.toml").write_text(config)
        return self.run_again()

    def start_session(self) -> str:
        """Begin a session; return what the user is told."""
        payload = {"session_id": "s", "transcript_path": "", "cwd": "/", "hook_event_name": "SessionStart"}
        arguments = [*script_argv(), "run", "session-start"]
        done = subprocess.run(
            arguments,
            input=json.dumps({**payload, "source": "startup"}),
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return str(json.loads(done.stdout or "{}").get("systemMessage", ""))

    def run_again(self) -> tuple[str | None, str, dict[str, Any]]:
        arguments = [*script_argv(), "run", "pre-tool-use"]
        done = subprocess.run(
            arguments, input=json.dumps(PAYLOAD), env=self.environ, capture_output=True, text=True, check=True
        )
        said = json.loads(done.stdout or "{}").get("hookSpecificOutput", {})
        (journal,) = (self.home / "logs").glob("*.jsonl")
        record = json.loads(journal.read_text().splitlines()[-1])
        return said.get("permissionDecision"), said.get("permissionDecisionReason", ""), record


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_settings_reach_the_plugin_as_plain_values_and_as_an_object(place: Place, front: Front) -> None:
    decision, _, _ = place.run('[plugins.guard.settings]\ndeny = ["ls"]\n')
    assert decision == "deny"
    decision, _, record = place.run_again()
    assert decision == "deny"
    assert record["seen"][:2] == [["ls"], ["ls"]]
    # Plain values cost no import, and the object of a plain class not that of cattrs. A served call has more loaded.
    assert record["seen"][2:] == [[], False] or front.name != "cold"
    decision, _, record = place.run("")
    assert (decision, record["seen"][0]) == (None, ["rm"])


def test_wrong_settings_leave_the_defaults_and_are_named_in_the_journal(place: Place) -> None:
    decision, _, record = place.run('[plugins.guard.settings]\ndeny = "ls"\n')
    assert decision is None
    assert record["seen"][0] == ["rm"]
    fault = "plugins.guard.settings.deny: found 'ls'; allowed: a list of texts"
    assert f"plugin guard: its settings are wrong, and none of them is used: {fault}" in record["warnings"]
    write_plugin(
        place.site, "greeter", "from hookrouter import hookimpl\n@hookimpl\ndef session_start(event, context): pass\n"
    )
    assert f"plugin guard: its settings are wrong, and none of them is used: {fault}" in place.start_session()


def test_a_guard_refuses_where_its_settings_are_wrong(place: Place) -> None:
    decision, reason, _ = place.run('[plugins.guard]\non_error = "closed"\n[plugins.guard.settings]\ndney = ["x"]\n')
    assert decision == "deny"
    assert "plugins.guard.settings.dney: unknown key, did you mean 'deny'?; allowed: deny" in reason
    decision, _, record = place.run('[plugins.guard]\non_error = "closed"\n[plugins.guard.settings]\ndeny = ["x"]\n')
    assert (decision, record["seen"][0]) == (None, ["x"])


def test_a_class_that_changes_is_read_again(place: Place) -> None:
    config = "[plugins.guard]\n[plugins.guard.settings]\nlimit = 3\n"
    assert "limit: unknown key" in str(place.run(config)[2]["warnings"])
    place.declare("limit: int = 1")
    assert not place.run(config)[2].get("warnings")
    place.declare("limit: str = ''")
    assert "limit: found 3; allowed: a text" in str(place.run(config)[2]["warnings"])


def test_what_is_required_and_missing_is_named_and_breaks_the_plugin(place: Place) -> None:
    place.declare("where: str = attrs.field(kw_only=True)")
    decision, _, record = place.run("")
    assert decision is None
    assert "plugin guard is broken: plugins.guard.settings.where: missing; it is required" in record["warnings"]
    assert "seen" not in record
    assert place.run('[plugins.guard.settings]\nwhere = "here"\n')[2]["seen"][0] == ["rm"]


def test_a_declaration_that_is_none_breaks_the_plugin(place: Place) -> None:
    write_plugin(place.site, "guard", GUARD.replace("return GuardSettings", "return {}"))
    _, _, record = place.run("")
    assert "plugin_settings() returned {}; allowed: an attrs class" in str(record["warnings"])


def test_a_plugin_called_order_is_refused_with_the_reason(place: Place) -> None:
    write_plugin(place.site, "order", "from hookrouter import hookimpl\n@hookimpl\ndef stop(event, context): pass\n")
    _, _, record = place.run("")
    assert "plugin order is broken: a plugin cannot be called order" in str(record["warnings"])


def test_a_cache_that_cannot_be_written_or_read_is_only_slower(place: Place) -> None:
    config = '[plugins.guard.settings]\ndeny = ["ls"]\n'
    assert place.run(config)[0] == "deny"
    (cache,) = (place.home / "cache").glob("settings-*.json")
    for content in ("{", "[]", '{"guard": 1}', cache.read_text().replace('"values":{', '"values":[{')):
        cache.write_text(content)
        assert place.run(config)[0] == "deny"
