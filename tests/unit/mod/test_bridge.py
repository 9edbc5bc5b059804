"""The mod's source: written for the routes, and what its pure functions make of calls and answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hookrouter import replies
from hookrouter._contract.tables import EVENTS
from hookrouter._mod.bridge import bridge_source
from hookrouter._mod.results import COMMAND_ONLY, FIELDS, SILENT_ON_MESSAGES
from hookrouter._mod.routes import Route
from hookrouter._routing.hook_call import HANDLED_MARK
from support.mod_interface import members
from support.mod_replies import ALL, AROUND, KINDS

DATA = Path(__file__).parents[2] / "data" / "mod"
COMMON = {"message", "halt", "terminal"}
"""Constructors of every reply, which have tests of their own."""


def constructors(kind: type[Any]) -> set[str]:
    names = {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, classmethod)}
    return {name for name in names if not name.startswith("_") and hasattr(kind, name)}


def with_reply() -> list[str]:
    """Return the events that a plugin may reply to at all."""
    return [event for event in FIELDS if event in replies.REPLIES]


def test_no_kind_of_reply_is_forgotten() -> None:
    for event in with_reply():
        kind = replies.expected_reply(event)
        made = sum(name == event for name, _, _ in KINDS)
        assert made >= len(constructors(kind) - COMMON), event


def test_the_messages_that_are_discarded_are_those_of_the_contract() -> None:
    discarded = {facts.name for facts in EVENTS.values() if "systemMessage" in facts.discarded}
    assert discarded & set(FIELDS) == set(SILENT_ON_MESSAGES)


def test_the_source_says_what_matchers_look_at() -> None:
    source = bridge_source([Route("Notification", "idle_prompt", "c"), Route("Stop", None, "c")], AROUND)
    setup = json.loads(source.partition("const SETUP = ")[2].partition("\n\nconst")[0])
    assert setup["matched"] == {"Notification": "notification_type"}


def test_the_source_names_each_event_and_no_other() -> None:
    source = bridge_source([Route("Stop", None, "c")], AROUND)
    # The start of a session, which no route may be, tells the mod which session it asks prompts for.
    assert re.findall(r'on\("classic\.(\w+)"', source) == ["SessionStart", "Stop"]
    assert "__" not in source


def test_a_source_that_knows_of_tool_calls_watches_what_they_lack() -> None:
    source = bridge_source([Route("PreToolUse", "Bash", "c")], AROUND)
    heard = re.findall(r'on\("classic\.(\w+)"', source)
    assert {"UserPromptSubmit", "PostToolUse", "SubagentStart"} < set(heard)


def test_the_mark_is_the_one_that_a_run_knows() -> None:
    assert set(re.findall(r"hookrouter_\w+", bridge_source(ALL, AROUND))) == {HANDLED_MARK}


def test_every_event_of_the_contract_is_brought_or_says_why_not() -> None:
    names = {facts.name for facts in EVENTS.values()}
    assert set(FIELDS) | set(COMMAND_ONLY) == names
    assert set(FIELDS) & set(COMMAND_ONLY) == set()


@pytest.mark.parametrize("path", sorted(DATA.glob("interface-*.json")), ids=lambda path: path.stem)
def test_the_fields_are_those_that_the_client_reads(path: Path) -> None:
    own = members(json.loads(path.read_text())["ClassicResultFields"])
    every = {"block", "preventContinuation", "stopReason"}
    for event, fields in FIELDS.items():
        known = own.get(event, set())
        if event == "PreToolUse":
            continue
        assert set(fields) <= known | every, event
        assert known <= set(fields), event
