"""Implementations that may wait: called last, for as long as they say, only where their setting is on."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.markers import waits
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.fronts import COLD_ONLY, THROUGH_FRONTS
from support.hook_place import BASH, HookPlace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = THROUGH_FRONTS

PAYLOAD: dict[str, Any] = {**BASH, "hook_event_name": "PermissionRequest"}
del PAYLOAD["tool_use_id"]
HEADER = "import time\nfrom hookrouter import PermissionRequestReply, hookimpl, waits\n"
WAITER = """
@hookimpl
@waits({waits})
def permission_request_bash(event, tool_input, context):
    time.sleep(0.3)
    return PermissionRequestReply.allow(updated_input={{"command": tool_input.command + " waited"}})
"""
LOOKER = """
@hookimpl
def permission_request(event, context):
    {body}
"""


class Place(HookPlace):
    payload = PAYLOAD

    def write(self, name: str, body: str) -> None:
        write_plugin(self.plugins, name, HEADER + body)

    def call(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*script_argv(), *arguments], input=stdin, env=self.environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    def decision(self) -> Any:
        return self.run().get("hookSpecificOutput", {}).get("decision")

    def timeouts(self, event: str) -> dict[str | None, float]:
        report = json.loads(self.call("install", "--settings", str(self.home / "s.json"), "--dry-run", "--json"))
        return {entry["matcher"]: entry["timeout"] for entry in report["registered"] if entry["event"] == event}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_waiting_implementation_has_its_own_time_and_comes_last(place: Place) -> None:
    place.write("a-waiter", WAITER.format(waits=5))
    place.write("z-looker", LOOKER.format(body="return PermissionRequestReply.allow() if event.cwd == 'x' else None"))
    place.config("[plugins.a-waiter]\ntimeout = 0.1\n")

    assert place.decision() == {"behavior": "allow", "updatedInput": {"command": "ls waited"}}
    assert place.calls() == [("z-looker", "none"), ("a-waiter", "replied")]


def test_it_is_interrupted_when_its_own_time_is_over(place: Place) -> None:
    place.write("waiter", WAITER.format(waits=0.1))

    assert place.decision() is None
    assert place.calls() == [("waiter", "timed out")]


def test_nobody_waits_for_what_is_decided_already(place: Place) -> None:
    place.write("a-waiter", WAITER.format(waits=5))
    place.write("z-looker", LOOKER.format(body="return PermissionRequestReply.deny('no')"))

    assert place.decision() == {"behavior": "deny", "message": "z-looker: no"}
    assert ("a-waiter", "not needed") in place.calls()


@COLD_ONLY  # no hook runs
def test_claude_code_is_told_to_be_as_patient_with_that_tool_only(place: Place) -> None:
    place.write("waiter", WAITER.format(waits=4000))
    place.write("other", "@hookimpl\ndef permission_request_write(event, tool_input, context):\n    pass\n")

    timeouts = place.timeouts("PermissionRequest")

    # hookrouter's own plugins listen here too, and may wait for their own tool.
    assert timeouts["Bash"] == timeouts["Write"] + 4000


def test_one_that_needs_a_setting_is_neither_registered_nor_called_without_it(place: Place) -> None:
    place.write("waiter", WAITER.format(waits="5, setting='on'"))
    for text, decided in (("", False), ("[plugins.waiter.settings]\non = 1\n", False)):
        place.config(text)
        assert ("Bash" in place.timeouts("PermissionRequest"), place.decision() is not None) == (decided, decided)

    place.config("[plugins.waiter.settings]\non = true\n")

    assert "Bash" in place.timeouts("PermissionRequest")
    assert place.decision() is not None


@COLD_ONLY  # no hook runs
@pytest.mark.parametrize("seconds", [0, -1, 1e9, float("nan")])
def test_a_time_that_cannot_be_waited_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds must be"):
        waits(seconds)
